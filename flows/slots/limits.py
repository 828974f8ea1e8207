"""Partition caps as Prefect's global concurrency limits, kept in step with the Registry."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate, GlobalConcurrencyLimitUpdate
from prefect.client.schemas.responses import GlobalConcurrencyLimitResponse
from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound

from flows.prefect_api.client import PLANNER, deployments_of, open_prefect
from flows.slots.caps import TOTAL, default_cap, is_partition_limit, limit_name
from ingest_core.bootstrap import App
from ingest_core.model.codes import Operation
from ingest_core.model.partition import Partition
from ingest_core.model.spec import RateSpec

_PAGE = 200
_NO_RATE = RateSpec(requests_per_second=1, burst=1)

Limit = GlobalConcurrencyLimitResponse


@dataclass(frozen=True)
class LimitChange:
    """One limit that was made, set anew or removed: none stands for no limit."""

    name: str
    before: int | None
    after: int | None

    def __str__(self) -> str:
        if self.before is None:
            return f"{self.name}: {self.after}, new"
        return f"{self.name}: {self.before} -> {'removed' if self.after is None else self.after}"

    def json(self) -> dict[str, Any]:
        """The change as commands show it."""
        return {"name": self.name, "before": self.before, "after": self.after}


def keep_limits(app: App, *, dry_run: bool = False) -> list[LimitChange]:
    """Bring Prefect's limits in step with the Registry; what changed, or would. Slots that are taken stay so."""
    with open_prefect() as client:
        changes = _out_of_step(app, client)
        return changes if dry_run else [one for one in changes if _apply(client, one)]


def _out_of_step(app: App, client: SyncPrefectClient) -> list[LimitChange]:
    present = read_limits(client)
    wanted = _wanted(app, client, _registered(app))
    working = {limit_name(partition) for partition in app.readside.partitions_with_work()}
    idle = [one for name, one in present.items() if name not in wanted and name not in working]
    return [
        *(LimitChange(name, None, cap) for name, cap in wanted.items() if name not in present),
        *(
            LimitChange(name, one.limit, wanted[name])
            for name, one in present.items()
            if name in wanted and (one.limit, one.active, one.slot_decay_per_second) != (wanted[name], True, 0)
        ),
        *(LimitChange(one.name, one.limit, None) for one in idle if one.active_slots == 0),
    ]


def make_limits(app: App, client: SyncPrefectClient, partition: Partition) -> None:
    """The limits a task of the partition counts under, where they are not there yet."""
    present = read_limits(client)
    for name, cap in _wanted(app, client, [partition]).items():
        if name not in present:
            _apply(client, LimitChange(name, None, cap))


def read_limits(client: SyncPrefectClient) -> dict[str, Limit]:
    """Our limits by name, as they stood at one moment."""
    found: list[Limit] = []
    while len(page := client.read_global_concurrency_limits(limit=_PAGE, offset=len(found))) == _PAGE:
        found += page
    return {one.name: one for one in [*found, *page] if one.name == TOTAL or is_partition_limit(one.name)}


def _registered(app: App) -> list[Partition]:
    return [
        Partition(source.code, endpoint.name, Operation(operation))
        for source in app.registry.sources()
        for endpoint in source.endpoints
        for operation in endpoint.operations
    ]


def _wanted(app: App, client: SyncPrefectClient, partitions: Iterable[Partition]) -> Mapping[str, int]:
    total = app.settings.total_concurrency
    share = default_cap(total, _scheduled_sources(client))
    caps = {one: app.gate.limits(one, _NO_RATE).own.max_concurrency for one in partitions}
    return {TOTAL: total} | {limit_name(one): share if cap is None else cap for one, cap in caps.items()}


def _scheduled_sources(client: SyncPrefectClient) -> int:
    """How many sources are harvested by schedule."""
    asked = [
        {**planner.parameters, **one.parameters}
        for planner in deployments_of(client, PLANNER)
        if not planner.paused
        for one in planner.schedules
        if one.active
    ]
    return len({str(parameters.get("parameters", {}).get("source")) for parameters in asked})


def _apply(client: SyncPrefectClient, change: LimitChange) -> bool:
    """Make the limit enforced, without decay and with this cap; False where another process was faster."""
    try:
        if change.after is None:
            client.delete_global_concurrency_limit_by_name(change.name)
        elif change.before is None:
            new = GlobalConcurrencyLimitCreate(name=change.name, limit=change.after)
            client.create_global_concurrency_limit(new)
        else:
            other = GlobalConcurrencyLimitUpdate(limit=change.after, active=True, slot_decay_per_second=0)
            client.update_global_concurrency_limit(change.name, other)
    except (ObjectAlreadyExists, ObjectNotFound):
        return False
    return True
