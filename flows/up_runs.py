"""Flow runs of a room that is opened again."""

from datetime import UTC, datetime

from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterExpectedStartTime,
    FlowRunFilterState,
    FlowRunFilterStateType,
    FlowRunFilterTags,
)
from prefect.client.schemas.objects import StateType

from flows.prefect_api import open_prefect

AUTO_SCHEDULED = "auto-scheduled"
EXECUTOR = "executor/executor"


def drop_missed_runs() -> int:
    """Delete what schedules wanted while the room was closed: it would all begin at once, and the next tick does it."""
    missed = FlowRunFilter(
        state=FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.SCHEDULED])),
        expected_start_time=FlowRunFilterExpectedStartTime(before_=datetime.now(UTC)),
        tags=FlowRunFilterTags(all_=[AUTO_SCHEDULED]),
    )
    dropped = 0
    with open_prefect() as client:
        while runs := client.read_flow_runs(flow_run_filter=missed):
            for run in runs:
                client.delete_flow_run(run.id)
            dropped += len(runs)
    return dropped


def begin_executor() -> None:
    """Let an executor begin now: the schedule's first one may be minutes away."""
    with open_prefect() as client:
        executor = client.read_deployment_by_name(EXECUTOR)
        client.create_flow_run_from_deployment(executor.id, parameters={"parameters": {"wait_for_work": True}})
