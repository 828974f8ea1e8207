"""Finds orphaned slots by two looks some time apart, and frees them."""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import VariableCreate
from prefect.exceptions import ObjectAlreadyExists, PrefectHTTPStatusError

from flows.prefect_api.client import open_prefect
from flows.slots.caps import limit_name
from flows.slots.limits import read_limits
from flows.slots.observations import SlotCounts, Suspicion, decide_frees, least_of, read_looks, surplus_of
from flows.slots.slot import free_slots
from ingest_core.bootstrap import App

LOOKS = "patra_slot_looks"
"""The Prefect variable in which earlier looks are kept: it outlives housekeeping and server alike."""

GLANCES = 10
"""How many times a look counts before a surplus is taken as real."""

MOST_WATCHED = 50
"""Maximum number of limits kept in the variable; others are looked at later."""

_LONGEST_PAUSE = 0.5
_NOT_THERE = 404


@dataclass(frozen=True)
class SlotReport:
    """Slots that were freed, and slots that will be freed if a later look still finds them orphaned."""

    freed: dict[str, int] = field(default_factory=dict)
    watched: dict[str, int] = field(default_factory=dict)

    def json(self) -> dict[str, Any]:
        """The report as commands show it."""
        return {"freed": self.freed, "watched": self.watched}


def reconcile_slots(app: App, pause: Callable[[float], None] = time.sleep) -> SlotReport:
    """Free slots behind which two looks, two leases apart, found no live lease."""
    apart = 2 * timedelta(seconds=max(app.settings.slot_lease_seconds, app.settings.lease_ttl_seconds))
    with open_prefect() as client:
        notes = _Notes.read(client)
        surplus = least_of(_glances(app, client, pause))
        verdict = decide_frees(notes.looks, surplus, app.database.now(), apart)
        if verdict.free and not notes.withdraw():
            return SlotReport()  # another housekeeping has the same notes, and frees by them
        freed = {name: count for name, count in verdict.free.items() if free_slots(client, [name], count)}
        watched = verdict.watch | {name: notes.looks[name] for name in verdict.free.keys() - freed}
        notes.write(watched)
    return SlotReport(freed, {name: one.least for name, one in watched.items()})


def _glances(app: App, client: SyncPrefectClient, pause: Callable[[float], None]) -> Iterator[SlotCounts]:
    """The surplus several times in a row, at odd intervals; none is enough."""
    leases = _leases(app)
    for _ in range(GLANCES):
        before, taken, leases = leases, _taken(client), _leases(app)
        most = {name: max(before.get(name, 0), leases.get(name, 0)) for name in {*before, *leases}}
        yield (surplus := surplus_of(taken, most))
        if not surplus:
            return
        pause(random.uniform(0.05, _LONGEST_PAUSE))  # noqa: S311 - no secret


def _taken(client: SyncPrefectClient) -> SlotCounts:
    return {name: limit.active_slots for name, limit in read_limits(client).items()}


def _leases(app: App) -> SlotCounts:
    return {limit_name(partition): count for partition, count in app.readside.live_leases().items()}


@dataclass
class _Notes:
    """Earlier looks; whoever withdraws them has them for himself."""

    client: SyncPrefectClient
    looks: Mapping[str, Suspicion]
    variable_id: UUID | None

    @classmethod
    def read(cls, client: SyncPrefectClient) -> "_Notes":
        found = client.read_variable_by_name(LOOKS)
        return cls(client, read_looks(found.value) if found else {}, found.id if found else None)

    def withdraw(self) -> bool:
        """Whether these notes were still there: by its id a variable goes once."""
        try:
            self.client.request("DELETE", "/variables/{id}", path_params={"id": self.variable_id})
        except PrefectHTTPStatusError as error:
            if error.response.status_code != _NOT_THERE:
                raise
            return False
        self.variable_id = None
        return True

    def write(self, looks: Mapping[str, Suspicion]) -> None:
        """Keep these instead; where another housekeeping was faster, its notes stay."""
        oldest = sorted(looks, key=lambda name: looks[name].since)[:MOST_WATCHED]
        kept = {name: looks[name].json() for name in oldest}
        if kept == {name: one.json() for name, one in self.looks.items()} and self.variable_id:
            return
        if self.variable_id and not self.withdraw():
            return
        if kept:
            try:
                self.client.create_variable(VariableCreate(name=LOOKS, value=kept))
            except ObjectAlreadyExists:
                return
