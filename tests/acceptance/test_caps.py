"""Caps by the provider's log: never more tasks at a time than the cap, though workers die and the server forgets."""

import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deployments.sandbox.remote import Sandbox
from flows.process.application import open_app
from flows.slots.caps import TOTAL
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import ing_cursor
from tests.support.patra import Patra, Row
from tests.support.prefect import ControlRoom, Process, until

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)

HARVEST = "ingest.crossref.works.harvest"
CAP = 2
START = "2026-01-01T00:00:00Z"
HOURLY = {"step": "PT1H", "max_window": "PT1H"}
PAGE_SIZE = 4
BACK_SECONDS = 300
"""So long after the deaths all slots must be at work again, or free."""


STUCK_SECONDS = 63
"""A little longer than Prefect's shortest lease: those who held a slot still work what they had begun."""


def _plan(patra: Patra, sandbox: Sandbox, end: str, slices: int, latency: float, **blocks: Row) -> None:
    """So many slices of a provider that takes its time."""
    patra.apply_crossref(pagination={"page_size": PAGE_SIZE}, window=HOURLY, **blocks)
    patra("plan", "crossref", "--from", START, "--to", end)
    assert len(patra.rows("ing_task")) == slices
    sandbox.clear_requests()
    sandbox.script({"kind": "latency", "times": None, "seconds": latency})


def _deployment(room: ControlRoom, name: str) -> Row:
    found: Row = room.ask("GET", f"/deployments/name/{name}/{name}")
    return found


def _deploy(room: ControlRoom) -> None:
    """All that `patra deploy` deploys, without schedules."""
    room.patra("deploy")
    for name in ("executor", "housekeeping"):
        for schedule in _deployment(room, name)["schedules"]:
            room.ask("DELETE", f"/deployments/{_deployment(room, name)['id']}/schedules/{schedule['id']}")


def _executors(room: ControlRoom, number: int) -> dict[str, Process]:
    """So many workers that do one thing at a time, each busy with an executor; by the executor's flow run."""
    workers = [room.worker(f"worker-{one}", limit=1) for one in range(number)]
    asked = {"source": "crossref", "at_once": 1, "minutes": 60, "wait_for_work": True}
    runs = [room.begin("executor/executor", asked) for _ in workers]
    until(lambda: {room.state(run) for run in runs} == {"RUNNING"}, 300, "executors")
    pids = {run: int(room.flow_run(run)["infrastructure_pid"].rpartition(":")[2]) for run in runs}
    return {run: worker for run, pid in pids.items() for worker in workers if pid in worker.children()}


def _keep_house(room: ControlRoom, every_seconds: int) -> None:
    """Housekeeping by schedule, on a worker that lives."""
    schedule = {"schedule": {"interval": every_seconds}, "active": True, "parameters": {"parameters": {}}}
    room.ask("POST", f"/deployments/{_deployment(room, 'housekeeping')['id']}/schedules", [schedule])
    room.worker("worker-that-lives", limit=1)
    until(lambda: _rounds(room, "COMPLETED") > 0, 300, "a round of housekeeping")


def _rounds(room: ControlRoom, state: str) -> int:
    mine = {"id": {"any_": [_deployment(room, "housekeeping")["id"]]}}
    asked = {"deployments": mine, "flow_runs": {"state": {"type": {"any_": [state]}}}}
    return len(room.ask("POST", "/flow_runs/filter", asked))


def _succeeded(patra: Patra) -> int:
    return len(patra.rows("ing_task", "id", where="status_code = 'SUCCEEDED'"))


def _leases(patra: Patra) -> list[str]:
    """The owner of every task that is at work."""
    return [row["lease_owner"] for row in patra.rows("ing_task", "lease_owner", where="lease_owner is not null")]


def _holders(patra: Patra) -> set[str]:
    """The flow runs that hold a lease, and so a slot."""
    return {owner.split(":")[1] for owner in _leases(patra)}


def _remove_limits(room: ControlRoom) -> None:
    for name in room.limits():
        room.ask("DELETE", f"/v2/concurrency_limits/{name}")


def _taken(room: ControlRoom) -> dict[str, int]:
    return {name: row["active_slots"] for name, row in room.limits().items() if row["active_slots"]}


