"""Slots and limits against a real Prefect server: full is full, and nothing is freed twice."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Barrier

import pytest
import yaml
from prefect.settings import PREFECT_API_URL, PREFECT_HOME, temporary_settings

from flows.slots.audit import SlotReport, reconcile_slots
from flows.slots.caps import TOTAL, limit_name
from flows.slots.limits import LimitChange, keep_limits
from flows.slots.slot import LeaseState, Slots
from ingest_core.bootstrap import App, check_source, open_core_app, upgrade_database
from ingest_core.model.codes import Operation
from ingest_core.model.errors import Unreachable
from ingest_core.model.partition import Partition
from ingest_core.settings import Settings
from ingest_core.shipped import shipped_sources
from tests.support.app_database import database_of
from tests.support.prefect import ControlRoom, free_port, until

HARVEST = Partition("crossref", "works", Operation.HARVEST)
BACKFILL = Partition("crossref", "works", Operation.BACKFILL)


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlRoom]:
    """A server; this process is its client."""
    folder = tmp_path_factory.mktemp("room")
    room = ControlRoom(folder)
    with room, temporary_settings({PREFECT_API_URL: room.api_url, PREFECT_HOME: folder / "client"}):
        yield room


@pytest.fixture(autouse=True)
def no_limits(room: ControlRoom) -> None:
    for name in room.limits():
        room.ask("DELETE", f"/v2/concurrency_limits/{name}")


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    settings = Settings(home=tmp_path, total_concurrency=3, slot_lease_seconds=600)  # restarts may take their time
    upgrade_database(settings)
    with open_core_app(settings) as app:
        yield app


def apply_cap(app: App, cap: int) -> None:
    """Register Crossref with another cap."""
    document = yaml.safe_load(shipped_sources()["crossref.yaml"])
    document["rate_limit"]["max_concurrency"] = cap
    app.registry.apply([check_source(yaml.safe_dump(document), "crossref.yaml", app.database)])


def taken(room: ControlRoom) -> dict[str, int]:
    """The slots that are taken, by limit."""
    return {name: row["active_slots"] for name, row in room.limits().items() if row["active_slots"]}


def test_a_slot_counts_under_its_partition_and_the_total_until_it_is_released(room: ControlRoom, app: App) -> None:
    with Slots(app) as slots:
        slot = slots.take(HARVEST)
        assert slot
        assert taken(room) == {TOTAL: 1, limit_name(HARVEST): 1}
        slot.release()
        slot.release()
        assert taken(room) == {}


def test_full_is_none_at_once_and_never_waits(room: ControlRoom, app: App) -> None:
    with Slots(app) as slots:
        held = [slots.take(HARVEST) for _ in range(3)]
        assert all(held)
        assert slots.take(HARVEST) is None
        assert slots.take(BACKFILL) is None  # the total is full
        assert taken(room) == {TOTAL: 3, limit_name(HARVEST): 3}
    assert taken(room) == {}


def test_threads_that_ask_at_once_get_no_more_than_there_are(room: ControlRoom, app: App) -> None:
    with Slots(app) as slots, ThreadPoolExecutor(8) as threads:
        slots_of_threads = list(threads.map(lambda _: slots.take(HARVEST), range(8)))
        assert sum(slot is not None for slot in slots_of_threads) == 3
        assert taken(room) == {TOTAL: 3, limit_name(HARVEST): 3}
    assert taken(room) == {}


def test_a_limit_that_is_missing_is_made_and_the_others_count_once(room: ControlRoom, app: App) -> None:
    room.ask("POST", "/v2/concurrency_limits/", {"name": TOTAL, "limit": 1})
    with Slots(app) as slots:
        assert slots.take(HARVEST)
        assert taken(room) == {TOTAL: 1, limit_name(HARVEST): 1}
        assert room.limits()[TOTAL]["limit"] == 1  # one that is there is not touched


def test_a_limit_of_zero_is_full(room: ControlRoom, app: App) -> None:
    for name in (TOTAL, limit_name(HARVEST)):
        room.ask("POST", "/v2/concurrency_limits/", {"name": name, "limit": 0})
    with Slots(app) as slots:
        assert slots.take(HARVEST) is None


def test_a_slot_is_renewed_while_it_is_held(app: App, room: ControlRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flows.slots.slot.RENEWALS", 6000)
    with Slots(app) as slots:
        slot = slots.take(HARVEST)
        assert slot
        before = slot.renewed_at
        until(lambda: slot.renewed_at > before, 20, "a renewal", every=0.1)
        assert slot.state == LeaseState.HELD


def test_a_server_that_is_not_there_gives_no_slot(app: App) -> None:
    nobody, refusal = f"http://127.0.0.1:{free_port()}/api", r"Prefect server http://127\.0\.0\.1"
    with temporary_settings({PREFECT_API_URL: nobody}), Slots(app) as slots, pytest.raises(Unreachable, match=refusal):
        slots.take(HARVEST)


def test_after_a_restart_every_slot_is_freed_once(room: ControlRoom, app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server forgets its leases: three holders, one of whom comes to release while it is away."""
    with Slots(app) as slots:
        away, forgotten, expired = (slots.take(HARVEST) for _ in range(3))
        assert away
        assert forgotten
        assert expired
        assert room.server
        room.server.kill()
        monkeypatch.setattr("flows.slots.slot._PAUSES", (0.0,))
        away.release()
        room.start()
        assert taken(room) == {TOTAL: 3, limit_name(HARVEST): 3}

        forgotten.release()
        assert forgotten.state == LeaseState.RETURNED
        assert taken(room) == {TOTAL: 2, limit_name(HARVEST): 2}
        forgotten.release()

        expired.renewed_at -= 2 * app.settings.slot_lease_seconds  # no renewal came through for so long
        expired.release()
        assert expired.state == LeaseState.EXPIRED
        assert taken(room) == {TOTAL: 2, limit_name(HARVEST): 2}
        assert slots.take(HARVEST)


