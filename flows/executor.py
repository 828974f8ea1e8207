"""The executor flow: leases tasks and works them, one Prefect task each."""

from typing import Any

from prefect import flow, get_run_logger, runtime, task
from prefect.cache_policies import NO_CACHE

from flows.parameters import ExecuteParameters
from flows.wiring import open_app
from ingest_core.execution.outcomes import RunSummary
from ingest_core.model.codes import TaskStatus
from ingest_core.model.work import FlowRun, Lease, Task


class TasksFailed(Exception):
    """Some tasks of the run ended FAILED."""


@task(name="run task", task_run_name="{partition} slice {slice_no} {window}", retries=0, cache_policy=NO_CACHE)
def run_task(lease: Lease, partition: str, slice_no: int, window: str) -> RunSummary:
    """Work one leased task to its end; only small values cross into Prefect."""
    flow_run = FlowRun(str(runtime.flow_run.id), str(runtime.task_run.id))
    with open_app() as app:
        summary = app.executor.runner.run_leased(lease, flow_run)
    logger = get_run_logger()
    logger.info("%s pages, %s", summary.batches, summary.counts.json())
    if summary.error:
        level = logger.error if summary.status == TaskStatus.FAILED else logger.warning
        level("%s: %s", summary.status or "lease lost", summary.error)
    return summary


def _submit(leased: Task) -> RunSummary:
    window = f"{leased.window.start:%Y-%m-%d %H:%M}-{leased.window.end:%H:%M}"
    return run_task(leased.lease, str(leased.partition), leased.slice_no, window)


@flow(name="executor", flow_run_name="execute {parameters.source}", validate_parameters=True)
def executor(parameters: ExecuteParameters) -> dict[str, Any]:
    """Work tasks until none is claimable.

    Args:
        parameters: What to work on, and how long.
    """
    with open_app() as app:
        report = app.executor.execute(
            parameters.source, parameters.max_tasks, until_idle=parameters.until_idle, run=_submit
        )
    if report.failed:
        raise TasksFailed(f"{report.failed} tasks ended FAILED: " + "; ".join(report.errors[:10]))
    return report.json()