def _most_at_a_time(patra: Patra, requests: list[Row]) -> int:
    """The most tasks that had a request open at one moment."""
    tasks = {row["id"]: row["task_id"] for row in patra.rows("ing_task_run", "id", "task_id")}
    changes = []
    for request in requests:
        task_id = tasks[int(request["correlation"].split("-")[1])]
        changes += [(request["began_seconds"], 1, task_id), (request["ended_seconds"], -1, task_id)]
    open_of, most = dict.fromkeys(tasks.values(), 0), 0
    for _, change, task_id in sorted(changes, key=lambda one: one[:2]):
        open_of[task_id] += change
        most = max(most, sum(count > 0 for count in open_of.values()))
    return most


def _assert_capped(patra: Patra, sandbox: Sandbox, end: str) -> None:
    """As many tasks at a time as there may be, and no more; and everything is there."""
    assert _most_at_a_time(patra, sandbox.requests("crossref")) == CAP
    sandbox.script()
    patra.assert_truth(sandbox.truth(from_=START, to=end))


@pytest.fixture(scope="module")
def small_room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlRoom]:
    """A server with these two deployments, without schedules."""
    with ControlRoom(tmp_path_factory.mktemp("room")) as room:
        room.command("work-pool", "create", "patra", "--type", "process")
        for name in ("executor", "housekeeping"):
            room.command("deploy", "--name", name, "--no-prompt")
            room.ask("PATCH", f"/deployments/{_deployment(room, name)['id']}", {"paused": True})
        yield room


def _begin_three(room: ControlRoom, patra: Patra, worker: str, **asked: object) -> tuple[Process, list[str]]:
    """A worker, and three executors in its processes that may work as many tasks as the cap, together."""
    _remove_limits(room)
    leases = {"PATRA_LEASE_TTL_SECONDS": "60", "PATRA_SLOT_LEASE_SECONDS": "60"}
    settings = patra.environment | leases | {"PATRA_TOTAL_CONCURRENCY": str(CAP)}
    process = room.worker(worker, limit=None, **settings)
    wish = {"source": "crossref", "at_once": 2, "until_idle": True, **asked}
    return process, [room.begin("executor/executor", wish) for _ in range(3)]


def _assert_completed(room: ControlRoom, runs: list[str], seconds: float) -> None:
    ends = [room.ended(run, seconds=seconds) for run in runs]
    assert {end["state_type"] for end in ends} == {"COMPLETED"}, [end["state"]["message"] for end in ends]


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.timeout(600)
def test_executors_of_one_worker_stay_within_the_cap(
    patra: Patra, quiet_sandbox: Sandbox, small_room: ControlRoom
) -> None:
    end = "2026-01-01T08:00:00Z"
    _plan(patra, quiet_sandbox, end, slices=8, latency=0.3)
    worker, runs = _begin_three(small_room, patra, "worker-of-three")
    _assert_completed(small_room, runs, 400)
    worker.stop()
    assert _taken(small_room) == {}
    assert len({row["flow_run_id"] for row in patra.rows("ing_task_run", "flow_run_id")}) > 1
    _assert_capped(patra, quiet_sandbox, end)


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.timeout(900)
def test_slots_that_a_stuck_server_gave_away_let_nobody_exceed_the_cap(
    patra: Patra, quiet_sandbox: Sandbox, small_room: ControlRoom
) -> None:
    end = "2026-01-01T16:00:00Z"
    _plan(patra, quiet_sandbox, end, slices=16, latency=1.0)
    worker, runs = _begin_three(small_room, patra, "worker-of-the-stuck", minutes=30)
    until(lambda: {small_room.state(run) for run in runs} == {"RUNNING"}, 300, "executors")
    until(lambda: len(_leases(patra)) == CAP, 60, "slices at work", every=0.1)
    assert small_room.server
    small_room.server.signal(signal.SIGSTOP)
    time.sleep(STUCK_SECONDS)
    small_room.server.signal(signal.SIGCONT)
    _assert_completed(small_room, runs, 600)
    assert "not renewed" in worker.log.read_text()
    worker.stop()
    until(lambda: _taken(small_room) == {}, 120, "slots that are free")
    _assert_capped(patra, quiet_sandbox, end)


def _set_back(database_url: str, patra: Patra) -> None:
    """A cursor as a crash leaves it: behind its events."""
    anchor = patra.rows("ing_cursor_event", "window_from")[0]["window_from"]
    database = Database(database_url)
    with database.write() as connection:
        connection.execute(ing_cursor.update().values(normalized_instant=anchor))
    database.close()


