"""Planning from run forms: on a real Prefect server, in this process and by a worker."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from prefect.client.schemas.objects import State
from prefect.settings import PREFECT_API_URL, PREFECT_HOME, temporary_settings

from deployments.sandbox.remote import Sandbox
from flows.backfill import backfill
from flows.parameters import BackfillParameters, PlanParameters
from flows.planner import planner
from ingest_core.model.instant import parse_instant
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import metadata
from tests.support.patra import Patra
from tests.support.prefect import POOL, ControlRoom, Process, Row

pytestmark = [pytest.mark.long, pytest.mark.parametrize("dialect", ["sqlite"], indirect=True), pytest.mark.timeout(600)]

DAY = {"window_from": "2026-01-05T00:00:00Z", "window_to": "2026-01-06T00:00:00Z"}
PERIOD = {"window_from": "2026-01-01T00:00:00Z", "window_to": "2026-01-03T00:00:00Z"}
SMALL = {"slicing.target_records": "200"}
INFO, WARNING = 20, 30
UNRECORDED = {"endpoint", "now"}
"""Refused before the trigger is recorded: no partition, or a moment that has not come."""


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlRoom]:
    """A server with the deployments; this process is its client."""
    folder = tmp_path_factory.mktemp("room")
    room = ControlRoom(folder)
    with room, temporary_settings({PREFECT_API_URL: room.api_url, PREFECT_HOME: folder / "client"}):
        room.command("work-pool", "create", POOL, "--type", "process")
        room.command("deploy", "--all", "--no-prompt")
        yield room


@pytest.fixture
def worker(room: ControlRoom, patra: Patra, request: pytest.FixtureRequest) -> Iterator[Process]:
    """A worker on this test's database."""
    environment: dict[str, Any] = {**patra.environment}
    worker = room.worker(request.node.name.partition("[")[0], **environment)
    yield worker
    worker.stop()


def contents(patra: Patra) -> dict[str, list[str]]:
    """Every row of every table."""
    database = Database(patra.environment["PATRA_DATABASE_URL"])
    try:
        with database.read() as connection:
            return {
                name: sorted(str(tuple(row)) for row in connection.execute(sa.select(table)))
                for name, table in metadata.tables.items()
            }
    finally:
        database.close()


def planned(form: PlanParameters | BackfillParameters) -> State[Any]:
    """How the flow of this form ends."""
    if isinstance(form, PlanParameters):
        return planner(form, return_state=True)
    return backfill(form, return_state=True)


def execute_sql(patra: Patra, statement: str) -> None:
    database = Database(patra.environment["PATRA_DATABASE_URL"])
    try:
        with database.write() as connection:
            connection.execute(sa.text(statement))
    finally:
        database.close()


def run_of(room: ControlRoom, state: State[Any]) -> Row:
    return room.flow_run(str(state.state_details.flow_run_id))


def test_a_run_has_a_name_tags_a_message_and_a_page(room: ControlRoom, patra: Patra) -> None:
    state = planned(PlanParameters.model_validate({"source": "crossref", "overrides": SMALL, **DAY}))
    run, (plan,) = run_of(room, state), patra.rows("ing_plan")
    assert run["name"] == "crossref harvest 2026-01-05..06"
    assert set(run["tags"]) == {"source:crossref", "endpoint:works", "operation:HARVEST", f"plan:{plan['id']}"}
    tasks = patra.rows("ing_task")
    said = f"planned: {len(tasks)} slices, about 469 records in {len(tasks)} requests (plan {plan['id']})"
    assert state.is_completed()
    assert (
        state.message
        == f"{said}. The runs tagged plan:{plan['id']} execute it: {room.ui}/v2/runs?tags=plan:{plan['id']}"
    )
    (page,) = room.artifacts(run["id"])
    assert (page["type"], page["description"]) == ("markdown", f"{run['name']}: {said}")
    assert "| from | 2026-01-05T00:00:00.000000Z | user.from | nothing has been read yet |" in page["data"]
    assert page["data"].count("COUNT |") == len(tasks)
    names = {task["name"] for task in room.task_runs(run["id"])}
    assert {"compile crossref", "resolve window", "estimate sizes", "derive tasks"} < names
    report = state.result()
    assert (report["plan_id"], report["tasks_created"]) == (plan["id"], len(tasks))


