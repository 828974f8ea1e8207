"""What an operator sees of the rate limiters, and does to them, on every database."""

from datetime import timedelta

import pytest

from ingest_core.gate.chain import Gate
from ingest_core.gate.feedback import Feedback
from ingest_core.gate.ports import Asker, QuotaShown
from ingest_core.model.errors import BadInput
from ingest_core.model.spec import RateSpec
from ingest_core.store.gate.rate_control import MOST_REASON_CHARS, SqlRateControl
from ingest_core.store.gate.rows import MOST_CHANGES
from ingest_core.store.schema.tables import ing_task
from tests.support.books import PARTITION, at, source_rows
from tests.support.tables import change, rows
from tests.support.wiring import Stores
from tests.support.working import plan_harvest

KEY = "books:-"
RATE = RateSpec(requests_per_second=5, burst=1)
GATE = Gate(KEY, RATE)
WEEK = timedelta(days=7)
ASKER = Asker("1", None, PARTITION)
REFUSED = Feedback(429, WEEK, refused=True)


@pytest.fixture
def rates(registered: Stores) -> SqlRateControl:
    """The rate limiters of a database with one source."""
    return SqlRateControl(registered.database)


def test_a_cool_down_is_shown_and_cleared(registered: Stores, others: Stores, rates: SqlRateControl) -> None:
    assert rates.entries() == []
    registered.gate.acquire(GATE, ASKER, WEEK)
    registered.gate.feedback(GATE, ASKER, REFUSED)
    (entry,) = rates.entries()
    assert entry == rates.entry(KEY)
    assert (entry.key, entry.rate_now, entry.rate_configured) == (KEY, 2.5, 5)
    assert entry.open_at is not None
    assert entry.open_at - registered.database.now() > WEEK - timedelta(minutes=1)
    assert entry.quota == QuotaShown()
    assert (entry.circuit, entry.closed_reason, entry.partitions) == (
        "CLOSED",
        "RETRY_AFTER",
        [str(PARTITION)],
    )
    assert [one["change"] for one in entry.last_changes] == ["decrease", "closed"]

    cleared = rates.clear(KEY, " it is over ", "ann@host")
    assert cleared.open_at is None
    assert others.gate.acquire(GATE, ASKER, timedelta(seconds=1)).wait == timedelta(0)
    assert not others.gate.closed(GATE)
    assert cleared.rate_now == 5
    change = cleared.last_changes[-1]
    assert (change["by"], change["change"], change["reason"]) == ("ann@host", "clear", "it is over")
    assert change["open_at_before"] > change["at"]


def test_an_operators_rate_holds_until_it_is_cleared(registered: Stores, rates: SqlRateControl) -> None:
    registered.gate.acquire(GATE, ASKER, WEEK)
    entry = rates.set_rate(KEY, 0.5, "they asked us to", "ann")
    assert (entry.rate_now, entry.rate_set, entry.rate_configured) == (0.5, 0.5, 5)
    registered.database.clock_shift = timedelta(hours=1)
    registered.gate.feedback(GATE, ASKER, Feedback(200))
    registered.gate.acquire(GATE, ASKER, WEEK)
    assert rates.entry(KEY).rate_now == 0.5
    entry = rates.clear(KEY, "they allow it again", "ann")
    assert (entry.rate_now, entry.rate_set) == (5, None)
    assert [one["change"] for one in entry.last_changes] == ["decrease", "set", "increase", "clear"]


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
    registered.gate.feedback(GATE, ASKER, REFUSED)
    assert rates.clear(KEY, "it is over", "ann").last_changes[-1]["tasks_due"] == 2
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
    registered.gate.acquire(GATE, ASKER, WEEK)
    for number in range(MOST_CHANGES + 3):
        rates.clear(KEY, f"reason {number}", "ann")
    reasons = [one["reason"] for one in rates.entry(KEY).last_changes]
    assert reasons == [f"reason {number}" for number in range(3, MOST_CHANGES + 3)]


def test_a_wish_about_nothing_is_refused(registered: Stores, rates: SqlRateControl) -> None:
    with pytest.raises(BadInput, match="no rate limiter") as none:
        rates.clear(KEY, "why", "ann")
    assert "none was used yet" in none.value.remedy
    registered.gate.acquire(GATE, ASKER, WEEK)
    for ask in (rates.entry, lambda key: rates.clear(key, "why", "ann")):
        with pytest.raises(BadInput) as unknown:
            ask("books")
        assert (unknown.value.code, unknown.value.remedy) == ("GATE_UNKNOWN", f"known: {KEY}")
    for reason in ("", "  ", "x" * (MOST_REASON_CHARS + 1)):
        with pytest.raises(BadInput) as missing:
            rates.clear(KEY, reason, "ann")
        assert missing.value.code == "REASON_MISSING"


def test_a_plans_own_rate_is_shown(registered: Stores, rates: SqlRateControl) -> None:
    registered.gate.acquire(Gate("books:asked:f00", RateSpec(requests_per_second=0.1, burst=1)), ASKER, WEEK)
    (entry,) = rates.entries()
    assert (entry.rate_now, entry.rate_configured) == (0.1, 0.1)
    assert entry.open_at is not None
