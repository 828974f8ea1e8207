"""A person at the control room: a real server, worker and browser, and a provider that can fail on request."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from deployments.sandbox.remote import Sandbox
from deployments.sandbox.server import running
from deployments.sandbox.settings import Settings
from ingest_core.model.instant import format_instant
from tests.conftest import DatabaseFactory
from tests.support.browser import SCREENSHOTS, Screen, open_screen, running_chromium
from tests.support.patra import Patra
from tests.support.prefect import ControlRoom, Row, until

pytestmark = pytest.mark.timeout(900)

TODAY = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
MONTH_AGO = TODAY - timedelta(days=30)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for all."""
    with running_chromium() as chromium:
        yield chromium


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """A simulated Crossref whose works changed in the last month, until tomorrow."""
    with running(Settings(works=3000, until=TODAY + timedelta(days=1), days=31)) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def patra(
    sandbox: Sandbox, database_factory: DatabaseFactory, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Patra]:
    """`patra` on one database for all, with the quick Crossref registered."""
    with pytest.MonkeyPatch.context() as environment:
        folder = tmp_path_factory.mktemp("patra")
        patra = Patra(database_factory.fresh("sqlite"), sandbox.url("crossref"), folder, environment)
        patra.environment["PATRA_LEASE_TTL_SECONDS"] = "60"
        patra("db", "upgrade")
        patra.apply_crossref()
        yield patra


@pytest.fixture(scope="module")
def room(browser: Browser, patra: Patra, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlRoom]:
    """A server with everything deployed, and a worker. What runs by itself does so when a test wants it."""
    with ControlRoom(tmp_path_factory.mktemp("room"), patra.environment) as room:
        room.patra("deploy")
        _switch_off(room)
        room.worker()
        yield room


def _switch_off(room: ControlRoom) -> None:
    for one in room.ask("POST", "/deployments/filter", {}):
        for schedule in one["schedules"]:
            room.ask("PATCH", f"/deployments/{one['id']}/schedules/{schedule['id']}", {"active": False})


@pytest.fixture
def screen(browser: Browser, room: ControlRoom, request: pytest.FixtureRequest) -> Iterator[Screen]:
    """A window of the browser, in front of the server."""
    folder: Path = SCREENSHOTS / "control-room" / request.node.name
    with open_screen(browser, room.ui, folder) as screen:
        yield screen


def _day(before: int) -> str:
    """So many days ago, as the form's calendar takes it."""
    return f"{TODAY - timedelta(days=before):%Y-%m-%d}"


def _records(patra: Patra) -> int:
    return len(patra.rows("ing_item", "id"))


def test_deployments_are_listed_with_what_they_do(screen: Screen) -> None:
    screen.go("Deployments")
    for name in ("backfill", "executor", "harvest-crossref"):
        screen.sees(name)
    screen.shot("deployments")
    screen.open_deployment("harvest-crossref")
    screen.shot("deployment")
    expect(screen.aside.get_by_role("switch", name=re.compile("past the hour"))).not_to_be_checked()
    screen.tab("Description")
    screen.sees(re.compile("Plans a harvest of Crossref"))


