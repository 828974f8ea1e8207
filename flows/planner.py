"""The planner flow: turns a trigger into a plan with its tasks."""

from typing import Any

from prefect import flow

from flows.parameters import PlanParameters
from flows.planning.steps import run_plan
from flows.prefect_api.chosen_names import name_at_start


@flow(name="planner", flow_run_name=name_at_start, validate_parameters=False)  # run_plan reads the form
def planner(parameters: PlanParameters) -> dict[str, Any]:
    """Turn this run into a plan with its tasks.

    Args:
        parameters: What to plan.
    """
    report: dict[str, Any] = run_plan(PlanParameters, parameters)
    return report
