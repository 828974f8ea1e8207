"""The backfill flow: fills a period, in a namespace of its own, beside the harvests."""

from typing import Any

from prefect import flow

from flows.parameters import BackfillParameters
from flows.planning.steps import run_plan


@flow(name="backfill", flow_run_name="{parameters.label}", validate_parameters=True)
def backfill(parameters: BackfillParameters) -> dict[str, Any]:
    """Plan a period to fill; executors work it beside the harvests. Run it again under the same campaign to go on.

    Args:
        parameters: What to fill.
    """
    report: dict[str, Any] = run_plan(parameters, dry_run=parameters.dry_run)
    return report
