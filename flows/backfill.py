"""The backfill flow: fills a period, in a namespace of its own, beside the harvests."""

from typing import Any

from prefect import flow

from flows.parameters import BackfillParameters
from flows.planning.steps import run_plan
from flows.prefect_api.chosen_names import name_at_start


@flow(name="backfill", flow_run_name=name_at_start, validate_parameters=False)  # run_plan reads the form
def backfill(parameters: BackfillParameters) -> dict[str, Any]:
    """Plan a period to fill; executors work it beside the harvests. Run it again under the same campaign to go on.

    Args:
        parameters: What to fill.
    """
    report: dict[str, Any] = run_plan(BackfillParameters, parameters)
    return report