@pytest.mark.timeout(600)
def test_a_part_that_fails_is_named_and_stops_no_other(
    patra: Patra, quiet_sandbox: Sandbox, small_room: ControlRoom
) -> None:
    patra("plan", "crossref", "--from", "2026-01-01", "--to", "2026-01-02", "--now", "2026-01-04")
    patra("execute")
    reached = patra.rows("ing_cursor", "normalized_instant")
    _set_back(patra.environment["PATRA_DATABASE_URL"], patra)
    patra("plan", "crossref", "--from", "2026-01-01", "--to", "2026-01-04", "--now", "2026-01-04")
    with open_app() as app:
        assert app.queue.claim("a worker that dies", 1)
    _remove_limits(small_room)
    small_room.ask("POST", "/v2/concurrency_limits/", {"name": HARVEST, "limit": 9, "active_slots": 1})
    settings = {"PATRA_PUBLISHER": "nobody-installed-this", "PATRA_TOTAL_CONCURRENCY": "3"}
    small_room.worker(limit=None, **patra.environment, **settings)

    failed = small_room.run("housekeeping/housekeeping")
    assert failed["state_type"] == "FAILED"
    message = failed["state"]["message"]
    assert re.search(r"\b1 of (8|11) parts failed: relay outbox: ", message)  # 11 in the first minute of an hour
    assert "nobody-installed-this" in message
    states = {run["name"]: run["state_type"] for run in small_room.task_runs(failed["id"])}
    assert states.pop("relay outbox") == "FAILED"
    assert set(states.values()) == {"COMPLETED"}
    assert patra.rows("ing_task", where="status_code = 'DISPATCHED'") == []
    assert patra.rows("ing_cursor", "normalized_instant") == reached
    assert (small_room.limits()[TOTAL]["limit"], small_room.limits()[HARVEST]["limit"]) == (3, 3)

    done = small_room.run("housekeeping/housekeeping", {"parts": ["reap leases", "reconcile slots", "compact cursors"]})
    assert (done["state_type"], done["state"]["message"]) == ("COMPLETED", f"possibly orphaned: 1 of {HARVEST}")


@pytest.fixture
def room(patra: Patra, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[ControlRoom]:
    """A server that keeps its leases in memory; all leases are of a minute."""
    leases = {"PATRA_LEASE_TTL_SECONDS": "60", "PATRA_SLOT_LEASE_SECONDS": "60"}
    patra.environment |= {**leases, "PATRA_TOTAL_CONCURRENCY": str(request.param)}
    with ControlRoom(tmp_path / "room", patra.environment) as room:
        yield room


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("room", "cap", "holders_killed"),
    [
        pytest.param(8, {"rate_limit": {"max_concurrency": CAP}}, 2, id="of-the-registry"),
        pytest.param(CAP, {}, 1, id="of-the-total"),
    ],
    indirect=["room"],
)
def test_workers_are_killed_and_the_server_restarted_and_the_cap_holds(
    patra: Patra, room: ControlRoom, quiet_sandbox: Sandbox, cap: dict[str, Row], holders_killed: int
) -> None:
    end, slices = "2026-01-02T16:00:00Z", 40
    _plan(patra, quiet_sandbox, end, slices, latency=1.0, **cap)
    _deploy(room)
    workers = _executors(room, 4)
    _keep_house(room, every_seconds=30)
    until(lambda: _succeeded(patra) >= 8, 300, "the first slices")
    until(lambda: len(_holders(patra)) == CAP, 60, "slices at work", every=0.1)
    holding = [run for run in workers if run in _holders(patra)]
    idle = [run for run in workers if run not in holding]
    killed = holding[:holders_killed] + idle[: 2 - holders_killed]
    for run in killed:
        workers[run].kill()
    died_at = time.monotonic()
    room.restart()

    living = set(workers) - set(killed)
    back = died_at + BACK_SECONDS - time.monotonic()
    until(lambda: len(_holders(patra) & living) == CAP, back, "all slots at work", every=0.1)
    until(lambda: _succeeded(patra) == slices, 600, "all slices")
    until(lambda: _taken(room) == {}, BACK_SECONDS, "slots that are free")
    until(lambda: {room.state(run) for run in killed} == {"CRASHED"}, 300, "the end of the dead runs")
    _assert_capped(patra, quiet_sandbox, end)
