"""Flow runs without anything to show: scheduled runs that found nothing to do are deleted from Prefect's history."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import (
    FlowFilter,
    FlowFilterName,
    FlowRunFilter,
    FlowRunFilterEndTime,
    FlowRunFilterState,
    FlowRunFilterStateType,
    FlowRunFilterTags,
)
from prefect.client.schemas.objects import FlowRun, StateType
from prefect.client.schemas.sorting import FlowRunSort

from flows.prefect_api.run_name import AUTO_SCHEDULED

NOTHING_TO_DO = "nothing to do"
"""The message of a housekeeping run that changed nothing."""

IDLE_MESSAGES = frozenset({NOTHING_TO_DO, "nothing was due"})
"""The messages of runs that did nothing: of housekeeping, and of an executor."""

SHOWN_FOR = timedelta(minutes=30)
"""How long a run that did nothing is shown."""

_LOOKED_BACK = timedelta(days=1)
_MOST_READ = 200
_MOST_DELETED = 50
"""Prefect deletes no more in one request; the next housekeeping run deletes more."""


def idle_runs(runs: Iterable[FlowRun]) -> list[UUID]:
    """The runs that completed with nothing to show for it."""
    return [run.id for run in runs if run.state and run.state.is_completed() and run.state.message in IDLE_MESSAGES]


def delete_idle_runs(client: SyncPrefectClient, now: datetime) -> int:
    """Delete scheduled runs of executor and housekeeping that did nothing and ended a while ago; how many."""
    ended = FlowRunFilterEndTime(after_=now - _LOOKED_BACK, before_=now - SHOWN_FOR)
    completed = FlowRunFilterState(type=FlowRunFilterStateType(any_=[StateType.COMPLETED]))
    found = client.read_flow_runs(
        flow_filter=FlowFilter(name=FlowFilterName(any_=["executor", "housekeeping"])),
        flow_run_filter=FlowRunFilter(
            state=completed, end_time=ended, tags=FlowRunFilterTags(all_=["patra", AUTO_SCHEDULED])
        ),
        sort=FlowRunSort.END_TIME_DESC,
        limit=_MOST_READ,
    )
    idle = idle_runs(found)[:_MOST_DELETED]
    if not idle:
        return 0
    asked = {"flow_runs": {"id": {"any_": [str(one) for one in idle]}}, "limit": _MOST_DELETED}
    answer = client.request("POST", "/flow_runs/bulk_delete", json=asked)  # type: ignore[arg-type]  # not in its list of paths
    return len(answer.json()["deleted"])
