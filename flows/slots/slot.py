"""Slots: the right to work tasks of a partition, held with Prefect while it is used."""

import logging
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Self, TypeVar
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.responses import ConcurrencyLimitWithLeaseResponse
from prefect.exceptions import PrefectHTTPStatusError

from flows.prefect_api.client import asking_once, open_prefect, reaching_prefect
from flows.slots.caps import TOTAL, limit_name
from flows.slots.limits import make_limits
from ingest_core.bootstrap import App
from ingest_core.model.errors import PatraError
from ingest_core.model.partition import Partition, SlotCaps

RENEWALS = 6
"""Renewals within a lease's life: a restarted server is noticed before the lease expires."""

_NO_ROOM = (423, 422)
"""All slots are taken, or the limit is 0."""
_GONE = 410
_BUSY = 503
_TRIES = 5
"""A server that says it is busy has done nothing; Prefect's client waits two seconds after each time."""
_CLOSE_SECONDS = 5.0
_PAUSES = (0.0, 1.0, 2.0, 4.0, 8.0)
"""Between attempts to give a slot back: as long as a server takes to come back, if it does."""
_NOT_RENEWED = "slot of %s: not renewed (%s); the work goes on"
_NOT_RELEASED = "slot of %s: not released; it will be free when its lease runs out, or by housekeeping"

_log = logging.getLogger(__name__)
T = TypeVar("T")


class LeaseState(StrEnum):
    """What Prefect knows of a slot."""

    HELD = "held"
    RETURNED = "returned"
    """Asked to be freed: whatever is not known of it after that, it may have been."""
    FORGOTTEN = "forgotten"
    """Orphaned: still counted as taken, but the server lost its leases, as it does at a restart."""
    EXPIRED = "expired"
    """Given to others: no renewal came through while the lease lasted."""


