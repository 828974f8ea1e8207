"""Executor runs on the server: whether one is at hand for a new plan, and how another is started."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from prefect import get_run_logger
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterId,
    FlowRunFilter,
    FlowRunFilterExpectedStartTime,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.exceptions import ObjectNotFound

from flows.parameters import ExecuteParameters
from flows.prefect_api.client import open_prefect

EXECUTOR = "executor/executor"

SOON = timedelta(seconds=20)
"""A scheduled run that starts within this time is soon enough for a new plan."""

ENDING = timedelta(seconds=5)
"""A run with less than this time left may not begin another task."""

_ONCE_IN_SECONDS = 300
_MOST_RUNS = 200
_LIVE = [StateType.SCHEDULED, StateType.PENDING, StateType.RUNNING]


def start_executor(client: SyncPrefectClient, deployment_id: UUID, key: str | None = None) -> None:
    """Start an executor that stays for its minutes; under a key that was used before, none."""
    asked = ExecuteParameters(wait_for_work=True).model_dump(exclude_defaults=True)
    client.create_flow_run_from_deployment(deployment_id, parameters={"parameters": asked}, idempotency_key=key)


def start_executor_if_none(source: str) -> None:
    """Start an executor for a new plan if executors are scheduled and none is there; trouble with Prefect is logged.

    A schedule that was just switched on again has its first run up to five minutes later.
    """
    try:
        with open_prefect() as client:
            executor, now = client.read_deployment_by_name(EXECUTOR), datetime.now(UTC)
            if executor.paused or not any(one.active for one in executor.schedules):
                return
            if not is_at_hand(_live_runs(client, executor.id, now), source, now):
                # Plans of the same minutes start one together.
                start_executor(client, executor.id, f"for a plan {int(now.timestamp()) // _ONCE_IN_SECONDS}")
                get_run_logger().info("no executor was running: one was started")
    except ObjectNotFound:
        return  # nothing is deployed: whoever planned executes it by other means
    except Exception as error:  # whatever it is, the plan is stored, and the next scheduled executor executes it
        get_run_logger().warning("it is not known whether an executor is running: %s", error)


def _live_runs(client: SyncPrefectClient, deployment_id: UUID, now: datetime) -> list[FlowRun]:
    """The executors that run, or are to start within SOON."""
    live = FlowRunFilter(
        state=FlowRunFilterState(type=FlowRunFilterStateType(any_=_LIVE)),
        expected_start_time=FlowRunFilterExpectedStartTime(before_=now + SOON),
    )
    mine = DeploymentFilter(id=DeploymentFilterId(any_=[deployment_id]))
    return client.read_flow_runs(flow_run_filter=live, deployment_filter=mine, limit=_MOST_RUNS)


def is_at_hand(runs: Sequence[FlowRun], source: str, now: datetime) -> bool:
    """Whether one of these live executor runs will execute tasks that are planned for the source now."""
    return any(_serves(run, source) and now + ENDING < _until(run, now) for run in runs)


def _serves(run: FlowRun, source: str) -> bool:
    asked = _parameters(run)
    return asked.source in (None, "", source) and asked.waits(scheduled=bool(run.auto_scheduled))


def _until(run: FlowRun, now: datetime) -> datetime:
    return (run.start_time or now) + timedelta(minutes=_parameters(run).minutes)


def _parameters(run: FlowRun) -> ExecuteParameters:
    return ExecuteParameters.model_validate(run.parameters.get("parameters") or {})
