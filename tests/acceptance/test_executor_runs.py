"""Executor runs that a Prefect worker started, drained, cancelled, retried and killed: what the provider saw of it."""

import os
import re
import signal
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest

from deployments.sandbox.remote import Sandbox
from tests.conftest import DatabaseFactory
from tests.support.patra import Patra, Row
from tests.support.prefect import ControlRoom, Process, until

pytestmark = pytest.mark.timeout(600)

SOURCE: Row = {"source": "crossref", "at_once": 3}
SLICES = 4
NEVER = "600"
"""A lease that does not expire while a test runs: what comes free was given back."""


@pytest.fixture(scope="module")
def environment(
    database_factory: DatabaseFactory, sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """One database for all of these tests; each has a day of its own."""
    return {
        "PATRA_DATABASE_URL": database_factory.fresh("sqlite"),
        "PATRA_UPSTREAM_CROSSREF": sandbox.url("crossref"),
        "PATRA_HOME": str(tmp_path_factory.mktemp("home")),
        "PATRA_LEASE_TTL_SECONDS": NEVER,
    }


@pytest.fixture(scope="module")
def room(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlRoom]:
    """A server with the deployments, and nothing that runs by itself."""
    with ControlRoom(tmp_path_factory.mktemp("room"), environment) as room:
        room.patra("db", "upgrade")
        room.deploy()
        yield room


@pytest.fixture(scope="module")
def worker(room: ControlRoom) -> Process:
    """A process worker."""
    return room.worker()


@pytest.fixture
def patra(
    environment: dict[str, str], quiet_sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Patra:
    """`patra` on the room's database, with a Crossref whose pages are small and whose tokens keep."""
    patra = Patra(environment["PATRA_DATABASE_URL"], quiet_sandbox.url("crossref"), tmp_path, monkeypatch)
    quiet_sandbox.configure(scroll="token")
    apply(patra)
    return patra


def apply(patra: Patra, **pagination: object) -> None:
    """Register Crossref in slices of six hours."""
    pages = {"position": "CLIENT", "page_size": 20, **pagination}
    patra.apply_crossref(window={"max_window": "PT6H"}, pagination=pages)


def plan(patra: Patra, day: str, *options: str) -> int:
    """A harvest of a day in four slices; the plan's id."""
    end = str(date.fromisoformat(day) + timedelta(days=1))
    given = ("--from", day, "--to", end, "--set", "slicing.probe_budget=0", *options)
    report = patra("plan", "crossref", *given)
    assert report["slices"] == SLICES
    return int(report["plan_id"])


def tasks(patra: Patra, plan_id: int) -> list[Row]:
    return patra.rows("ing_task", where=f"plan_id = {plan_id}")


def pages_of(patra: Patra, plan_id: int) -> list[tuple[int, int]]:
    """The pages of a plan that are stored, each by its slice and number, as often as it was read."""
    batches = patra.rows("ing_task_run_batch", where=f"plan_id = {plan_id} AND status_code = 'SUCCEEDED'")
    return [(batch["slice_id"], batch["page_no"]) for batch in batches]


def begun(room: ControlRoom, worker: Process, sandbox: Sandbox) -> tuple[str, int]:
    """An executor run in the midst of its first slices, at a provider that takes its time; its id and its process."""
    sandbox.clear_requests()
    sandbox.script({"kind": "latency", "seconds": 1.5, "times": None})
    run_id = room.begin("executor/executor", SOURCE)
    until(lambda: len(sandbox.requests()) >= 6, 180, "the first pages", every=0.1)
    (process,) = worker.flow_processes()
    return run_id, process


def finish(room: ControlRoom, sandbox: Sandbox) -> Row:
    """All that is left, worked by another run at a provider that is quick again."""
    sandbox.script()
    run = room.run("executor/executor", SOURCE)
    assert run["state_type"] == "COMPLETED", run["state"]["message"]
    return run


def taken(room: ControlRoom) -> dict[str, int]:
    """The slots that are taken, by limit."""
    return {name: row["active_slots"] for name, row in room.limits().items() if row["active_slots"]}


def assert_given_back(room: ControlRoom, patra: Patra, plan_id: int) -> None:
    """Nobody holds a task or a slot of the plan."""
    assert {(task["status_code"], task["lease_owner"]) for task in tasks(patra, plan_id)} == {("QUEUED", None)}
    assert taken(room) == {}


def assert_read_once(patra: Patra, sandbox: Sandbox, day: str) -> None:
    """All of the day is stored, and no page of it was asked for twice."""
    end = str(date.fromisoformat(day) + timedelta(days=1))
    patra.assert_truth(sandbox.truth(from_=f"{day}T00:00:00Z", to=f"{end}T00:00:00Z"))
    pages = Counter((request["query"]["filter"], request["page"]) for request in sandbox.requests("crossref"))
    assert [page for page, times in pages.items() if times > 1] == []


def test_sigterm_drains_a_run_to_its_page_and_gives_everything_back(
    room: ControlRoom, worker: Process, patra: Patra, quiet_sandbox: Sandbox
) -> None:
    plan_id = plan(patra, "2026-01-02")
    run_id, process = begun(room, worker, quiet_sandbox)
    assert taken(room) == {"ingest.crossref.works.harvest": 3, "ingest.total": 3}
    owners = {str(task["lease_owner"]) for task in tasks(patra, plan_id) if task["lease_owner"]}
    assert all(owner.startswith(f"flow:{run_id}:") for owner in owners)
    os.kill(process, signal.SIGTERM)
    run = room.ended(run_id)
    assert (run["state_type"], run["state"]["message"]) == (
        "COMPLETED",
        "drained after 3 tasks; 3 went back to the queue",
    )
    assert_given_back(room, patra, plan_id)
    finish(room, quiet_sandbox)
    assert_read_once(patra, quiet_sandbox, "2026-01-02")


@pytest.mark.long
def test_a_cancelled_run_gives_its_tasks_back_to_the_queue(
    room: ControlRoom, worker: Process, patra: Patra, quiet_sandbox: Sandbox
) -> None:
    plan_id = plan(patra, "2026-01-03")
    run_id, _process = begun(room, worker, quiet_sandbox)
    room.cancel(run_id)
    run = room.ended(run_id)
    assert run["state_type"] == "CANCELLED"
    assert run["state"]["message"] == "drained after 3 tasks; 3 went back to the queue"
    assert_given_back(room, patra, plan_id)
    finish(room, quiet_sandbox)
    assert_read_once(patra, quiet_sandbox, "2026-01-03")


def test_a_source_that_nobody_knows_is_refused(room: ControlRoom, worker: Process, patra: Patra) -> None:
    run = room.run("executor/executor", {"source": "nonesuch"})
    assert run["state_type"] == "FAILED"
    assert re.search("no source 'nonesuch' is registered.*crossref", run["state"]["message"])
    assert not any("Traceback" in line["message"] for line in room.logs(run["id"]))


def test_a_failed_run_names_what_failed_and_its_retry_works_that_first(
    room: ControlRoom, worker: Process, patra: Patra, quiet_sandbox: Sandbox
) -> None:
    plan(patra, "2026-01-04")
    bad = "from-index-date:2026-01-04T12"
    quiet_sandbox.script({"kind": "status", "status": 422, "times": None, "match": {"contains": bad}})
    run = room.run("executor/executor", SOURCE)
    assert run["state_type"] == "FAILED"
    named = (
        r"1 of 4 tasks FAILED \(Retry executes it again\): crossref slice 3/4 12:00-18:00: the provider answered 422"
    )
    assert re.match(named, run["state"]["message"])
    assert not any("Traceback" in line["message"] for line in room.logs(run["id"]))
    plan(patra, "2026-01-05", "--priority", "1")
    quiet_sandbox.script()
    quiet_sandbox.clear_requests()
    again = room.retry(run["id"])
    assert (again["state_type"], again["run_count"]) == ("COMPLETED", 2)
    assert again["state"]["message"].startswith("5 tasks succeeded")
    windows = list(dict.fromkeys(request["query"]["filter"] for request in quiet_sandbox.requests("crossref")))
    assert any(window.startswith(bad) for window in windows[: SOURCE["at_once"]])  # they begin side by side
    for day in ("2026-01-04", "2026-01-05"):
        end = str(date.fromisoformat(day) + timedelta(days=1))
        patra.assert_truth(quiet_sandbox.truth(from_=f"{day}T00:00:00Z", to=f"{end}T00:00:00Z"))


def test_a_run_shows_what_it_did_and_what_follows_a_slice_that_was_too_big(
    room: ControlRoom, worker: Process, patra: Patra, quiet_sandbox: Sandbox
) -> None:
    apply(patra, max_page_bytes=1000)
    plan_id = plan(patra, "2026-01-06")
    run = room.run("executor/executor", SOURCE)
    assert run["state_type"] == "COMPLETED"
    assert run["state"]["message"].startswith("4 slices were too big: housekeeping, or the next plan of")
    assert re.fullmatch(r"execute crossref: 4 tasks, [\d,]+ records?, 4 partial", run["name"])
    tags = {"source:crossref", "operation:HARVEST", f"plan:{plan_id}"}
    assert tags <= set(run["tags"])
    names = [f"crossref slice {number}/4 {6 * number - 6:02}:00-{6 * number:02}:00" for number in range(1, 5)]
    task_runs = room.task_runs(run["id"])
    assert sorted(task_run["name"] for task_run in task_runs) == names
    assert {task_run["state_name"] for task_run in task_runs} == {"Partial"}
    assert all(set(task_run["tags"]) == tags for task_run in task_runs)
    progress, page = sorted(room.artifacts(run["id"]), key=lambda artifact: str(artifact["type"]), reverse=True)
    assert progress["data"] == 0  # whole per cent of the tasks that succeeded
    assert "0 succeeded, 4 partial, 0 failed" in page["data"]
    assert page["data"].count("PARTIAL") == 4
    stored = patra.rows("ing_task_run", "flow_run_id", "flow_task_run_id", where=f"plan_id = {plan_id}")
    assert {row["flow_run_id"] for row in stored} == {run["id"]}
    assert {row["flow_task_run_id"] for row in stored} == {task_run["id"] for task_run in task_runs}
    patra("cancel", "--plan", str(plan_id))  # or the next plan cuts these slices smaller, and executors work them


def test_names_progress_and_the_plans_page_say_what_was_planned_and_what_was_done(
    room: ControlRoom, worker: Process, patra: Patra, quiet_sandbox: Sandbox
) -> None:
    apply(patra, total_kind="ESTIMATE")
    window = {"window_from": "2026-01-08T00:00:00Z", "window_to": "2026-01-08T06:00:00Z"}
    planned = room.run("planner/planner", {"source": "crossref", **window})
    assert planned["state"]["message"].startswith("planned: 1 slice, about ")
    (page,) = room.artifacts(planned["id"])
    assert "Not executed yet" in page["data"]
    assert "unconfirmed ends" not in page["data"]
    run = room.run("executor/executor", SOURCE)
    assert run["state_type"] == "COMPLETED"
    stored = re.search(r": ([\d,]+) received, ([\d,]+) inserted, 0 updated, 0 skipped, 0 gone", run["state"]["message"])
    assert stored, run["state"]["message"]
    received, records = stored.groups()
    assert run["name"] == f"execute crossref: 1 task, {records} records"
    (progress,) = [one for one in room.artifacts(run["id"]) if one["type"] == "progress"]
    assert progress["data"] == 100
    (page,) = room.artifacts(planned["id"])
    assert "| status | SUCCEEDED |" in page["data"]
    assert "| tasks | 1 SUCCEEDED |" in page["data"]
    assert f"| records | {received} received: {records} inserted" in page["data"]
    assert "| unconfirmed ends | 1 slice: no total confirms that every record came |" in page["data"]
    assert f"outcome: SUCCEEDED: 1 of 1 task ended, {records} records stored" in page["description"]
    idle = room.run("executor/executor", SOURCE)
    assert (idle["name"], room.artifacts(idle["id"])) == ("execute crossref", [])


def test_a_run_name_that_a_person_typed_stays_and_an_invented_one_is_replaced(
    room: ControlRoom, worker: Process, patra: Patra
) -> None:
    executor = room.ask("GET", "/deployments/name/executor/executor")
    place, body = f"/deployments/{executor['id']}/create_flow_run", {"parameters": {"parameters": SOURCE}}
    typed = room.ask("POST", place, {**body, "name": "winter-night", "state": {"type": "SCHEDULED"}})
    filled_in = room.ask("POST", place, {**body, "name": "Handcrafted-Brug", "state": {"type": "SCHEDULED"}})
    left_out = room.ask("POST", place, {**body, "state": {"type": "SCHEDULED"}})
    assert [run["name"] for run in (typed, filled_in, left_out)] == ["winter-night", *2 * ["execute crossref"]]
    assert room.ended(typed["id"])["name"] == "winter-night"
    assert room.ended(filled_in["id"])["name"] == "execute crossref"
    assert room.retry(typed["id"])["name"] == "winter-night"


@pytest.mark.long
def test_what_a_killed_process_held_comes_free_as_soon_as_its_worker_notices(
    room: ControlRoom, worker: Process, patra: Patra, quiet_sandbox: Sandbox
) -> None:
    plan_id = plan(patra, "2026-01-07")
    run_id, process = begun(room, worker, quiet_sandbox)
    until(lambda: bool(pages_of(patra, plan_id)), 60, "the first page that is stored", every=0.1)
    os.kill(process, signal.SIGKILL)
    assert room.ended(run_id)["state_type"] == "CRASHED"
    until(lambda: all(task["lease_owner"] is None for task in tasks(patra, plan_id)), 90, "giving leases back")
    until(lambda: taken(room) == {}, 180, "giving slots back")
    assert_given_back(room, patra, plan_id)
    again = room.retry(run_id)
    assert (again["state_type"], again["run_count"]) == ("COMPLETED", 2)
    stored = pages_of(patra, plan_id)
    assert len(stored) == len(set(stored)), "a page that was stored was read again"
    patra.assert_truth(quiet_sandbox.truth(from_="2026-01-07T00:00:00Z", to="2026-01-08T00:00:00Z"))


@pytest.mark.long
def test_an_executor_that_waits_cuts_what_was_too_large_without_housekeeping(
    room: ControlRoom, worker: Process, patra: Patra, quiet_sandbox: Sandbox
) -> None:
    apply(patra, max_page_bytes=1000)
    plan_id = plan(patra, "2026-01-09")
    mine = f"plan_id = {plan_id}"
    run_id = room.begin("executor/executor", {**SOURCE, "minutes": 15, "wait_for_work": True})
    until(lambda: bool(patra.rows("ing_reslice_request", "id", where=mine)), 180, "a slice that is too large")
    until(lambda: bool(patra.rows("ing_reslice_request", "id", where=f"{mine} AND status_code = 'SERVED'")), 180, "cut")
    assert len(patra.rows("ing_task", "id", where=mine)) > SLICES
    room.cancel(run_id)
    assert room.ended(run_id)["state_type"] == "CANCELLED"
