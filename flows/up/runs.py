"""Flow runs of a control room that is started again."""

from datetime import UTC, datetime

from prefect.client.schemas.filters import (
    FlowFilter,
    FlowFilterName,
    FlowRunFilter,
    FlowRunFilterExpectedStartTime,
    FlowRunFilterState,
    FlowRunFilterStateType,
    FlowRunFilterTags,
)
from prefect.client.schemas.objects import DeploymentStatus, StateType

from flows.prefect_api.client import open_prefect
from flows.prefect_api.executors import EXECUTOR, start_executor
from flows.prefect_api.run_name import AUTO_SCHEDULED
from ingest_core.model.errors import Unreachable


def drop_missed_runs() -> int:
    """Delete missed ticks of short schedules, due while the control room was stopped: the next tick does the same.

    A plan that was missed is made late: its window may be of that day.
    """
    missed = FlowRunFilter(
        state=FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.SCHEDULED])),
        expected_start_time=FlowRunFilterExpectedStartTime(before_=datetime.now(UTC)),
        tags=FlowRunFilterTags(all_=[AUTO_SCHEDULED]),
    )
    ticking = FlowFilter(name=FlowFilterName(any_=["executor", "housekeeping"]))
    dropped = 0
    with open_prefect() as client:
        while runs := client.read_flow_runs(flow_filter=ticking, flow_run_filter=missed):
            for run in runs:
                client.delete_flow_run(run.id)
            dropped += len(runs)
    return dropped


def is_ready() -> bool:
    """Whether a worker asks for what the executor's deployment wants; a server that is too busy does not say."""
    try:
        with open_prefect() as client:
            return client.read_deployment_by_name(EXECUTOR).status == DeploymentStatus.READY
    except Unreachable:
        return False


def begin_executor() -> None:
    """Let an executor begin now: the schedule's first one may be minutes away."""
    with open_prefect() as client:
        start_executor(client, client.read_deployment_by_name(EXECUTOR).id)
