"""Partition caps as Prefect's global concurrency limits, kept in step with the Registry."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate, GlobalConcurrencyLimitUpdate
from prefect.client.schemas.responses import GlobalConcurrencyLimitResponse
from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound

from flows.caps import TOTAL, default_cap, is_partition_limit, limit_name
from flows.prefect_api import PLANNER, deployments_of, open_prefect
from ingest_core.bootstrap import App
from ingest_core.model.codes import Operation
from ingest_core.model.spec import RateSpec
from ingest_core.model.work import Partition

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


def keep_limits(app: App) -> list[LimitChange]:
    """Bring Prefect's limits in step with the Registry; what changed. Slots that are taken stay so."""
    with open_prefect() as client:
        present = read_limits(client)
        wanted = _wanted(app, client, _registered(app))
        changes = [_keep(client, name, cap, present.get(name)) for name, cap in wanted.items()]
        working = {limit_name(partition) for partition in app.readside.partitions_with_work()}
        idle = [one for name, one in present.items() if name not in wanted and name not in working]
        removed = [_remove(client, one) for one in idle if one.active_slots == 0]
        return [change for change in (*changes, *removed) if change]


def make_limits(app: App, client: SyncPrefectClient, partition: Partition) -> None:
    """The limits a task of the partition counts under, where they are not there yet."""
    present = read_limits(client)
    for name, cap in _wanted(app, client, [partition]).items():
        if name not in present:
            _keep(client, name, cap, None)


def read_limits(client: SyncPrefectClient) -> dict[str, Limit]:
    """Our limits by name, as they stood at one moment."""
    found: list[Limit] = []
    while len(page := client.read_global_concurrency_limits(limit=_PAGE, offset=len(found))) == _PAGE:
        found += page
    return {one.name: one for one in [*found, *page] if one.name == TOTAL or is_partition_limit(one.name)}


def _registered(app: App) -> list[Partition]:
    return [
        Partition(source["code"], endpoint["name"], Operation(operation))
        for source in app.registry.sources()
        for endpoint in source["endpoints"]
        for operation in endpoint["operations"]
    ]


def _wanted(app: App, client: SyncPrefectClient, partitions: Iterable[Partition]) -> Mapping[str, int]:
    total = app.settings.total_concurrency
    share = default_cap(total, _scheduled_sources(client))
    caps = {one: app.gate.live_rate(one, _NO_RATE).max_concurrency for one in partitions}
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


def _keep(client: SyncPrefectClient, name: str, cap: int, present: Limit | None) -> LimitChange | None:
    """The limit as it should be: enforced, without decay, and so high."""
    if present is None:
        return _create(client, name, cap)
    if (present.limit, present.active, present.slot_decay_per_second) == (cap, True, 0):
        return None
    try:
        client.update_global_concurrency_limit(
            name, GlobalConcurrencyLimitUpdate(limit=cap, active=True, slot_decay_per_second=0)
        )
    except ObjectNotFound:  # removed meanwhile: the next one makes it again
        return None
    return LimitChange(name, present.limit, cap)


def _create(client: SyncPrefectClient, name: str, cap: int) -> LimitChange | None:
    try:
        client.create_global_concurrency_limit(GlobalConcurrencyLimitCreate(name=name, limit=cap))
    except ObjectAlreadyExists:  # somebody else was faster
        return None
    return LimitChange(name, None, cap)


def _remove(client: SyncPrefectClient, limit: Limit) -> LimitChange | None:
    try:
        client.delete_global_concurrency_limit_by_name(limit.name)
    except ObjectNotFound:
        return None
    return LimitChange(limit.name, limit.limit, None)
