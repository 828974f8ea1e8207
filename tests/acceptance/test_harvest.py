"""A harvest, from the command line to the provider's truth, on every database."""

from datetime import timedelta

import pytest

from deployments.sandbox.remote import Sandbox
from ingest_core.model.instant import format_instant, parse_instant
from tests.support.patra import Patra

START, END = "2026-01-01T00:00:00Z", "2026-01-11T00:00:00Z"
PERIOD = ("--from", START, "--to", END)
BY_STEP = {"max_window": "PT6H"}
"""No slice is longer than a step, however little it holds."""


def test_a_harvest_of_5000_works_equals_the_truth(patra: Patra, quiet_sandbox: Sandbox) -> None:
    patra.apply_crossref(window=BY_STEP)
    plan = patra("plan", "crossref", *PERIOD)
    assert (plan["slices"], plan["tasks_created"], plan["reason"]) == (40, 40, None)
    done = patra("execute")
    truth = quiet_sandbox.truth(from_=START, to=END)
    patra.assert_truth(truth)
    assert len(patra.items()) == sum(row["usable"] for row in truth)
    records = done["records"]
    assert done["tasks"] == {"succeeded": 40, "partial": 0, "failed": 0}
    assert records["received"] == sum(records[key] for key in ("inserted", "updated", "skipped", "gone", "quarantined"))
    assert records["inserted"] == len(patra.items())
    assert len(patra.rows("ing_quarantine")) == sum(not row["usable"] for row in truth)
    (cursor,) = patra("cursor", "list")
    assert parse_instant(cursor["value"]) == parse_instant(END)
    assert patra("status")[0]["counts"]["SUCCEEDED"] == 40
    (row,) = patra.rows("ing_plan")
    assert row["status_code"] == "SUCCEEDED"


def test_the_ledger_accounts_for_every_request_and_record(patra: Patra, quiet_sandbox: Sandbox) -> None:
    patra.apply_crossref(pagination={"page_size": 100})
    patra("plan", "crossref", "--from", START, "--to", "2026-01-03")
    quiet_sandbox.clear_requests()
    done = patra("execute")
    batches = patra.rows("ing_task_run_batch")
    asked = [request for request in quiet_sandbox.requests("crossref") if request["status"] == 200]
    assert len(batches) == done["batches"] == len(asked)
    assert {batch["status_code"] for batch in batches} == {"SUCCEEDED"}
    assert sum(batch["record_count"] for batch in batches) == done["records"]["received"]
    assert {f"ing-{batch['run_id']}-{batch['batch_no']}" for batch in batches} == {
        request["correlation"] for request in asked
    }
    runs = patra.rows("ing_task_run")
    assert sum(run["stats"]["retCount"] for run in runs) == done["records"]["received"]


def test_planning_twice_with_one_trigger_key_creates_nothing_the_second_time(patra: Patra) -> None:
    patra.apply_crossref(window=BY_STEP)
    first = patra("plan", "crossref", *PERIOD, "--trigger-key", "monday")
    second = patra("plan", "crossref", *PERIOD, "--trigger-key", "monday")
    assert (first["tasks_created"], first["tasks_existing"]) == (40, 0)
    assert (second["plan_id"], second["tasks_created"], second["tasks_existing"]) == (first["plan_id"], 0, 40)
    assert [
        len(patra.rows(table)) for table in ("ing_schedule_instance", "ing_plan", "ing_plan_slice", "ing_task")
    ] == [
        1,
        1,
        40,
        40,
    ]


def test_a_new_trigger_while_tasks_are_live_creates_none_for_their_windows(patra: Patra) -> None:
    patra.apply_crossref(window=BY_STEP)
    patra("plan", "crossref", "--from", START, "--to", "2026-01-03")
    overlapping = patra("plan", "crossref", "--from", START, "--to", "2026-01-04")
    assert overlapping["tasks_created"] == 4
    windows = [(task["window_from"], task["window_to"]) for task in patra.rows("ing_task")]
    assert len(set(windows)) == len(windows) == 12
    again = patra("plan", "crossref", "--from", START, "--to", "2026-01-04")
    assert again["tasks_created"] == 0
    assert "live task" in again["reason"]


def test_executing_twice_changes_nothing(patra: Patra) -> None:
    patra("plan", "crossref", "--from", START, "--to", "2026-01-03")
    patra("execute")
    tables = ("ing_item", "ing_quarantine", "ing_task", "ing_task_run", "ing_task_run_batch", "ing_cursor_event")
    before = [patra.rows(table) for table in tables]
    again = patra("execute", "--until-idle")
    assert again["tasks"] == {"succeeded": 0, "partial": 0, "failed": 0}
    assert again["requests"] == 0
    assert [patra.rows(table) for table in tables] == before


def test_a_later_harvest_reads_only_what_changed_since(patra: Patra, quiet_sandbox: Sandbox) -> None:
    for now in ("2026-01-05T00:10:00Z", "2026-01-05T06:10:00Z"):
        quiet_sandbox.move_clock(now)
        plan = patra("plan", "crossref", "--from", START, "--now", now)
        done = patra("execute")
        moment = parse_instant(now) - timedelta(minutes=10)
        patra.assert_truth(quiet_sandbox.truth(from_=START, to=format_instant(moment)))
    assert plan["slices"] == 1
    assert done["records"]["updated"] > 0
    assert done["records"]["received"] < 300


def test_a_changed_registry_does_not_change_a_plan_that_is_made(patra: Patra, quiet_sandbox: Sandbox) -> None:
    patra("plan", "crossref", "--from", START, "--to", "2026-01-02")
    patra.apply_crossref(pagination={"page_size": 7})
    quiet_sandbox.clear_requests()
    patra("execute")
    assert {request["query"]["rows"] for request in quiet_sandbox.requests("crossref")} == {"700"}


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_a_dry_run_writes_nothing(patra: Patra) -> None:
    report = patra("plan", "crossref", *PERIOD, "--dry-run")
    assert (report["plan_id"], report["slices"], report["dry_run"]) == (None, 40, True)
    assert patra.rows("ing_schedule_instance") == patra.rows("ing_plan") == patra.rows("ing_cursor") == []


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_a_window_that_is_empty_by_computation_is_done_with_a_reason(patra: Patra) -> None:
    plan = patra("plan", "crossref", "--from", "2026-01-03", "--now", "2026-01-02T00:00:00Z")
    assert (plan["slices"], plan["status"]) == (0, "SUCCEEDED")
    assert "nothing to harvest yet" in plan["reason"]


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_below_the_anchor_is_refused_with_advice(patra: Patra) -> None:
    patra("plan", "crossref", "--from", "2026-01-03", "--to", "2026-01-04")
    answer = patra("plan", "crossref", "--from", "2026-01-01", "--to", "2026-01-04", exit_code=2)
    assert answer["error"]["code"] == "BELOW_ANCHOR"
    assert "BACKFILL" in answer["error"]["remedy"]
    assert len(patra.rows("ing_plan")) == 1
