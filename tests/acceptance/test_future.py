"""A plan for the future is refused; a cursor that an older version left there is found and put right."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from ingest_core.model.instant import format_instant, parse_instant
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import ing_cursor, ing_task
from tests.support.patra import Patra

pytestmark = pytest.mark.sqlite_first

START = "2026-01-08"
FUTURE = datetime(2030, 1, 1, tzinfo=UTC)


def change(patra: Patra, table: sa.Table, *where: sa.ColumnElement[bool], **values: Any) -> None:
    """Write past the product."""
    database = Database(patra.environment["PATRA_DATABASE_URL"])
    try:
        with database.write() as connection:
            connection.execute(sa.update(table).where(*where).values(**values))
    finally:
        database.close()


def stands_at(patra: Patra) -> datetime:
    """The watermark."""
    return parse_instant(patra("cursor", "list")[0]["value"])


def as_an_older_version_did(patra: Patra) -> None:
    """A plan whose `--now` was in the future: its last task and the event of it end in 2030."""
    patra("plan", "crossref", "--from", START)
    last = max(patra.rows("ing_task"), key=lambda row: row["window_to"])
    change(patra, ing_task, ing_task.c.id == last["id"], window_to=FUTURE)
    patra("execute")


@pytest.fixture
def registered(patra: Patra) -> Patra:
    """Crossref in slices of a month."""
    patra.apply_crossref(window={"step": "P30D", "max_window": "P30D"}, slicing={"probe_budget": 0})
    return patra


def test_a_now_ahead_of_the_clock_is_refused_and_nothing_is_written(registered: Patra) -> None:
    ahead = format_instant(datetime.now(UTC) + timedelta(minutes=5))
    error = registered("plan", "crossref", "--from", START, "--now", ahead, exit_code=2)["error"]
    assert error["code"] == "NOW_AHEAD"
    assert ahead in error["message"]
    assert "dry run" in error["remedy"]
    assert [registered.rows(name) for name in ("ing_schedule_instance", "ing_plan", "ing_cursor")] == [[], [], []]


def test_a_dry_run_and_an_explanation_may_look_into_the_future(registered: Patra) -> None:
    asked = ("crossref", "--from", START, "--now", "2030-01-01")
    assert registered("plan", *asked, "--dry-run")["window"]["to"].startswith("2029-12-31")
    assert registered("explain", "window", *asked)["window"]["to"].startswith("2029-12-31")


def test_a_first_plan_that_begins_in_the_future_begins_no_cursor(registered: Patra) -> None:
    plan = registered("plan", "crossref", "--from", "2030-01-01")
    assert (plan["slices"], plan["status"]) == (0, "SUCCEEDED")
    assert registered.rows("ing_cursor") == []


def test_a_slice_that_ends_in_the_future_covers_up_to_when_it_was_asked_for(registered: Patra) -> None:
    began = datetime.now(UTC)
    as_an_older_version_did(registered)
    events = registered.rows("ing_cursor_event", where="event_type = 'COVERAGE'")
    last = max(events, key=lambda row: row["window_to"])
    assert began - timedelta(seconds=60) < last["as_of"] == stands_at(registered)
    assert registered("cursor", "rebuild", "crossref")[0]["verdict"] == "EQUAL"
    (shown,) = registered("cursor", "show", "crossref")
    assert shown["moved_by"]["task_id"] == last["task_id"]
    assert shown["holes"] == []


def test_a_cursor_in_the_future_is_found_planned_around_and_put_right(registered: Patra) -> None:
    as_an_older_version_did(registered)
    true = stands_at(registered)
    change(registered, ing_cursor, normalized_instant=FUTURE, cursor_value=format_instant(FUTURE))

    plan = registered("plan", "crossref", "--dry-run")
    assert "stands in the future" in plan["warnings"][0]
    assert parse_instant(plan["window"]["from"]) <= true

    (ahead,) = registered("cursor", "rebuild", "crossref", "--apply", exit_code=1)
    assert (ahead["verdict"], ahead["stored"], ahead["rebuilt"]) == (
        "AHEAD",
        format_instant(FUTURE),
        format_instant(true),
    )
    assert (ahead["why"], ahead["missing"]) == ("it stands in the future", [])
    assert stands_at(registered) == FUTURE, "not without consent"
    assert registered("cursor", "rebuild", "--set-back", exit_code=2)["error"]["code"] == "REASON_MISSING"

    (done,) = registered("cursor", "rebuild", "--set-back", "--reason", "planned with --now 2030")
    assert (done["verdict"], done["applied"], done["rebuilt"]) == ("EQUAL", True, format_instant(true))
    assert stands_at(registered) == true
    *_, told = registered("cursor", "timeline", "crossref")
    assert (told["event_type"], told["prev"], told["new"]) == ("SET_BACK", format_instant(FUTURE), format_instant(true))
    assert told["remarks"]["reason"] == "planned with --now 2030"
    assert told["remarks"]["by"]
    assert told["remarks"]["at"]
    assert registered("plan", "crossref", "--dry-run")["warnings"] == []

    before = registered.rows("ing_cursor_event")
    registered("cursor", "rebuild", "--set-back", "--reason", "again")
    registered("execute")
    assert (registered.rows("ing_cursor_event"), stands_at(registered)) == (before, true)


def test_compacting_does_not_make_the_future_look_read(registered: Patra) -> None:
    as_an_older_version_did(registered)
    true = stands_at(registered)
    change(registered, ing_cursor, settled_instant=FUTURE)
    registered("cursor", "compact", "crossref", "--older-than", "PT0S")
    kept = registered.rows("ing_cursor_event", where="event_type IN ('COVERAGE', 'COMPACT')")
    assert max(row["window_to"] for row in kept if row["event_type"] == "COMPACT") <= true
    assert max(row["window_to"] for row in kept) == FUTURE, "the reading that was cut short stays as it is"
    assert registered("cursor", "rebuild", "crossref")[0]["rebuilt"] == format_instant(true)