def test_a_backfill_is_started_from_the_form_and_worked(
    screen: Screen, room: ControlRoom, patra: Patra, sandbox: Sandbox
) -> None:
    screen.open_form("backfill")
    screen.shot("form", whole=True)
    screen.choose("Source", "crossref")
    screen.pick_day("From", _day(20))
    screen.pick_day("To", _day(18))
    screen.write("Campaign", "autumn")
    screen.shot("filled-in")
    planned = room.ended(screen.start())
    assert planned["state_type"] == "COMPLETED", planned["state"]["message"]
    assert planned["name"].startswith(f"crossref backfill {_day(20)}..")
    assert {"source:crossref", "operation:BACKFILL", "campaign:autumn", "plan:1"} <= set(planned["tags"])
    assert _records(patra) == 0

    screen.open_run(planned["name"])
    screen.sees("campaign:autumn")
    screen.shot("planned")
    screen.open_page("crossref backfill")
    screen.sees("Next steps")
    screen.sees("Window, step by step")
    screen.shot("plan-page", whole=True)

    worked = room.run("executor/executor", {"source": "crossref"})
    assert worked["state_type"] == "COMPLETED", worked["state"]["message"]
    screen.open_run(worked["name"])
    screen.shot("worked")
    screen.open_page("succeeded")
    screen.sees("SUCCEEDED")
    screen.shot("execution-page", whole=True)

    patra.assert_truth(sandbox.truth(from_=f"{_day(20)}T00:00:00Z", to=f"{_day(18)}T00:00:00Z"))
    assert {row["operation"] for row in patra("cursor", "list")} == {"BACKFILL"}
    assert {row["priority"] for row in patra.rows("ing_task", "priority")} == {7}


def test_a_form_that_is_not_filled_in_says_what_is_missing(screen: Screen, room: ControlRoom) -> None:
    screen.open_form("backfill")
    screen.submit()
    assert "'Source' is missing" in screen.complaint()
    expect(screen.field("Source")).to_contain_text("'Source' is missing")
    expect(screen.field("From")).to_contain_text("'From' is missing")
    screen.shot("missing", whole=True)


def test_a_harvests_form_asks_only_what_a_harvest_needs_and_a_quick_run_has_its_name_at_once(
    screen: Screen, room: ControlRoom
) -> None:
    screen.open_form("harvest-crossref")
    screen.shot("harvest-form", whole=True)
    for needless in ("Source", "Operation", "Endpoint", "Campaign", "Newest first", "Ids", "Now"):
        expect(screen.field(needless)).to_have_count(0)
    screen.write("Window", "soon")
    refused = room.ended(screen.start())
    said = "Window: 'soon' is not a window "
    assert (refused["name"], refused["state"]["message"].startswith(said)) == ("crossref harvest", True)

    quick = screen.quick_run("harvest-crossref")
    screen.sees("crossref harvest")
    screen.shot("quick-run")
    planned = room.ended(quick)
    assert planned["state_type"] == "COMPLETED", planned["state"]["message"]
    assert re.match(r"crossref harvest \d{4}-\d\d-\d\d", planned["name"])


def test_a_number_out_of_its_range_is_not_sent(screen: Screen) -> None:
    screen.open_form("backfill")
    screen.write("Priority", "12")
    assert "less than or equal to 9" in screen.objection("Priority")


@pytest.mark.long
def test_a_source_that_is_no_longer_offered_is_refused_by_the_server(screen: Screen) -> None:
    screen.open_form("backfill")
    screen.give_json("Source", '"nonesuch"')
    screen.pick_day("From", _day(20))
    screen.submit()
    assert "'nonesuch' is not one of" in screen.complaint()
    screen.shot("unknown-source", whole=True)


@pytest.mark.long
def test_a_period_that_ends_before_it_begins_fails_before_anything_is_planned(
    screen: Screen, room: ControlRoom, patra: Patra
) -> None:
    plans = len(patra.rows("ing_plan", "id"))
    screen.open_form("backfill")
    screen.choose("Source", "crossref")
    screen.pick_day("From", _day(3))
    screen.pick_day("To", _day(5))
    failed = room.ended(screen.start(), runs=0)  # its parameters are refused before it counts as run
    assert failed["state_type"] == "FAILED"
    screen.open_run(failed["name"])
    screen.tab("Details")
    screen.sees(re.compile(r"is not before To .*\(let From be earlier than To\)"))
    screen.shot("refused")
    assert len(patra.rows("ing_plan", "id")) == plans