def test_limits_follow_the_registry_and_leave_slots_alone(room: ControlRoom, app: App) -> None:
    registered = sum(len(endpoint.operations) for source in app.registry.sources() for endpoint in source.endpoints)
    made = keep_limits(app)
    assert len(made) == registered + 1
    assert LimitChange(TOTAL, None, 3) in made
    assert LimitChange(limit_name(HARVEST), None, 3) in made
    assert keep_limits(app) == []

    with Slots(app) as slots:
        assert slots.take(HARVEST)
        gone = {name: f"ingest.{name}.works.harvest" for name in ("idle", "busy")}
        for name in (*gone.values(), "ingest.mine"):
            room.ask("POST", "/v2/concurrency_limits/", {"name": name, "limit": 1})
        room.ask("POST", "/v2/concurrency_limits/increment", {"names": [gone["busy"]], "slots": 1})
        room.ask("PATCH", f"/v2/concurrency_limits/{TOTAL}", {"active": False})
        apply_cap(app, 2)
        assert set(keep_limits(app)) == {
            LimitChange(limit_name(HARVEST), 3, 2),
            LimitChange(limit_name(BACKFILL), 3, 2),
            LimitChange(TOTAL, 3, 3),
            LimitChange(gone["idle"], 1, None),
        }
        assert {gone["busy"], "ingest.mine"} < set(room.limits())
        assert room.limits()[TOTAL]["active"]
        assert taken(room)[limit_name(HARVEST)] == 1


def leak(room: ControlRoom, partition: Partition) -> None:
    """A slot that is counted and nobody's, as a restart and a death leave it."""
    room.ask("POST", "/v2/concurrency_limits/increment", {"names": [TOTAL, limit_name(partition)], "slots": 1})


def test_slots_of_nobody_are_freed_after_two_looks_two_leases_apart(room: ControlRoom, app: App) -> None:
    make_limits_of(app, HARVEST)
    leak(room, HARVEST)
    both = {TOTAL: 1, limit_name(HARVEST): 1}
    two_leases = 2 * app.settings.slot_lease_seconds
    assert reconcile_slots(app, pause=no_pause) == SlotReport(watched=both)
    database_of(app).clock_shift = timedelta(seconds=two_leases - 60)
    leak(room, HARVEST)
    assert reconcile_slots(app, pause=no_pause) == SlotReport(watched=both)

    database_of(app).clock_shift = timedelta(seconds=two_leases)
    met = Barrier(2)  # two housekeepings at once, who have read the same notes
    with ThreadPoolExecutor(2) as threads:
        reports = list(threads.map(lambda _: in_settings_of(room, app, met), range(2)))
    assert sorted(reports, key=lambda one: len(one.freed)) == [SlotReport(), SlotReport(freed=both)]
    assert taken(room) == both  # the younger one has its own time

    assert reconcile_slots(app, pause=no_pause) == SlotReport(watched=both)
    room.ask("POST", "/v2/concurrency_limits/decrement", {"names": list(both), "slots": 1})
    assert reconcile_slots(app, pause=no_pause) == SlotReport()
    assert room.ask("POST", "/variables/filter", {}) == []


def make_limits_of(app: App, partition: Partition) -> None:
    with Slots(app) as slots:
        assert slots.take(partition)


def no_pause(_seconds: float) -> None:
    """The world stands still between glances."""


def in_settings_of(room: ControlRoom, app: App, met: Barrier) -> SlotReport:
    """A look of another thread, which waits for the other one at its first pause."""
    first = [met.wait]

    def pause(_seconds: float) -> None:
        while first:
            first.pop()(60)

    with temporary_settings({PREFECT_API_URL: room.api_url}):
        return reconcile_slots(app, pause)
