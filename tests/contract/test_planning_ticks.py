"""Two hundred ticks, with nobody at work and with one slice that always fails: work follows new time, not history."""

from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise

import pytest

from ingest_core.model.codes import TaskStatus
from ingest_core.model.window import Window
from ingest_core.store.tables import ing_plan, ing_task
from tests.contract.conftest import MigratedDatabases
from tests.support.planning_store import Desk, assert_owned_once, holes, set_up
from tests.support.stores import at, clear, rows

TICKS = 200
MINUTES = 15
LAG = timedelta(minutes=10)
LOOKBACK = timedelta(hours=2)
RECHECK = LOOKBACK / 4
FIRST = timedelta(hours=6)
"""What the first tick finds."""


@pytest.fixture(params=["sqlite"])
def dialect(request: pytest.FixtureRequest) -> str:
    """It is the planner that is looked at: one database will do."""
    return str(request.param)


@pytest.fixture
def desk(migrated: MigratedDatabases, dialect: str) -> Desk:
    """A desk at a source that looks two hours back for late arrivals."""
    database, _ = migrated.workers(dialect)
    clear(database)
    return set_up(database, window={"lookback": "PT2H", "window_size": "PT6H"})


def hour_of(tick: int) -> float:
    """When a tick fires, in hours after midnight."""
    return 6 + tick * MINUTES / 60


def planned(desk: Desk) -> list[Window]:
    """The windows of every task there ever was, in the order in which they were planned."""
    return [Window(row["window_from"], row["window_to"]) for row in rows(desk.database, ing_task)]


def total(windows: list[Window]) -> timedelta:
    return sum((window.length for window in windows), timedelta(0))


def tick_away(desk: Desk, work: Callable[[int], None]) -> list[int]:
    """Fire two hundred triggers, a quarter of an hour apart, with work after each; the slices of each."""
    slices = []
    for tick in range(TICKS):
        slices.append(desk.plan(now=hour_of(tick)).plan.slices)
        work(tick)
    return slices


def covered_span(desk: Desk) -> timedelta:
    """From the anchor to the end of the last tick's window."""
    plans = rows(desk.database, ing_plan)
    cursor = desk.cursor(desk.namespace())
    assert cursor is not None
    last: timedelta = plans[-1]["window_to"] - cursor.anchor
    return last


def test_a_stopped_executor_finds_every_instant_queued_once(desk: Desk) -> None:
    """Two hundred ticks queue just the time that passed."""
    slices = tick_away(desk, lambda _tick: None)
    windows = sorted(planned(desk))
    assert total(windows) == covered_span(desk) == FIRST + (TICKS - 1) * timedelta(minutes=MINUTES)
    assert all(one.end == other.start for one, other in pairwise(windows))
    assert max(slices[1:]) <= 2  # a quarter of an hour has at most one full hour in it
    assert_owned_once(desk.database)


def test_an_executor_that_comes_back_reads_every_instant_once_and_then_only_looks_back(desk: Desk) -> None:
    tick_away(desk, lambda _tick: None)
    desk.work(as_of=at(hour_of(TICKS - 1)))
    before = total(planned(desk))
    desk.plan(now=hour_of(TICKS))
    assert total(planned(desk)) - before <= LOOKBACK + LAG + timedelta(minutes=MINUTES)


def test_a_slice_that_always_fails_is_the_only_one_read_again_and_again(desk: Desk) -> None:
    """It is planned once a tick; what lies above it is read as often as if it were not there."""
    poison = Window(at(8), at(8.25))

    def work(tick: int) -> None:
        for run in desk.begin_all():
            bad = run.task.window.start < poison.end and poison.start < run.task.window.end
            desk.end(run, TaskStatus.FAILED if bad else TaskStatus.SUCCEEDED, as_of=at(hour_of(tick)))

    tick_away(desk, work)
    sick = [window for window in planned(desk) if window.start < poison.end and poison.start < window.end]
    sound = [window for window in planned(desk) if window not in sick]
    assert len(sick) <= TICKS
    assert total(sick) <= TICKS * timedelta(hours=1)
    rereads = 2 + (LOOKBACK + LAG) / RECHECK
    assert total(sound) <= rereads * covered_span(desk)
    cursor = desk.cursor(desk.namespace())
    assert cursor is not None
    assert cursor.value <= poison.end
    unread = holes(desk.database, desk.namespace(), Window(cursor.anchor, at(hour_of(TICKS - 1)) - LAG))
    assert all(any(one.start <= hole.start and hole.end <= one.end for one in sick) for hole in unread)


def test_a_slice_that_always_fails_does_not_make_more_work_than_it_is(desk: Desk) -> None:
    """The same ticks without it: the difference is what it is itself."""

    def work(tick: int, poison: float | None) -> None:
        for run in desk.begin_all():
            bad = poison is not None and run.task.window.start <= at(poison) < run.task.window.end
            desk.end(run, TaskStatus.FAILED if bad else TaskStatus.SUCCEEDED, as_of=at(hour_of(tick)))

    tick_away(desk, lambda tick: work(tick, None))
    healthy = total(planned(desk))
    clear(desk.database)
    tick_away(desk, lambda tick: work(tick, 8))
    failed = [
        Window(row["window_from"], row["window_to"])
        for row in rows(desk.database, ing_task, ing_task.c.status_code == "FAILED")
    ]
    assert total(planned(desk)) - total(failed) <= healthy
    assert len(failed) > TICKS / 2
