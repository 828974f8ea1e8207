"""Laws of giving slots back to a Prefect that is busy, loses answers, forgets and forgives: nothing is freed twice."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch
from uuid import UUID, uuid4

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect.exceptions import PrefectHTTPStatusError

from flows.slots import slot as slots_module
from flows.slots.caps import TOTAL, limit_name
from flows.slots.slot import HeldSlot, LeaseState, Slots
from ingest_core.bootstrap import App
from ingest_core.model.codes import Operation
from ingest_core.model.errors import Unreachable
from ingest_core.model.partition import Partition, SlotCaps
from ingest_core.settings import Settings

PARTITION = Partition("a", "list", Operation.HARVEST)
LEASE_SECONDS = 60
REQUEST_SECONDS = 0.1
OTHERS = 4
"""Slots that other runs hold all the time: whatever is freed too often would be theirs."""
CAP = OTHERS + 3


@dataclass
class FakePrefect:
    """Counts in its database, leases in its memory; each request may go wrong as the script says."""

    script: list[str] = field(default_factory=list)
    now: float = 0.0
    taken: int = OTHERS
    leases: dict[UUID, float] = field(default_factory=dict)
    expired: set[UUID] = field(default_factory=set)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def restart(self) -> None:
        self.leases.clear()

    def repossess(self) -> None:
        """Free what was not renewed in time, as the server does by itself."""
        for lease_id in [one for one, until in self.leases.items() if until < self.now]:
            del self.leases[lease_id]
            self.expired.add(lease_id)
            self.taken -= 1

    @contextmanager
    def asked(self) -> Iterator[None]:
        """Whether the request arrives, and the answer."""
        fate = self.script.pop(0) if self.script else "fine"
        self.now += REQUEST_SECONDS
        self.repossess()
        if fate == "away":
            raise httpx.ConnectError("refused")
        if fate == "busy":
            raise failure(503)
        yield
        if fate == "lost":
            raise httpx.ReadTimeout("no answer")

    def increment_concurrency_slots_with_lease(self, names: list[str], **_: Any) -> Any:
        with self.asked():
            if self.taken >= CAP:
                raise failure(423)
            lease_id = uuid4()
            self.taken += 1
            self.leases[lease_id] = self.now + LEASE_SECONDS
        limits = [{"id": str(uuid4()), "name": name, "limit": CAP} for name in names]
        return SimpleNamespace(json=lambda: {"lease_id": str(lease_id), "limits": limits})

    def renew_concurrency_lease(self, lease_id: UUID, _seconds: float) -> None:
        with self.asked():
            if lease_id not in self.leases:
                raise failure(410)
            self.leases[lease_id] = self.now + LEASE_SECONDS

    def release_concurrency_slots_with_lease(self, lease_id: UUID) -> None:
        with self.asked():
            self.taken -= self.leases.pop(lease_id, None) is not None

    def request(self, _method: str, path: str, json: dict[str, Any]) -> None:
        assert path.endswith("/decrement")
        assert json == {"names": [TOTAL, limit_name(PARTITION)], "slots": 1}
        with self.asked():
            self.taken -= 1


def failure(status: int) -> PrefectHTTPStatusError:
    """The server's no."""
    request = httpx.Request("POST", "http://server")
    return PrefectHTTPStatusError(str(status), request=request, response=httpx.Response(status, request=request))


@contextmanager
def slots_at(server: FakePrefect) -> Iterator[Slots]:
    """Slots that are renewed when the test says so."""

    @contextmanager
    def opened() -> Iterator[FakePrefect]:
        yield server

    app = cast("App", SimpleNamespace(settings=Settings(slot_lease_seconds=LEASE_SECONDS)))
    with (
        patch.object(slots_module, "open_prefect", opened),
        patch.object(slots_module, "Thread", lambda **_: SimpleNamespace(start=lambda: None, join=lambda _: None)),
        patch.object(slots_module, "time", server),
    ):
        yield Slots(app)


fates = st.lists(st.sampled_from(["fine", "fine", "away", "busy", "lost"]), max_size=6)
steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["take", "renew", "restart"]), st.just(0)),
        st.tuples(st.just("release"), st.integers(0, 2)),
        st.tuples(st.just("wait"), st.integers(1, 90)),
    ).flatmap(lambda step: st.tuples(st.just(step), fates)),
    max_size=25,
)


def do(what: str, how: int, server: FakePrefect, slots: Slots, held: list[HeldSlot]) -> None:
    """One step of a history."""
    match what:
        case "take":
            try:
                slot = slots.take(PARTITION)
            except Unreachable:
                slot = None
            held += [slot] if slot else []
        case "renew":
            slots.renew()
        case "restart":
            server.restart()
        case "release" if held:
            slot = held.pop(how % len(held))
            slot.release()
            slot.release()
        case "wait":
            server.now += how
    server.repossess()


@given(steps)
def test_no_slot_is_freed_twice_whatever_becomes_of_requests(history: list[tuple[tuple[str, int], list[str]]]) -> None:
    server = FakePrefect()
    with slots_at(server) as slots:
        held: list[HeldSlot] = []
        for (what, how), script in history:
            server.script = list(script)
            do(what, how, server, slots, held)
            counted = [slot for slot in held if slot.lease_id not in server.expired]
            assert server.taken >= OTHERS + len(counted), "a slot was freed that somebody holds"
            assert not any(slot.lasts and slot.lease_id in server.expired for slot in held), "a slot is another's"


def test_a_slot_serves_until_it_may_be_anothers_and_on_if_it_is_nobodys() -> None:
    server = FakePrefect()
    with slots_at(server) as slots:
        slot = slots.take(PARTITION)
        assert slot
        assert (slot.caps, slot.lasts) == (SlotCaps(CAP, CAP), True)
        server.now += LEASE_SECONDS - 1
        assert slot.lasts
        slots.renew()
        server.now += LEASE_SECONDS + 1
        assert not slot.lasts
        slots.renew()
        assert (slot.state, slot.lasts) == (LeaseState.EXPIRED, False)

        other = slots.take(PARTITION)
        assert other
        server.restart()
        slots.renew()
        server.now += 2 * LEASE_SECONDS
        assert (other.state, other.lasts) == (LeaseState.FORGOTTEN, True)


@pytest.mark.parametrize(("fate", "asked"), [("lost", 1), ("away", 1), ("busy", slots_module._TRIES)])
def test_a_slot_is_asked_for_again_only_while_the_server_is_busy(fate: str, asked: int) -> None:
    server = FakePrefect(script=[fate] * 10)
    with slots_at(server) as slots, pytest.raises(Unreachable):
        slots.take(PARTITION)
    assert len(server.script) == 10 - asked


@given(
    st.integers(0, LEASE_SECONDS - 20),  # giving three slots back to a busy server takes 11 seconds
    st.sampled_from(["", "restart", "restart and renew"]),
    st.permutations(["busy"] * 2 + ["fine"] * 2),
)
def test_a_server_that_answers_in_the_end_has_every_slot_back(seconds: int, event: str, script: list[str]) -> None:
    server = FakePrefect()
    with slots_at(server) as slots:
        held = [slots.take(PARTITION) for _ in range(CAP - OTHERS)]
        server.now += seconds
        if event:
            server.restart()
        if event.endswith("renew"):
            slots.renew()
        for slot in held:
            assert slot
            server.script = list(script)
            slot.release()
            assert slot.state == LeaseState.RETURNED
    assert server.taken == OTHERS