def test_a_failed_run_is_retried_by_the_button_and_goes_on(
    screen: Screen, room: ControlRoom, patra: Patra, sandbox: Sandbox
) -> None:
    period = {"window_from": _day(15), "window_to": _day(12), "campaign": "failing"}
    room.run("backfill/backfill", {"source": "crossref", **period, "overrides": {"slicing.target_records": "100"}})
    sandbox.script({"kind": "status", "status": 400, "times": 1})
    failed = room.run("executor/executor", {"source": "crossref"})
    assert failed["state_type"] == "FAILED"
    (task,) = patra.rows("ing_task", where="status_code = 'FAILED'")

    screen.open_run(failed["name"])
    screen.tab("Details")
    screen.sees(re.compile(r"1 of \d+ tasks FAILED .*: crossref .*slice .* the provider answered 400"))
    screen.shot("failed")
    screen.open_page("FAILED")
    screen.sees("Errors")
    screen.sees(re.compile("the provider answered 400"))
    screen.shot("failed-page", whole=True)

    asked = len(sandbox.requests())
    screen.open_run(failed["name"])
    screen.retry()
    screen.shot("retried")
    retried = room.ended(failed["id"], runs=2)
    assert retried["state_type"] == "COMPLETED", retried["state"]["message"]
    screen.sees("Completed")
    screen.shot("completed")
    (again,) = patra.rows("ing_task", where=f"id = {task['id']}")
    assert again["status_code"] == "SUCCEEDED"
    assert len(sandbox.requests()) > asked
    patra.assert_truth(sandbox.truth(from_=f"{_day(15)}T00:00:00Z", to=f"{_day(12)}T00:00:00Z"))


def test_a_schedule_that_is_switched_on_fires(
    screen: Screen, room: ControlRoom, patra: Patra, sandbox: Sandbox
) -> None:
    harvest = room.ask("GET", "/deployments/name/planner/harvest-crossref")
    (schedule,) = harvest["schedules"]
    # Hourly is too seldom for a test: its user makes it every half minute.
    place = f"/deployments/{harvest['id']}/schedules/{schedule['id']}"
    room.ask("PATCH", place, {"active": False, "schedule": {"interval": 30}})
    screen.open_deployment("harvest-crossref")
    screen.switch("Every 30 seconds", on=True)
    screen.shot("switched-on")

    until(lambda: bool(_scheduled(room, harvest["id"])), 120, "a run of the schedule")
    room.ask("PATCH", place, {"active": False})
    first = _scheduled(room, harvest["id"])[0]
    assert first["state_type"] == "COMPLETED", first["state"]["message"]
    assert re.match(r"crossref harvest \d{4}-\d\d-\d\d", first["name"])
    screen.open_run(first["name"])
    screen.sees("auto-scheduled")
    screen.shot("fired")
    (instance,) = patra.rows("ing_schedule_instance", where=f"scheduler_log_id = '{first['id']}'")
    assert (instance["trigger_type_code"], instance["scheduler_job_id"]) == ("SCHEDULE", "harvest-crossref")
    worked = room.run("executor/executor", {"source": "crossref"})
    assert worked["state_type"] == "COMPLETED", worked["state"]["message"]
    (cursor,) = [row for row in patra("cursor", "list") if row["operation"] == "HARVEST"]
    plan = patra.rows("ing_plan", where=f"schedule_instance_id = {instance['id']}")[0]
    bounds = (format_instant(plan["window_from"]), cursor["value"])
    assert bounds[0] < bounds[1]
    patra.assert_truth(sandbox.truth(from_=bounds[0], to=bounds[1]))