def test_an_empty_window_says_why(room: ControlRoom, patra: Patra) -> None:
    form = PlanParameters.model_validate({"source": "crossref", **DAY})
    planned(form)
    state = planned(form)
    assert state.is_completed()
    assert "nothing to read: every part of the window is settled, was just read, or is in a live task" in str(state)
    (page,) = room.artifacts(run_of(room, state)["id"])
    assert "A later run checks again" in page["data"]


def test_a_dry_run_shows_its_page_and_writes_no_row(room: ControlRoom, patra: Patra, quiet_sandbox: Sandbox) -> None:
    before = contents(patra)
    asked = {"source": "crossref", "operation": "BACKFILL", "campaign": "winter", "dry_run": True, **PERIOD}
    state = planned(PlanParameters.model_validate(asked))
    assert contents(patra) == before
    assert quiet_sandbox.requests() == []
    run = run_of(room, state)
    assert (run["name"], state.is_completed()) == ("crossref backfill 2026-01-01..03 (dry run)", True)
    assert str(state.message).startswith("dry run, nothing was written: ")
    (page,) = room.artifacts(run["id"])
    assert "# crossref.works.backfill: dry run" in page["data"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"source": "nowhere"}, "no source 'nowhere' is registered (known sources: arxiv, biorxiv, "),
        ({"source": "crossref", "endpoint": "members"}, "no endpoint 'members' for HARVEST"),
        ({"source": "crossref", "query": "nothing:1"}, "column 1: unknown field 'nothing'"),
        ({"source": "crossref", "pace": {"requests_per_second": 2001}}, "2001 requests a second are more than"),
        (
            {"source": "crossref", "pace": {"page_size": 1001}},
            "page_size 1001 is above max_page_size 1000",
        ),
        ({"source": "crossref", "pace": {"step": "90 minutes"}}, "step 1:30:00 is not a multiple of HOUR"),
        ({"source": "crossref", "overrides": {"rate": "1"}}, "'rate' cannot be set for one plan"),
        ({"source": "crossref", "now": "2999-01-01T00:00:00Z"}, "is ahead of the database's clock"),
    ],
    ids=str,
)
def test_what_cannot_be_planned_is_said_on_the_run_and_its_trigger_and_nothing_more_is_written(
    room: ControlRoom, patra: Patra, asked: Row, said: str
) -> None:
    before = contents(patra)
    state = planned(PlanParameters.model_validate(asked))
    assert state.is_failed()
    assert said in str(state.message)
    after = contents(patra)
    recorded = [] if asked["source"] == "nowhere" or asked.keys() & UNRECORDED else ["ing_schedule_instance"]
    assert [name for name in before if before[name] != after[name]] == recorded
    for trigger in patra.rows("ing_schedule_instance"):
        assert said in trigger["record_remarks"]["error"]["message"]


def test_a_campaign_goes_on_with_the_same_form_and_not_beyond_its_period(room: ControlRoom, patra: Patra) -> None:
    planned(PlanParameters.model_validate({"source": "crossref", **DAY}))
    patra("execute")
    (harvest,) = patra("cursor", "list")
    asked = {"source": "crossref", "campaign": "winter", **PERIOD}
    limited = {**asked, "overrides": {**SMALL, "slicing.max_queued": "2"}}
    first = planned(BackfillParameters.model_validate(limited))
    assert "the queue is full, and a later run plans the rest" in str(first.message)
    run = run_of(room, first)
    assert (run["name"], "campaign:winter" in run["tags"]) == ("crossref backfill 2026-01-01..03", True)
    assert {task["priority"] for task in patra.rows("ing_task", where="operation_code = 'BACKFILL'")} == {7}
    patra("execute")
    planned(BackfillParameters.model_validate({**asked, "overrides": SMALL}))
    again = planned(BackfillParameters.model_validate(asked))
    assert "in a live task" in str(again.message)
    patra("execute")
    windows = [(task["window_from"], task["window_to"]) for task in patra.rows("ing_task")]
    assert len(windows) == len(set(windows))
    for cursor in patra("cursor", "list"):
        done = {"HARVEST": harvest["value"], "BACKFILL": "2026-01-03T00:00:00.000000Z"}
        assert cursor["value"] == done[cursor["operation"]]
    beyond = planned(BackfillParameters.model_validate({**asked, "window_from": "2025-12-01"}))
    assert beyond.is_failed()
    assert "winter" in str(beyond.message)


