"""The automations on a real server: no run waits for ever for a process that is gone, and no other run is touched."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.prefect import ControlRoom, Process, until

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]
STAY = {"minutes": 30, "wait_for_work": True}
RUN_SECONDS = 300
CRASHED_SECONDS = 300
MISSED_SECONDS = 600
"""What becomes of runs that were scheduled less than five minutes ahead, Prefect tells its automations much later."""


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlRoom]:
    """A server with everything deployed."""
    folder = tmp_path_factory.mktemp("room")
    settings = {"PATRA_HOME": str(folder / "home"), "PATRA_UPSTREAM_CROSSREF": "http://127.0.0.1:1/crossref"}
    with ControlRoom(folder, settings) as room:
        room.patra("db", "upgrade")
        room.patra("deploy")
        _tick_every_minute(room)
        yield room


def _tick_every_minute(room: ControlRoom) -> None:
    housekeeping = room.ask("GET", "/deployments/name/housekeeping/housekeeping")
    place = f"/deployments/{housekeeping['id']}/schedules/{housekeeping['schedules'][0]['id']}"
    room.ask("PATCH", place, {"schedule": {"interval": 60}})


def _begun(room: ControlRoom) -> str:
    """An executor run that waits for work, and has sent a heartbeat."""
    run = room.begin("executor/executor", STAY)
    until(lambda: room.state(run) == "RUNNING", RUN_SECONDS, "the run")
    until(lambda: bool(_events(room, run, "prefect.flow-run.heartbeat")), RUN_SECONDS, "its first heartbeat")
    return run


def _events(room: ControlRoom, run: str, name: str) -> list[dict[str, Any]]:
    asked = {"event": {"name": [name]}, "resource": {"id": [f"prefect.flow-run.{run}"]}}
    found: list[dict[str, Any]] = room.ask("POST", "/events/filter", {"filter": asked})["events"]
    return found


def _shorten(room: ControlRoom, words: str, seconds: int) -> None:
    """Let an automation lose its patience sooner."""
    (found,) = [one for one in room.ask("POST", "/automations/filter", {}) if words in one["name"]]
    body = {name: found[name] for name in ("name", "description", "enabled", "trigger", "actions")}
    room.ask("PUT", f"/automations/{found['id']}", {**body, "trigger": {**body["trigger"], "within": seconds}})


def _lose(worker: Process) -> float:
    """The worker and its runs are gone, as with their machine; when that was."""
    worker.kill()
    return time.monotonic()


def test_a_run_whose_machine_is_gone_is_crashed_and_no_other(room: ControlRoom) -> None:
    dying = room.worker("dying")
    running, cancelled = _begun(room), _begun(room)
    lost = _lose(dying)
    room.cancel(cancelled)
    living = room.worker("living")
    ended = room.run("planner/planner", {"source": "crossref"})
    alive = _begun(room)

    until(lambda: room.state(running) == "CRASHED", CRASHED_SECONDS, "the crash")
    assert time.monotonic() - lost < CRASHED_SECONDS
    assert "No heartbeat" in room.flow_run(running)["state"]["message"]
    until(lambda: room.state(cancelled) in ("CRASHED", "CANCELLED"), CRASHED_SECONDS, "the end of a cancelled run")

    heard = len(_events(room, alive, "prefect.flow-run.heartbeat"))
    until(lambda: len(_events(room, alive, "prefect.flow-run.heartbeat")) > heard + 4, RUN_SECONDS, "its heartbeats")
    assert room.state(alive) == "RUNNING"
    assert room.state(ended["id"]) == "COMPLETED"
    _lose(living)


def test_a_run_that_never_starts_is_crashed(room: ControlRoom) -> None:
    _shorten(room, "never starts", 20)
    taken = room.begin("planner/planner", {"source": "crossref"})
    room.ask("POST", f"/flow_runs/{taken}/set_state", {"state": {"type": "PENDING", "name": "Pending"}})
    until(lambda: room.state(taken) == "CRASHED", RUN_SECONDS, "the crash")


def test_ticks_nobody_takes_are_missed_and_what_a_person_asked_for_waits(room: ControlRoom) -> None:
    _shorten(room, "no worker picked up", 20)
    asked = room.begin("housekeeping/housekeeping")
    missed = {"flow_runs": {"state": {"name": {"any_": ["Missed"]}}}, "limit": 50}
    until(lambda: len(room.ask("POST", "/flow_runs/filter", missed)) > 1, MISSED_SECONDS, "missed ticks", every=5)
    assert {"auto-scheduled" in run["tags"] for run in room.ask("POST", "/flow_runs/filter", missed)} == {True}
    assert room.state(asked) == "SCHEDULED"