def test_an_executor_whose_schedule_was_switched_off_and_on_still_waits_for_work(
    screen: Screen, room: ControlRoom, patra: Patra, sandbox: Sandbox
) -> None:
    executor = room.ask("GET", "/deployments/name/executor/executor")
    place = f"/deployments/{executor['id']}/schedules/{executor['schedules'][0]['id']}"
    # As an earlier version made it, and every half minute: five are too long for a test.
    asked = {"parameters": {"wait_for_work": True, "minutes": 2}}
    room.ask("PATCH", place, {"active": True, "schedule": {"interval": 30}, "parameters": asked})
    screen.open_deployment("executor")
    screen.switch("Every 30 seconds", on=False)
    screen.switch("Every 30 seconds", on=True)
    screen.shot("switched")
    (schedule,) = room.ask("GET", "/deployments/name/executor/executor")["schedules"]
    assert schedule["parameters"] == {}, "Prefect's page keeps the parameters of a schedule now"

    until(lambda: bool(_running(room, executor["id"])), 120, "a run of the schedule")
    room.ask("PATCH", place, {"active": False})
    (waiting, *_) = _running(room, executor["id"])
    room.run("backfill/backfill", {"source": "crossref", "window_from": _day(9), "window_to": _day(8), "campaign": "w"})
    until(lambda: _unfinished(patra) == 0, 60, "the backfill, by an executor that waited")
    assert room.state(waiting) == "RUNNING"
    for run in _running(room, executor["id"]):
        room.cancel(run)
        room.ended(run)


def _running(room: ControlRoom, deployment: str) -> list[str]:
    """The deployment's runs that a schedule began and that run."""
    asked = {"deployments": {"id": {"any_": [deployment]}}, "flow_runs": {"state": {"type": {"any_": ["RUNNING"]}}}}
    return [str(run["id"]) for run in room.ask("POST", "/flow_runs/filter", asked) if run["auto_scheduled"]]


def _unfinished(patra: Patra) -> int:
    return len(patra.rows("ing_task", "id", where="status_code NOT IN ('SUCCEEDED', 'FAILED', 'PARTIAL')"))


def test_parameters_that_a_switch_has_emptied_are_restored_by_housekeeping_and_by_deploy(
    screen: Screen, room: ControlRoom
) -> None:
    harvest = room.ask("GET", "/deployments/name/planner/harvest-crossref")
    asked = {"parameters": {"source": "crossref", "query": "type:journal-article"}}
    mine = {"schedule": {"interval": 7200}, "active": True, "slug": "articles", "parameters": asked}
    room.ask("POST", f"/deployments/{harvest['id']}/schedules", [mine])
    first = room.run("housekeeping/housekeeping", {"parts": ["keep schedules"]})
    assert first["state"]["message"] == "nothing to do"

    _switch_off_and_on(screen, "Every 2 hours")
    assert _parameters_of(room, "articles") == {}
    repaired = room.run("housekeeping/housekeeping", {"parts": ["keep schedules"]})
    assert "planner/harvest-crossref articles: parameters restored" in repaired["state"]["message"]
    assert _parameters_of(room, "articles") == asked

    _switch_off_and_on(screen, "Every 2 hours")
    assert _parameters_of(room, "articles") == {}
    screen.shot("emptied")
    assert "articles" in room.patra("deploy", "--dry-run")
    assert _parameters_of(room, "articles") == {}
    assert "parameters restored" in room.patra("deploy")
    assert _parameters_of(room, "articles") == asked
    assert "nothing changed" in room.patra("deploy")


def _switch_off_and_on(screen: Screen, schedule: str) -> None:
    screen.open_deployment("harvest-crossref")
    screen.switch(schedule, on=False)
    screen.switch(schedule, on=True)


def _parameters_of(room: ControlRoom, slug: str) -> Row:
    schedules = room.ask("GET", "/deployments/name/planner/harvest-crossref")["schedules"]
    (found,) = [one["parameters"] for one in schedules if one["slug"] == slug]
    return Row(found)


def _scheduled(room: ControlRoom, deployment: str) -> list[Row]:
    """The deployment's runs that a schedule began and that are over, oldest first."""
    body = {
        "deployments": {"id": {"any_": [deployment]}},
        "flow_runs": {"state": {"type": {"any_": ["COMPLETED", "FAILED", "CRASHED"]}}},
        "sort": "START_TIME_ASC",
    }
    found: list[Row] = room.ask("POST", "/flow_runs/filter", body)
    return [run for run in found if run["auto_scheduled"]]
