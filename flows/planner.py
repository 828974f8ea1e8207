"""The planner flow: turns a trigger into a plan with its tasks."""

from typing import Any

from prefect import flow

from flows.parameters import PlanParameters
from flows.planning.steps import run_plan


@flow(name="planner", flow_run_name="{parameters.label}", validate_parameters=True)
def planner(parameters: PlanParameters) -> dict[str, Any]:
    """Turn this run into a plan with its tasks.

    Args:
        parameters: What to plan.
    """
    report: dict[str, Any] = run_plan(parameters, dry_run=parameters.dry_run)
    return report