@dataclass(eq=False)
class HeldSlot:
    """One task at a time, until it is released; Prefect's trouble with it never ends the work."""

    partition: Partition
    caps: SlotCaps
    lease_id: UUID
    renewed_at: float
    slots: "Slots" = field(repr=False)
    state: LeaseState = LeaseState.HELD

    @property
    def lasts(self) -> bool:
        """Whether it may serve another task: it was renewed in time, or is orphaned and still counted."""
        return self.state == LeaseState.FORGOTTEN or (self.state == LeaseState.HELD and self.slots.is_fresh(self))

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
        self._held: set[HeldSlot] = set()
        self._lock = Lock()
        self._closing = Event()
        self._away = False
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

    def held(self) -> list[HeldSlot]:
        """The slots that are not released yet."""
        with self._lock:
            return list(self._held)

    def take(self, partition: Partition) -> HeldSlot | None:
        """A slot of the partition and of the total, or none when full now; a missing limit is made."""
        with reaching_prefect():
            slot, missing = self._ask(partition)
            if missing:
                make_limits(self._app, self._client, partition)
                slot, _ = self._ask(partition)
            return slot

    def _ask(self, partition: Partition) -> tuple[HeldSlot | None, list[str]]:
        """A slot if one is free, and which limits are missing; a slot that only some limits count is given back."""
        names, asked_at = _names(partition), time.monotonic()
        try:
            answer = _patiently(
                lambda: self._client.increment_concurrency_slots_with_lease(
                    names, slots=1, mode="concurrency", lease_duration=self._lease_seconds
                )
            )
        except PrefectHTTPStatusError as error:
            if error.response.status_code in _NO_ROOM:
                return None, []
            raise
        granted = ConcurrencyLimitWithLeaseResponse.model_validate(answer.json())
        limits = {limit.name: limit.limit for limit in granted.limits}
        caps = SlotCaps(limits.get(limit_name(partition), 0), limits.get(TOTAL, 0))
        slot = HeldSlot(partition, caps, granted.lease_id, asked_at, self)
        self._hold(slot)
        missing = sorted(set(names) - limits.keys())
        if missing:
            slot.release()
            return None, missing
        return slot, []

    def _hold(self, slot: HeldSlot) -> None:
        with self._lock:
            self._held.add(slot)
            if self._keeper is None:
                self._keeper = Thread(target=self._keep, name="slot renewal", daemon=True)
                self._keeper.start()

    def _keep(self) -> None:
        """Renew what is held until the end; the client is closed by whoever asks it last."""
        while not self._closing.wait(self._lease_seconds / RENEWALS):
            self.renew()
        self._lifetime.close()

    def renew(self) -> None:
        """Ask for more time for every slot that is held."""
        for slot in self.held():
            if slot.state == LeaseState.HELD and self._renew(slot) is False and slot in self.held():
                self._note_loss(slot)

    def _renew(self, slot: HeldSlot) -> bool | None:
        """Ask for more time; whether Prefect knows the lease, none when it does not answer."""
        asked_at = time.monotonic()
        try:
            with reaching_prefect(), asking_once():
                self._client.renew_concurrency_lease(slot.lease_id, self._lease_seconds)
        except (PatraError, PrefectHTTPStatusError) as error:
            if _is_gone(error):
                self._away = False
                return False
            _log.log(logging.DEBUG if self._away else logging.WARNING, _NOT_RENEWED, slot.partition, error)
            self._away = True
            return None
        slot.renewed_at, self._away = asked_at, False
        return True

    def _note_loss(self, slot: HeldSlot) -> None:
        """Prefect does not know the lease: it cannot have run out while it was fresh."""
        slot.state = LeaseState.FORGOTTEN if self.is_fresh(slot) else LeaseState.EXPIRED
        _log.warning("slot of %s: Prefect's lease is %s; the work goes on", slot.partition, slot.state)

    def is_fresh(self, slot: HeldSlot) -> bool:
        """Whether its lease cannot have run out yet."""
        return time.monotonic() - slot.renewed_at < self._lease_seconds

    def release(self, slot: HeldSlot) -> None:
        """Give a slot back, once; one that cannot be given back now is Prefect's or housekeeping's to free."""
        with self._lock:
            if slot not in self._held:
                return
            self._held.remove(slot)
        for pause in _PAUSES if not self._away else _PAUSES[:1]:
            time.sleep(pause)
            if self._give_back(slot):
                return
        _log.warning(_NOT_RELEASED, slot.partition)

    def _give_back(self, slot: HeldSlot) -> bool:
        """Whether Prefect has released it; a forgotten lease is counted down, since its release has no effect."""
        if slot.state == LeaseState.HELD:
            known = self._renew(slot)
            if known is None:
                return False
            if known:
                slot.state = LeaseState.RETURNED
            else:
                self._note_loss(slot)
        try:
            with reaching_prefect():
                return self._free(slot)
        except (PatraError, PrefectHTTPStatusError) as error:
            _log.debug("slot of %s: not released yet (%s)", slot.partition, error)
            return False

    def _free(self, slot: HeldSlot) -> bool:
        if slot.state == LeaseState.FORGOTTEN:
            slot.state = LeaseState.RETURNED  # counted down once: if the answer is lost, it may have been done
            return free_slots(self._client, _names(slot.partition), 1)
        with asking_once():
            self._client.release_concurrency_slots_with_lease(slot.lease_id)
        return True


def _is_gone(error: Exception) -> bool:
    return isinstance(error, PrefectHTTPStatusError) and error.response.status_code == _GONE


def free_slots(client: SyncPrefectClient, names: list[str], count: int) -> bool:
    """Count this number of slots of these limits as free, in one step; False when Prefect is too busy.

    An answer that is lost is not asked for again: the slots might be freed twice, and nothing says whose they were.
    """
    body = {"names": names, "slots": count}
    try:
        _patiently(lambda: client.request("POST", "/v2/concurrency_limits/decrement", json=body))
    except PrefectHTTPStatusError as error:
        if error.response.status_code != _BUSY:
            raise
        return False
    return True


def _patiently(ask: Callable[[], T]) -> T:
    """What the server answers, asked again while it is busy; an answer that is lost is not asked for again."""
    left = _TRIES
    while True:
        left -= 1
        try:
            with asking_once():
                return ask()
        except PrefectHTTPStatusError as error:
            if error.response.status_code != _BUSY or not left:
                raise


def _names(partition: Partition) -> list[str]:
    return [TOTAL, limit_name(partition)]
