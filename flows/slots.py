"""Slots: the right to work tasks of a partition, held with Prefect while it is used."""

import logging
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Self
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.responses import ConcurrencyLimitWithLeaseResponse
from prefect.exceptions import PrefectHTTPStatusError

from flows.caps import TOTAL, limit_name
from flows.limits import make_limits
from flows.prefect_api import asking_once, open_prefect, reaching_prefect
from ingest_core.bootstrap import App
from ingest_core.model.errors import PatraError
from ingest_core.model.work import Partition

RENEWALS = 3
"""So often a slot's lease is renewed while it lasts."""

_NO_ROOM = (423, 422)
"""All slots are taken, or the limit is 0."""
_GONE = 410
_CLOSE_SECONDS = 5.0

_log = logging.getLogger(__name__)


class Standing(StrEnum):
    """What Prefect knows of a slot."""

    HELD = "held"
    FORGOTTEN = "forgotten"
    """Counted as taken, by nobody: the server lost its leases, as it does by a restart."""
    EXPIRED = "expired"
    """Given to others: no renewal came through while the lease lasted."""


@dataclass(eq=False)
class Slot:
    """One task at a time, until it is released; Prefect's trouble with it never ends the work."""

    partition: Partition
    lease_id: UUID
    renewed_at: float
    slots: "Slots" = field(repr=False)
    standing: Standing = Standing.HELD

    def release(self) -> None:
        """Give it back; once, however often it is called, and without fail."""
        self.slots.release(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class Slots:
    """The slots of one run, which its threads share; what is still held at its end is released."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._lease_seconds = app.settings.slot_lease_seconds
        self._held: set[Slot] = set()
        self._lock = Lock()
        self._closing = Event()
        self._keeper: Thread | None = None
        self._lifetime = ExitStack()
        self._client: SyncPrefectClient = self._lifetime.enter_context(open_prefect())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release what is held."""
        for slot in self.held():
            self.release(slot)
        self._closing.set()
        if self._keeper:
            self._keeper.join(_CLOSE_SECONDS)
        else:
            self._lifetime.close()

    def held(self) -> list[Slot]:
        """The slots that are not released yet."""
        with self._lock:
            return list(self._held)

    def take(self, partition: Partition) -> Slot | None:
        """A slot of the partition and of the total, or none when full now; a missing limit is made."""
        with reaching_prefect():
            slot, missing = self._ask(partition)
            if missing:
                make_limits(self._app, self._client, partition)
                slot, _ = self._ask(partition)
            return slot

    def _ask(self, partition: Partition) -> tuple[Slot | None, list[str]]:
        """A slot if there is room, and which limits are missing; a slot that only some limits count is given back."""
        names, asked_at = _names(partition), time.monotonic()
        try:
            answer = self._client.increment_concurrency_slots_with_lease(
                names, slots=1, mode="concurrency", lease_duration=self._lease_seconds
            )
        except PrefectHTTPStatusError as error:
            if error.response.status_code in _NO_ROOM:
                return None, []
            raise
        granted = ConcurrencyLimitWithLeaseResponse.model_validate(answer.json())
        slot = Slot(partition, granted.lease_id, asked_at, self)
        self._hold(slot)
        missing = sorted(set(names) - {limit.name for limit in granted.limits})
        if missing:
            slot.release()
            return None, missing
        return slot, []

    def _hold(self, slot: Slot) -> None:
        with self._lock:
            self._held.add(slot)
            if self._keeper is None:
                self._keeper = Thread(target=self._keep, name="slot renewal", daemon=True)
                self._keeper.start()

    def _keep(self) -> None:
        """Renew what is held until the end; the client is closed by whoever asks it last."""
        while not self._closing.wait(self._lease_seconds / RENEWALS):
            for slot in self.held():
                if slot.standing == Standing.HELD:
                    self._renew(slot)
        self._lifetime.close()

    def _renew(self, slot: Slot) -> bool:
        """Ask for more time; whether Prefect answered, and what it said is noted."""
        asked_at = time.monotonic()
        try:
            with reaching_prefect():
                self._client.renew_concurrency_lease(slot.lease_id, self._lease_seconds)
        except PrefectHTTPStatusError as error:
            if error.response.status_code != _GONE:
                _log.warning("slot of %s: not renewed (%s); the work goes on", slot.partition, error)
                return False
            self._lost(slot)
        except PatraError as error:
            _log.warning("slot of %s: not renewed (%s); the work goes on", slot.partition, error)
            return False
        else:
            slot.renewed_at = asked_at
        return True

    def _lost(self, slot: Slot) -> None:
        """Prefect does not know the lease: it cannot have run out while it was fresh."""
        fresh = time.monotonic() - slot.renewed_at < self._lease_seconds
        with self._lock:
            if slot not in self._held:
                return
            slot.standing = Standing.FORGOTTEN if fresh else Standing.EXPIRED
        _log.warning("slot of %s: Prefect's lease is %s; the work goes on", slot.partition, slot.standing)

    def release(self, slot: Slot) -> None:
        """Give a slot back, once; one that cannot be given back now is Prefect's or housekeeping's to free."""
        # Renewed first: a server that was restarted says nothing when it is asked to free what it forgot.
        answered = slot.standing != Standing.HELD or self._renew(slot)
        with self._lock:
            if slot not in self._held:
                return
            self._held.remove(slot)
        if not answered:
            return
        try:
            with reaching_prefect():
                self._free(slot)
        except (PatraError, PrefectHTTPStatusError) as error:
            _log.warning("slot of %s: not released (%s); housekeeping will free it", slot.partition, error)

    def _free(self, slot: Slot) -> None:
        if slot.standing == Standing.HELD:
            self._client.release_concurrency_slots_with_lease(slot.lease_id)
        elif slot.standing == Standing.FORGOTTEN:
            with asking_once():
                free_slots(self._client, _names(slot.partition), 1)


def free_slots(client: SyncPrefectClient, names: list[str], count: int) -> None:
    """Count so many slots of these limits as free, in one step; nothing says whose they were."""
    client.request("POST", "/v2/concurrency_limits/decrement", json={"names": names, "slots": count})


def _names(partition: Partition) -> list[str]:
    return [TOTAL, limit_name(partition)]
