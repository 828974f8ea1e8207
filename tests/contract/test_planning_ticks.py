"""Two hundred ticks, with nobody at work and with one slice that always fails: work follows new time, not history."""

from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise

import pytest

from ingest_core.model.codes import TaskStatus
from ingest_core.model.window import Window
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import ing_plan, ing_task
from tests.support.books import at
from tests.support.planning_store import Desk, assert_owned_once, holes, set_up
from tests.support.tables import rows

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)

TICKS = 200
MINUTES = 10
LAG = timedelta(minutes=10)
LOOKBACK = timedelta(hours=1)
RECHECK = timedelta(minutes=30)
FIRST = timedelta(hours=6)
"""What the first tick finds."""


@pytest.fixture
def desk(database: Database) -> Desk:
    """A desk at a source that looks an hour back for late arrivals."""
    return set_up(database, window={"lookback": "PT1H", "recheck": "PT30M", "window_size": "PT6H"})


def hour_of(tick: int) -> float:
    """When a tick fires, in hours after midnight."""
    return 6 + tick * MINUTES / 60


def planned(desk: Desk) -> list[Window]:
    """The windows of every task there ever was, in the order in which they were planned."""
    return [Window(row["window_from"], row["window_to"]) for row in rows(desk.database, ing_task)]


def total(windows: list[Window]) -> timedelta:
    return sum((window.length for window in windows), timedelta(0))


def tick_away(desk: Desk, work: Callable[[int], None]) -> list[int]:
    """Fire two hundred triggers, ten minutes apart, with work after each; the slices of each."""
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
    assert max(slices[1:]) <= 2  # ten minutes reach into two hours at most
    assert_owned_once(desk.database)


def test_a_slice_that_always_fails_is_the_only_one_read_again_and_again(desk: Desk) -> None:
    """It is planned once a tick; what lies above it is read as often as if it were not there."""
    poison, namespace = Window(at(8), at(8.25)), desk.namespace()

    def sick(window: Window) -> bool:
        return window.start < poison.end and poison.start < window.end

    def work(tick: int) -> None:
        for run in desk.begin_all():
            status = TaskStatus.FAILED if sick(run.task.window) else TaskStatus.SUCCEEDED
            desk.finish(run, status, as_of=at(hour_of(tick)))
        desk.cursors.advance(namespace)

    slices = tick_away(desk, work)
    failed = [window for window in planned(desk) if sick(window)]
    assert TICKS / 2 < len(failed) <= TICKS
    assert total(failed) <= TICKS * timedelta(hours=1)
    times_read = 2 + (LOOKBACK + LAG) / RECHECK
    assert total([window for window in planned(desk) if not sick(window)]) <= times_read * covered_span(desk)
    assert max(slices[TICKS // 2 :]) <= max(slices[: TICKS // 2])
    cursor = desk.cursor(desk.namespace())
    assert cursor is not None
    assert cursor.value <= poison.end
    (hole,) = holes(desk.database, desk.namespace(), Window(cursor.anchor, at(hour_of(TICKS - 1)) - LAG))
    assert hole in failed


def test_what_is_read_again_begins_and_ends_with_a_unit_of_the_provider(desk: Desk) -> None:
    """It filters by whole minutes: a window of its own at each tick is no window it was ever asked about before."""
    desk = set_up(desk.database, window={"lookback": "PT2H", "window_size": "PT6H"})
    for tick in range(4):
        desk.plan(now=hour_of(tick))
        desk.work(as_of=at(hour_of(tick)))
    ends = {end for window in planned(desk) for end in (window.start, window.end)}
    assert [end for end in sorted(ends) if (end - at(0)) % timedelta(minutes=1)] == []
