"""What a planner knows of sizes and of late arrivals: what the provider said, what was read, what came when."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from ingest_core.model.codes import TaskStatus
from ingest_core.model.id_range import IdRange
from ingest_core.model.namespace import Namespace
from ingest_core.model.record import Arrivals
from ingest_core.model.slice_codes import EstimateMethod
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.window import Window
from ingest_core.planning.estimate import Estimate, History, WindowPart
from ingest_core.planning.ports import FRESH
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import ing_arrival, ing_cursor, ing_estimate
from tests.support.books import at
from tests.support.planning_store import BACKFILL, UPDATE, Desk, hours, set_up, task_windows
from tests.support.tables import change, column, rows

HALF = IdRange("number", None, 500)
OTHER_HALF = IdRange("number", 501, None)
DAY = timedelta(days=1)


@pytest.fixture
def desk(database: Database) -> Desk:
    """A desk with the source in the Registry."""
    return set_up(database)


@pytest.fixture
def spec(desk: Desk) -> SpecSnapshot:
    """What a harvest runs on."""
    return desk.spec()


def count(records: int) -> Estimate:
    return Estimate(records, EstimateMethod.COUNT)


def known(desk: Desk, spec: SpecSnapshot, window: Window) -> dict[WindowPart, Estimate]:
    with desk.plans.look() as transaction:
        return transaction.estimates(spec, window)


def remembered(desk: Desk, spec: SpecSnapshot) -> History | None:
    with desk.plans.look() as transaction:
        return transaction.history(spec)


def came(desk: Desk, namespace: Namespace, hour: float) -> Arrivals:
    with desk.plans.look() as transaction:
        return transaction.arrivals(namespace, at(hour), at(hour))


def test_what_the_provider_said_is_kept_by_window_and_by_range(desk: Desk, spec: SpecSnapshot) -> None:
    said: Mapping[WindowPart, Estimate] = {
        (hours(0, 1), None): count(7),
        (hours(0, 1), HALF): count(5),
        (hours(0, 1), OTHER_HALF): Estimate(2, EstimateMethod.FIRST_PAGE),
        (hours(1, 2), None): count(0),
    }
    desk.plans.save_estimates(spec, said)
    assert known(desk, spec, hours(0, 2)) == said


def test_nothing_said_is_nothing_kept(desk: Desk, spec: SpecSnapshot) -> None:
    desk.plans.save_estimates(spec, {})
    assert rows(desk.database, ing_estimate) == []


def test_the_newest_answer_counts(desk: Desk, spec: SpecSnapshot) -> None:
    for records in (7, 9, 8):
        desk.plans.save_estimates(spec, {(hours(0, 1), None): count(records), (hours(0, 1), HALF): count(records - 5)})
    assert known(desk, spec, hours(0, 1)) == {(hours(0, 1), None): count(8), (hours(0, 1), HALF): count(3)}


def test_only_windows_within_the_one_asked_about_are_told(desk: Desk, spec: SpecSnapshot) -> None:
    windows = [hours(start, end) for start in range(5) for end in range(start + 1, 6)]
    desk.plans.save_estimates(spec, {(window, None): count(1) for window in windows})
    inside = {(window, None) for window in windows if at(1) <= window.start and window.end <= at(4)}
    assert set(known(desk, spec, hours(1, 4))) == inside
    assert len(inside) == 6


def test_an_answer_is_believed_for_a_day(desk: Desk, spec: SpecSnapshot) -> None:
    desk.plans.save_estimates(spec, {(hours(0, 1), None): count(7)})
    now = desk.database.now()
    for age, found in ((FRESH - timedelta(minutes=1), 1), (FRESH + timedelta(minutes=1), 0)):
        change(desk.database, ing_estimate, created_at=now - age)
        assert len(known(desk, spec, hours(0, 1))) == found


def test_answers_about_other_queries_and_sources_are_not_told(desk: Desk, spec: SpecSnapshot) -> None:
    others = [
        spec.model_copy(update={"expression": {"op": "TERM"}}),
        spec.model_copy(update={"endpoint_name": "volumes"}),
        spec.model_copy(update={"provenance_code": "other"}),
    ]
    for other in others:
        desk.plans.save_estimates(other, {(hours(0, 1), None): count(1)})
    assert known(desk, spec, hours(0, 1)) == {}


def test_a_size_is_the_same_for_every_operation(desk: Desk, spec: SpecSnapshot) -> None:
    desk.plans.save_estimates(spec, {(hours(0, 1), None): count(7)})
    assert known(desk, desk.spec(operation=BACKFILL), hours(0, 1)) == {(hours(0, 1), None): count(7)}


def test_history_is_what_the_windows_that_were_read_held(desk: Desk, spec: SpecSnapshot) -> None:
    assert remembered(desk, spec) is None
    desk.plan(0, 3)
    for run, records in zip(desk.begin_all(), (10, 30, 5), strict=True):
        desk.end(run, records=records)
    assert remembered(desk, spec) == History(45, timedelta(hours=3))
    assert known(desk, spec, hours(0, 3)) == {}  # it was read, not said


def test_only_what_was_read_to_its_end_makes_history(desk: Desk, spec: SpecSnapshot) -> None:
    desk.plan(0, 4)
    ends = (TaskStatus.FAILED, TaskStatus.PARTIAL, TaskStatus.QUEUED, TaskStatus.SUCCEEDED)
    for run, status in zip(desk.begin_all(), ends, strict=True):
        desk.end(run, status, records=8)
    assert remembered(desk, spec) == History(8, timedelta(hours=1))


def test_a_refresh_by_id_makes_no_history(desk: Desk, spec: SpecSnapshot) -> None:
    desk.plan(operation=UPDATE, ids=("1", "2"))
    desk.work()
    assert rows(desk.database, ing_estimate) == []


def test_history_is_of_the_newest_windows(desk: Desk, spec: SpecSnapshot) -> None:
    """Of more than fifty, the fifty newest by their own time, whenever they were read."""
    newest_first = [hours(hour, hour + 1) for hour in reversed(range(60))]
    held: dict[WindowPart, Estimate] = {
        (one, None): Estimate(1 if one.start < at(10) else 100, EstimateMethod.OBSERVED) for one in newest_first
    }
    desk.plans.save_estimates(spec, held)
    assert remembered(desk, spec) == History(5000, timedelta(hours=50))


@dataclass
class Provider:
    """A Probe that knows how many records each minute has."""

    per_minute: int
    asked: list[WindowPart] = field(default_factory=list)

    def ask(self, spec: SpecSnapshot, window: Window, part: IdRange | None = None) -> Estimate | None:
        """Its count."""
        self.asked.append((window, part))
        return count(self.per_minute * (window.length // timedelta(minutes=1)))


def test_a_plan_is_cut_by_what_was_said_before_it_and_asks_each_size_once(database: Database) -> None:
    """Windows of an hour hold twice what a slice should: they are halved, and the next plan knows it."""
    provider = Provider(per_minute=20)
    desk = set_up(database, probe=provider, slicing={"target_records": 600})
    desk.plan(0, 2)
    assert task_windows(desk.database) == [(0, 0.5), (0.5, 1), (1, 1.5), (1.5, 2)]
    assert len(set(provider.asked)) == len(provider.asked) == len(rows(database, ing_estimate))
    provider.asked.clear()
    desk.plan(0, 2, operation=BACKFILL, campaign="c", key="again")
    assert provider.asked == []


def test_a_trigger_that_has_its_plan_asks_the_provider_nothing(database: Database) -> None:
    provider = Provider(per_minute=20)
    desk = set_up(database, probe=provider)
    desk.plan(0, 2, key="tick")
    change(database, ing_estimate, created_at=at(0))
    provider.asked.clear()
    desk.plan(0, 2, key="tick")
    assert provider.asked == []


def test_arrivals_of_a_day_add_up_and_the_clock_furthest_behind_counts(desk: Desk) -> None:
    desk.plan(0, 4)
    namespace = desk.namespace()
    for run, found in zip(
        desk.begin_all(), (Arrivals(10, 1, 5), Arrivals(20, 2, 90), Arrivals(), Arrivals(3, 0, 7)), strict=True
    ):
        desk.end(run, arrivals=found)
    assert came(desk, namespace, 0) == Arrivals(33, 3, 90)
    assert len(rows(desk.database, ing_arrival)) == 1


def test_arrivals_are_those_of_days_after_the_moment_asked_about(desk: Desk) -> None:
    namespace = desk.namespace()
    desk.plan(0, 3)
    for day, run in enumerate(desk.begin_all()):
        desk.end(run, arrivals=Arrivals(10**day, day, 0))
        change(desk.database, ing_arrival, ing_arrival.c.received_count == 10**day, arrived_on=at(24 * day))
    assert came(desk, namespace, -1) == Arrivals(111, 3, 0)
    assert came(desk, namespace, 0) == Arrivals(110, 3, 0)
    assert came(desk, namespace, 24.5) == Arrivals(100, 2, 0)
    assert came(desk, namespace, 48) == Arrivals()


def test_arrivals_of_other_queries_and_of_backfills_are_not_counted(desk: Desk) -> None:
    """A backfill reads old records: that they come late says nothing of the lag."""
    desk.plan(-2, 0, operation=BACKFILL, campaign="early")
    desk.plan(0, 1)
    for run in desk.begin_all():
        desk.end(run, arrivals=Arrivals(5, 5, 5))
    assert came(desk, desk.namespace(), 0) == Arrivals(5, 5, 5)
    assert came(desk, desk.namespace("early", operation=BACKFILL), 0) == Arrivals()
    change(desk.database, ing_arrival, namespace_key="0" * 64)
    assert came(desk, desk.namespace(), 0) == Arrivals()


def test_a_lag_that_was_learned_is_kept_with_its_date(desk: Desk) -> None:
    desk.plan(0, 1)
    namespace, now = desk.namespace(), at(9)
    desk.plans.transact(lambda transaction: transaction.note_lag(namespace, 1234, now))
    cursor = desk.cursor(namespace)
    assert cursor is not None
    assert (cursor.lag_seconds, cursor.lag_changed_at) == (1234, now)
    assert (cursor.value, cursor.anchor) == (at(0), at(0))


def test_a_lag_is_learned_by_one_namespace_alone(desk: Desk) -> None:
    desk.plan(-1, 0, operation=BACKFILL, campaign="early")
    desk.plan(0, 1)
    desk.plans.transact(lambda transaction: transaction.note_lag(desk.namespace(), 1234, at(9)))
    assert column(desk.database, ing_cursor, "lag_seconds") == [None, 1234]


def test_many_late_arrivals_make_the_next_plan_wait_longer_and_it_is_written_down(desk: Desk) -> None:
    """One record in ten came late: five minutes more, once a day."""
    start = desk.database.now().replace(minute=0, second=0, microsecond=0) - DAY
    hour = (start - at(0)) / timedelta(hours=1)
    desk.plan(hour, hour + 1)
    desk.end(desk.begin(), arrivals=Arrivals(100, 10, 0))
    change(desk.database, ing_arrival, arrived_on=desk.database.now() - timedelta(hours=1))
    first, second = desk.plan(), desk.plan()
    (cursor,) = rows(desk.database, ing_cursor)
    assert cursor["lag_seconds"] == 900
    for report in (first, second):
        steps = {step["step"]: step["value"] for step in report.plan.remarks["audit"]}
        assert steps["lag"] == "PT15M"
