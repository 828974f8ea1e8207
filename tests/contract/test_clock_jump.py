"""The database's clock jumps ahead and is set back: nothing that was written meanwhile does lasting harm."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from ingest_core.cursor.rebuild import CursorVerdict
from ingest_core.execution.ports import RunOutcome
from ingest_core.gate.chain import Gate
from ingest_core.gate.feedback import Feedback
from ingest_core.gate.ports import Asker
from ingest_core.model.codes import EventType, TaskStatus
from ingest_core.model.errors import BadInput
from ingest_core.model.instant import format_instant
from ingest_core.model.record import Arrivals
from ingest_core.model.slice_codes import EstimateMethod
from ingest_core.model.spec import RateSpec
from ingest_core.model.window import Window
from ingest_core.outbox.ports import Failure
from ingest_core.planning.estimate import Estimate
from ingest_core.planning.report import PlanReport
from ingest_core.store.cursors import future as cursor_future
from ingest_core.store.engine.database import Database
from ingest_core.store.outbox.messages import SqlOutbox
from ingest_core.store.schema.tables import (
    ing_cursor,
    ing_cursor_event,
    ing_item,
    ing_partition_control,
    ing_rate_gate,
    ing_task,
)
from tests.support.books import SOURCE, at, compiled
from tests.support.breaking import crash_at_every_step, together, while_uncommitted
from tests.support.outbox import names, put
from tests.support.pages import page, record
from tests.support.planning_store import BACKFILL, HOUR, Desk, fired, request, set_up
from tests.support.tables import change, column, contents, rows
from tests.support.wiring import Stores, wire
from tests.support.working import TTL_SECONDS, begin, claim, finish, plan_harvest, read_page

YEARS = timedelta(days=4 * 365)
HOURS = timedelta(hours=6)
JUMPS = pytest.mark.parametrize("jump", [HOURS, YEARS], ids=["hours", "years"])


@pytest.fixture
def desk(database: Database) -> Desk:
    """A source without lookback, in few slices, at a database whose clock says noon."""
    database.clock_shift = at(12) - database.now()
    span = {"step": "P365D", "max_window": "P365D"}
    return set_up(
        database, window={"lookback": "PT0S", "lag": "PT10M", **span}, slicing={"target_records": 1_000_000_000}
    )


def harvest(desk: Desk) -> list[tuple[datetime, datetime]]:
    """Plan and work all there is; the windows that were read."""
    before = len(rows(desk.database, ing_task))
    desk.plan(None if before else 0)
    desk.work()
    return sorted((row["window_from"], row["window_to"]) for row in rows(desk.database, ing_task)[before:])


def value(desk: Desk) -> datetime:
    """The watermark as it is stored."""
    (row,) = rows(desk.database, ing_cursor)
    stands: datetime = row["normalized_instant"]
    return stands


def close_to(moment: datetime, expected: datetime) -> bool:
    """But for the moments the test itself takes."""
    return abs(moment - expected) < timedelta(minutes=2)


class TestHarvests:
    @JUMPS
    @pytest.mark.parametrize("repaired", [True, False], ids=["by an executor", "by the planner alone"])
    def test_what_was_read_under_a_wrong_clock_is_read_again(
        self, desk: Desk, jump: timedelta, *, repaired: bool
    ) -> None:
        harvest(desk)
        assert close_to(value(desk), at(12) - timedelta(minutes=10))
        desk.database.clock_shift += jump
        harvest(desk)
        assert value(desk) > at(12)
        desk.database.clock_shift -= jump - HOUR
        assert not repaired or desk.cursors.repair() == 0
        read = harvest(desk)
        assert read[0][0] <= at(12)
        assert close_to(read[-1][1], at(13) - timedelta(minutes=10))

    def test_also_if_nobody_plans_until_the_clock_gets_there(self, desk: Desk) -> None:
        """Only an executor was started in between: it voids what is dated ahead of the clock."""
        harvest(desk)
        desk.database.clock_shift += HOURS
        harvest(desk)
        ahead = value(desk)
        desk.database.clock_shift -= HOURS
        desk.cursors.repair()
        assert column(desk.database, ing_cursor, "settled_instant") == [None]
        desk.database.clock_shift += HOURS + HOUR
        read = harvest(desk)
        assert read[0][0] <= at(12), "what lies below the watermark is read too"
        assert read[-1][1] > ahead

    def test_voiding_is_written_down_and_done_once(self, desk: Desk) -> None:
        harvest(desk)
        desk.database.clock_shift += HOURS
        harvest(desk)
        desk.database.clock_shift -= HOURS
        desk.cursors.repair()
        void = rows(desk.database, ing_cursor_event, ing_cursor_event.c.event_type == "VOID")
        assert void
        assert {one["record_remarks"]["was"] for one in void} == {"COVERAGE"}
        before = contents(desk.database)
        desk.cursors.repair()
        assert contents(desk.database) == before

    @pytest.mark.parametrize(
        ("fall", "most"), [(HOUR / 2, 0), (YEARS, 1000)], ids=["too many events", "before the anchor"]
    )
    def test_a_clock_that_falls_back_voids_little(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch, fall: timedelta, most: int
    ) -> None:
        monkeypatch.setattr(cursor_future, "MOST_VOIDED", most)
        harvest(desk)
        desk.database.clock_shift += HOUR
        harvest(desk)
        before = contents(desk.database)
        desk.database.clock_shift -= fall
        desk.cursors.repair()
        assert contents(desk.database) == before

    def test_a_slice_begun_under_a_wrong_clock_and_finished_after_it_covers_nothing(self, desk: Desk) -> None:
        desk.planner.plan(request(0), fired())
        run = desk.begin()
        desk.end(run, as_of=desk.database.now() + YEARS)
        assert rows(desk.database, ing_cursor_event)[-1]["event_type"] == EventType.VOID
        assert value(desk) == at(0)
        desk.work()
        assert (run.task.window.start, run.task.window.end) in harvest(desk)

    def test_a_now_ahead_of_the_clock_is_refused_by_every_step_that_writes(self, desk: Desk) -> None:
        ahead = desk.database.now() + timedelta(minutes=1)
        compiled_ = desk.planner.compile(request(0))
        steps: list[Callable[[], PlanReport]] = [
            lambda: desk.planner.plan(request(0), fired(), ahead),
            lambda: desk.planner.derive(request(0), fired(), 1, compiled_, ahead),
        ]
        for plan in steps:
            with pytest.raises(BadInput) as refused:
                plan()
            assert refused.value.code == "NOW_AHEAD"
            assert format_instant(ahead) in str(refused.value)
        assert rows(desk.database, ing_cursor) == []
        assert desk.planner.dry_run(request(0), ahead).plan.slices > 0
        desk.planner.plan(request(0), fired(), desk.database.now() + timedelta(seconds=3))


class TestSetBack:
    def ahead(self, desk: Desk, jump: timedelta = YEARS) -> datetime:
        """A harvest whose value a wrong clock took ahead; where it stood before."""
        harvest(desk)
        stood = value(desk)
        desk.database.clock_shift += jump
        harvest(desk)
        desk.database.clock_shift -= jump
        return stood

    def test_a_cursor_in_the_future_goes_back_to_what_its_events_say(self, desk: Desk) -> None:
        stood, stores = self.ahead(desk), wire(desk.database)
        (namespace,) = stores.cursor_reports.find()
        found = stores.cursor_reports.rebuild(namespace)
        assert (found.verdict, found.rebuilt, found.why) == (
            CursorVerdict.AHEAD,
            format_instant(stood),
            "it stands in the future",
        )
        assert found.stored is not None
        assert stores.cursors.set_back(namespace, found.stored, reason="the clock", by="ann")
        assert stores.cursor_reports.rebuild(namespace).agrees
        assert (value(desk), column(desk.database, ing_cursor, "settled_instant")) == (stood, [None])
        event = rows(desk.database, ing_cursor_event)[-1]
        assert (event["event_type"], event["new_instant"]) == ("SET_BACK", stood)
        assert event["record_remarks"] == {
            "from": found.stored, "reason": "the clock", "by": "ann", "at": format_instant(event["created_at"]),
        }  # fmt: skip
        before = contents(desk.database)
        assert not stores.cursors.set_back(namespace, format_instant(stood), reason="again", by="ann")
        assert not stores.cursors.set_back(namespace, found.stored, reason="again", by="ann")
        assert stores.cursors.advance(namespace) == stood
        assert contents(desk.database) == before

    def test_a_crash_at_any_step_leaves_it_where_it_was_or_puts_it_right(self, desk: Desk) -> None:
        stood, stores = self.ahead(desk), wire(desk.database)
        (namespace,) = stores.cursor_reports.find()
        seen = stores.cursor_reports.rebuild(namespace).stored
        assert seen is not None
        before = contents(desk.database)

        def unchanged() -> None:
            assert contents(desk.database) == before

        crash_at_every_step(
            desk.database, lambda: stores.cursors.set_back(namespace, seen, reason="r", by="ann"), unchanged
        )
        assert value(desk) == stood

    def test_an_advance_under_way_does_not_undo_it(self, desk: Desk, other: Database) -> None:
        """It has read the value before, and finds events that join it."""
        stood = self.ahead(desk, HOURS)
        stores, others = wire(desk.database), wire(other)
        other.clock_shift = desk.database.clock_shift + HOURS + HOUR
        (namespace,) = stores.cursor_reports.find()
        ahead = value(desk)
        change(
            desk.database,
            ing_cursor_event,
            ing_cursor_event.c.window_to == ahead,
            window_to=ahead + HOUR,
        )
        seen = format_instant(ahead)
        while_uncommitted(
            desk.database,
            lambda: stores.cursors.set_back(namespace, seen, reason="r", by="ann"),
            lambda: others.cursors.advance(namespace),
        )
        assert value(desk) == stood

    def test_one_that_has_moved_since_it_was_seen_is_left_alone(self, desk: Desk) -> None:
        self.ahead(desk)
        stores = wire(desk.database)
        (namespace,) = stores.cursor_reports.find()
        before = contents(desk.database)
        assert not stores.cursors.set_back(namespace, format_instant(at(99)), reason="r", by="ann")
        assert contents(desk.database) == before

    def test_of_two_operators_one_does_it(self, desk: Desk, other: Database) -> None:
        stood, stores = self.ahead(desk), wire(desk.database)
        other.clock_shift = desk.database.clock_shift
        (namespace,) = stores.cursor_reports.find()
        seen = stores.cursor_reports.rebuild(namespace).stored
        assert seen is not None
        done = together(
            *(
                lambda one=one: one.cursors.set_back(namespace, seen, reason="r", by="ann")
                for one in (stores, wire(other))
            )
        )
        assert sorted(done) == [False, True]
        assert value(desk) == stood
        assert column(desk.database, ing_cursor_event, "event_type").count("SET_BACK") == 1

    def test_a_harvest_that_began_in_the_future_begins_now(self, desk: Desk) -> None:
        desk.database.clock_shift += YEARS
        desk.plan()
        desk.work()
        desk.database.clock_shift -= YEARS
        stores = wire(desk.database)
        (namespace,) = stores.cursor_reports.find()
        assert "stands in the future" in desk.plan().plan.remarks["warnings"][0]
        seen = format_instant(value(desk))
        assert stores.cursors.set_back(namespace, seen, reason="r", by="ann")
        assert close_to(value(desk), at(12))
        assert stores.cursor_reports.rebuild(namespace).agrees
        desk.database.clock_shift += 2 * HOUR
        assert stores.cursors.advance(namespace) == value(desk)
        assert close_to(value(desk), at(12)), "it begins where it was put, however late it is"
        assert desk.plan().plan.slices > 0

    def test_a_campaign_from_the_newest_down_that_began_in_the_future_goes_on(self, desk: Desk) -> None:
        how: dict[str, Any] = {"operation": BACKFILL, "campaign": "all", "newest_first": True}
        desk.plan(0, **how)
        last = max(rows(desk.database, ing_task), key=lambda row: row["window_to"])
        future = at(24 * 365)
        change(desk.database, ing_task, ing_task.c.id == last["id"], window_to=future)
        change(desk.database, ing_cursor, normalized_instant=future, anchor_instant=future)
        change(desk.database, ing_cursor_event, new_instant=future, new_value=format_instant(future), window_to=future)
        desk.work()
        assert value(desk) == at(0)
        assert wire(desk.database).cursor_reports.rebuild(desk.namespace(**how)).agrees


class TestTheQueue:
    @JUMPS
    def test_a_lease_of_a_dead_worker_ends_after_its_time(self, registered: Stores, jump: timedelta) -> None:
        plan_harvest(registered, at(0), at(1))
        registered.database.clock_shift = jump
        claim(registered)
        registered.database.clock_shift = timedelta(0)
        assert registered.queue.give_back_expired() == 0
        assert registered.queue.repair_clock() == 1
        assert registered.queue.repair_clock() == 0
        assert registered.queue.give_back_expired() == 0, "it is meant to last for a while"
        registered.database.clock_shift = timedelta(seconds=TTL_SECONDS + 1)
        assert registered.queue.give_back_expired() == 1

    def test_a_live_worker_keeps_its_lease(self, registered: Stores) -> None:
        plan_harvest(registered, at(0), at(1))
        registered.database.clock_shift = YEARS
        run = begin(registered)
        registered.database.clock_shift = timedelta(0)
        registered.queue.repair_clock()
        registered.queue.renew(run.task.lease)
        read_page(registered, run, page(record("a")))
        finish(registered, run)
        assert column(registered.database, ing_task, "status_code") == ["SUCCEEDED"]

    def test_a_task_that_was_put_off_waits_no_longer_than_it_was_meant_to(self, registered: Stores) -> None:
        plan_harvest(registered, at(0), at(1))
        registered.database.clock_shift = YEARS
        wait = timedelta(minutes=10)
        registered.ledger.finish(begin(registered), RunOutcome(TaskStatus.QUEUED, {}, None, retry_in=wait))
        registered.database.clock_shift = timedelta(0)
        assert registered.queue.repair_clock() == 1
        assert registered.queue.claim("ann", TTL_SECONDS) is None
        registered.database.clock_shift = wait + timedelta(minutes=1)
        assert claim(registered)

    def test_a_task_that_is_due_later_by_plan_is_left_alone(self, registered: Stores) -> None:
        plan_harvest(registered, at(0), at(1))
        later = registered.database.now() + timedelta(days=900)
        change(registered.database, ing_task, scheduled_at=later)
        assert registered.queue.repair_clock() == 0
        assert column(registered.database, ing_task, "scheduled_at") == [later]

    def test_a_partition_served_under_a_wrong_clock_is_served_again(self, registered: Stores) -> None:
        """Of partitions of one priority the one that has waited longest comes first."""
        other = compiled("tapes")
        plan_harvest(registered, at(0), at(4))
        plan_harvest(registered, at(0), at(4), spec=other)
        mine = ing_partition_control.c.provenance_code == SOURCE
        change(registered.database, ing_partition_control, mine, claimed_at=registered.database.now() + YEARS)
        served = [claim(registered).partition.provenance_code for _ in range(4)]
        assert served.count(SOURCE) == 2


class TestTheGate:
    GATE = Gate("key", RateSpec(requests_per_second=1, burst=1))

    def test_permits_and_closings_given_under_a_wrong_clock_are_not_waited_for(self, stores: Stores) -> None:
        stores.database.clock_shift = YEARS
        stores.gate.acquire(self.GATE, Asker(), timedelta(hours=1))
        stores.gate.feedback(self.GATE, Asker(), Feedback(429, timedelta(minutes=2), refused=True))
        assert stores.gate.closed(self.GATE)
        stores.database.clock_shift = timedelta(0)
        assert stores.gate.closed(self.GATE), "what the provider asked for holds, from now on"
        permit = stores.gate.acquire(self.GATE, Asker(), timedelta(hours=1))
        assert timedelta(minutes=1) < permit.wait <= timedelta(minutes=2)
        (row,) = rows(stores.database, ing_rate_gate)
        assert row["closed_until"] < stores.database.now() + timedelta(minutes=3)
        stores.database.clock_shift = timedelta(minutes=3)
        assert not stores.gate.closed(self.GATE)


class TestTheOutbox:
    def test_messages_written_put_off_or_leased_under_a_wrong_clock_are_sent(self, database: Database) -> None:
        outbox = SqlOutbox(database)
        put(database, "a1", "b1", "c1")
        database.clock_shift = YEARS
        put(database, "a2", "d1")
        (first, second, third, *_) = outbox.claim("ann", TTL_SECONDS, 10)
        outbox.mark_sent("ann", [first])
        outbox.mark_failed("ann", [Failure(second, timedelta(minutes=1), dead=False, error="no")])
        assert (first.sequence, second.sequence, third.sequence) == (1, 2, 3)
        database.clock_shift = timedelta(0)
        assert sorted(names(outbox.claim("bob", TTL_SECONDS, 10))) == ["c1"], "its lease is of no use any more"
        assert sorted(names(outbox.claim("bob", TTL_SECONDS, 10))) == ["a2", "b1", "d1"]

    def test_one_that_waits_for_a_while_goes_on_waiting(self, database: Database) -> None:
        outbox = SqlOutbox(database)
        put(database, "a1", next_attempt_at=database.now() + timedelta(hours=23))
        assert outbox.claim("bob", TTL_SECONDS, 10) == []


class TestWhatIsLearned:
    def test_sizes_of_the_future_are_not_fresh(self, desk: Desk) -> None:
        spec, window = desk.spec(), Window(at(0), at(1))
        desk.database.clock_shift += YEARS
        desk.plans.save_estimates(spec, {(window, None): Estimate(9, EstimateMethod.COUNT)})
        with desk.plans.look() as seen:
            assert seen.estimates(spec, window)
        desk.database.clock_shift -= YEARS
        with desk.plans.look() as seen:
            assert not seen.estimates(spec, window)

    def test_arrivals_and_a_lag_of_the_future_teach_nothing(self, desk: Desk) -> None:
        desk.plan(0)
        run = desk.begin()
        desk.database.clock_shift += YEARS
        desk.finish(run, arrivals=Arrivals(1000, 900, 60))
        desk.database.clock_shift -= YEARS
        namespace, week = desk.namespace(), desk.database.now() - timedelta(days=7)
        with desk.plans.look() as seen:
            assert seen.arrivals(namespace, week, week) == Arrivals()
        change(desk.database, ing_cursor, lag_changed_at=desk.database.now() + YEARS)
        cursor = desk.cursor(namespace)
        assert cursor is not None
        assert cursor.lag_changed_at is not None
        assert cursor.lag_changed_at <= desk.database.now()

    def test_a_record_checked_in_the_future_can_be_overwritten(self, registered: Stores) -> None:
        changing = compiled(source={"code": SOURCE, "name": "Books", "on_equal": "CHANGED"})
        plan_harvest(registered, at(0), at(2), spec=changing)
        registered.database.clock_shift = YEARS
        run = begin(registered)
        read_page(registered, run, page(record("a", payload='{"v": 1}')))
        registered.database.clock_shift = timedelta(0)
        read_page(registered, run, page(record("a", payload='{"v": 2}')), 2)
        (item,) = rows(registered.database, ing_item)
        assert item["payload"] == '{"v": 2}'
        assert item["refresh_checked_at"] <= registered.database.now()
        registered.database.clock_shift = YEARS
        read_page(registered, run, page(record("a", payload='{"v": 2}')), 3)
        registered.database.clock_shift = timedelta(0)
        read_page(registered, run, page(record("a", payload='{"v": 2}')), 4)
        (item,) = rows(registered.database, ing_item)
        assert item["refresh_checked_at"] <= registered.database.now(), "also where nothing has changed"

    def test_nothing_is_compacted_on_the_day_after_a_leap(self, desk: Desk) -> None:
        harvest(desk)
        change(desk.database, ing_cursor, settled_instant=value(desk))
        (namespace,) = wire(desk.database).cursor_reports.find()
        compaction, quarter = wire(desk.database).cursor_compaction, timedelta(days=90)
        desk.database.clock_shift += YEARS
        harvest(desk)
        assert compaction.compact(namespace, quarter) == 0
        desk.database.clock_shift += timedelta(days=2)
        assert compaction.compact(namespace, quarter) > 0, "a clock that has gone on for days is believed"