def test_retrying_a_planner_run_makes_the_plan_it_was_meant_to_make_once(
    room: ControlRoom, patra: Patra, worker: Process
) -> None:
    execute_sql(
        patra, "CREATE TRIGGER no_tasks BEFORE INSERT ON ing_task BEGIN SELECT RAISE(ABORT, 'no tasks today'); END"
    )
    asked = {
        "source": "crossref",
        "window": "last 6 hours",
        "overrides": {"window.step": "PT1H", "slicing.probe_budget": "0"},
    }
    failed = room.run("planner/planner", asked)
    assert failed["state_type"] == "FAILED"
    assert "no tasks today" in failed["state"]["message"]
    assert (patra.rows("ing_plan"), patra.rows("ing_cursor")) == ([], [])
    (instance,) = patra.rows("ing_schedule_instance")
    assert "no tasks today" in instance["record_remarks"]["error"]["message"]
    execute_sql(patra, "DROP TRIGGER no_tasks")
    retried = room.retry(failed["id"])
    assert retried["state_type"] == "COMPLETED", retried["state"]["message"]
    again = room.retry(failed["id"], runs=3)
    assert "planned before: " in again["state"]["message"]
    (instance,), (plan,) = patra.rows("ing_schedule_instance"), patra.rows("ing_plan")
    assert (instance["scheduler_log_id"], instance["record_remarks"]) == (failed["id"], None)
    due = parse_instant(failed["expected_start_time"])
    assert timedelta(0) <= due - timedelta(hours=6) - plan["window_from"] < timedelta(milliseconds=1)
    tasks = patra.rows("ing_task")
    assert len({task["slice_id"] for task in tasks}) == len(tasks) > 1
    refused = room.ended(room.begin("planner/planner", {"source": "crossref", "window_from": "soon"}), runs=0)
    assert (refused["state_type"], len(patra.rows("ing_schedule_instance"))) == ("FAILED", 1)
    assert refused["state"]["message"].startswith('From: "soon" should be a valid datetime')
    assert not any("Traceback" in line["message"] for line in room.logs(refused["id"]))


def test_a_backfill_from_the_form_is_worked_by_the_executor_beside_a_harvest(
    room: ControlRoom, patra: Patra, worker: Process, quiet_sandbox: Sandbox
) -> None:
    harvest = room.run("planner/planner", {"source": "crossref", **DAY})
    filled = room.run("backfill/backfill", {"source": "crossref", "campaign": "winter", **PERIOD})
    worked = room.run("executor/executor", {"source": "crossref"})
    for run in (harvest, filled, worked):
        assert run["state_type"] == "COMPLETED", run["state"]["message"]
    truth = [
        row
        for period in (DAY, PERIOD)
        for row in quiet_sandbox.truth(from_=period["window_from"], to=period["window_to"])
    ]
    patra.assert_truth(truth)
    instances = patra.rows("ing_schedule_instance")
    assert [(one["scheduler_job_id"], one["scheduler_log_id"]) for one in instances] == [
        ("planner", harvest["id"]),
        ("backfill", filled["id"]),
    ]
    assert {cursor["operation"]: cursor["value"] for cursor in patra("cursor", "list")} == {
        "HARVEST": "2026-01-06T00:00:00.000000Z",
        "BACKFILL": "2026-01-03T00:00:00.000000Z",
    }
