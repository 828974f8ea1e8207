"""What an operator sees of the rate limiters, and does to them, on every database."""

from datetime import timedelta

import pytest

from ingest_core.gate.feedback import Feedback
from ingest_core.model.errors import BadInput
from ingest_core.model.spec import RateSpec
from ingest_core.store.gate.rate_control import MOST_CHANGES, MOST_REASON_CHARS, SqlRateControl
from ingest_core.store.schema.tables import ing_task
from tests.support.books import at, source_rows
from tests.support.tables import change, rows
from tests.support.wiring import Stores
from tests.support.working import plan_harvest

KEY = "books:-"
RATE = RateSpec(requests_per_second=5, burst=1)
WEEK = timedelta(days=7)


@pytest.fixture
def rates(registered: Stores) -> SqlRateControl:
    """The rate limiters of a database with one source."""
    return SqlRateControl(registered.database)


def test_a_cool_down_is_shown_and_cleared(registered: Stores, others: Stores, rates: SqlRateControl) -> None:
    assert rates.entries() == []
    registered.gate.acquire(KEY, RATE, WEEK)
    registered.gate.feedback(KEY, Feedback(429, WEEK))
    (entry,) = rates.entries()
    assert entry == rates.entry(KEY)
    assert (entry.key, entry.rate_now, entry.rate_configured) == (KEY, 5, 5)
    assert entry.open_at is not None
    assert entry.open_at - registered.database.now() > WEEK - timedelta(minutes=1)
    assert entry.json()["quota"] == {"limit": None, "used": None, "reserved": None, "resets_at": None}
    assert (entry.json()["circuit"], entry.last_changes) == (None, [])

    cleared = rates.clear(KEY, " it is over ", "ann@host")
    assert cleared.open_at is None
    assert others.gate.acquire(KEY, RATE, timedelta(seconds=1)).wait == timedelta(0)
    assert not others.gate.closed(KEY)
    (change,) = cleared.last_changes
    assert (change["by"], change["change"], change["reason"]) == ("ann@host", "clear", "it is over")
    assert change["open_at_before"] > change["at"]


def test_turns_ahead_are_dropped(registered: Stores, rates: SqlRateControl) -> None:
    slow = RateSpec(requests_per_second=0.001, burst=1)
    registered.registry.apply([source_rows(rate_limit={"requests_per_second": 0.001})])
    registered.gate.acquire(KEY, slow, WEEK)
    assert registered.gate.acquire(KEY, slow, timedelta(seconds=90)).wait > timedelta(minutes=10)
    rates.clear(KEY, "once more", "ann")
    assert registered.gate.acquire(KEY, slow, timedelta(0)).wait == timedelta(0)


def test_tasks_that_wait_for_the_provider_are_due_and_no_others(registered: Stores, rates: SqlRateControl) -> None:
    plan_harvest(registered, at(0), at(4))
    later = registered.database.now() + WEEK
    waiting, refused, broken, planned = [row["id"] for row in rows(registered.database, ing_task)]
    errors = {
        waiting: {"code": "RATE_WAIT"},
        refused: {"code": "HTTP_429"},
        broken: {"code": "HTTP_500"},
        planned: None,
    }
    for task_id, error in errors.items():
        change(registered.database, ing_task, ing_task.c.id == task_id, scheduled_at=later, last_error=error)
    registered.gate.feedback(KEY, Feedback(429, WEEK))
    assert rates.clear(KEY, "it is over", "ann").last_changes[0]["tasks_due"] == 2
    now = registered.database.now()
    due = {row["id"] for row in rows(registered.database, ing_task) if row["scheduled_at"] <= now}
    assert due == {waiting, refused}


def test_a_changed_rate_makes_tasks_due_that_waited_for_the_old_one(registered: Stores) -> None:
    plan_harvest(registered, at(0), at(2))
    later = registered.database.now() + WEEK
    waiting, refused = [row["id"] for row in rows(registered.database, ing_task)]
    for task_id, code in ((waiting, "RATE_WAIT"), (refused, "HTTP_429")):
        mine = ing_task.c.id == task_id
        change(registered.database, ing_task, mine, scheduled_at=later, last_error={"code": code})
    registered.registry.apply([source_rows()])  # nothing changes
    assert {row["scheduled_at"] for row in rows(registered.database, ing_task)} == {later}
    registered.registry.apply([source_rows(rate_limit={"requests_per_second": 7})])
    now = registered.database.now()
    assert [row["scheduled_at"] <= now for row in rows(registered.database, ing_task)] == [True, False]


def test_the_last_changes_are_kept(registered: Stores, rates: SqlRateControl) -> None:
    registered.gate.acquire(KEY, RATE, WEEK)
    for number in range(MOST_CHANGES + 3):
        rates.clear(KEY, f"reason {number}", "ann")
    reasons = [one["reason"] for one in rates.entry(KEY).last_changes]
    assert reasons == [f"reason {number}" for number in range(3, MOST_CHANGES + 3)]


def test_a_wish_about_nothing_is_refused(registered: Stores, rates: SqlRateControl) -> None:
    with pytest.raises(BadInput, match="no rate limiter") as none:
        rates.clear(KEY, "why", "ann")
    assert "none was used yet" in none.value.remedy
    registered.gate.acquire(KEY, RATE, WEEK)
    for ask in (rates.entry, lambda key: rates.clear(key, "why", "ann")):
        with pytest.raises(BadInput) as unknown:
            ask("books")
        assert (unknown.value.code, unknown.value.remedy) == ("GATE_UNKNOWN", f"known: {KEY}")
    for reason in ("", "  ", "x" * (MOST_REASON_CHARS + 1)):
        with pytest.raises(BadInput) as missing:
            rates.clear(KEY, reason, "ann")
        assert missing.value.code == "REASON_MISSING"


def test_a_plans_own_rate_is_shown(registered: Stores, rates: SqlRateControl) -> None:
    registered.gate.acquire("books:asked:f00", RateSpec(requests_per_second=0.1, burst=1), WEEK)
    (entry,) = rates.entries()
    assert (entry.rate_now, entry.rate_configured) == (0.1, None)
    assert entry.open_at is not None
