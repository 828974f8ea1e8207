"""Laws of frontiers over ids, of frontiers that follow events one by one, and of compaction."""

from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from random import Random

from hypothesis import example, given
from hypothesis import strategies as st

from ingest_core.cursor.frontier import (
    IdStretch,
    fold_falling,
    fold_frontier,
    fold_rising,
    whole_coverage,
    whole_in_order,
)
from ingest_core.cursor.rebuild import CursorVerdict, compare_with_events
from ingest_core.cursor.timeline import find_holes, replay
from ingest_core.model.codes import TimeUnit
from ingest_core.model.cursor import Coverage
from ingest_core.model.id_range import IdRange
from ingest_core.model.window import Window
from ingest_core.planning.needs import LONG_SETTLED, Need, needs_by_range, needs_reading, settled_until, survey
from tests.support.frontiers import closed_ids, fold_frontier_down
from tests.support.specs import crossref_spec
from tests.support.strategies import HORIZON, ORIGIN, minute, minute_window, minute_windows, minutes_of, window_lists

LAST = 10**38 - 1
STARTS = st.integers(0, HORIZON)


@st.composite
def id_stretches(draw: st.DrawFn) -> IdStretch:
    """A closed range of small ids, or of the largest there are."""
    base = draw(st.sampled_from([0, LAST - HORIZON]))
    first = draw(st.integers(0, HORIZON))
    return closed_ids(base + first, base + draw(st.integers(first, HORIZON)))


ID_LISTS = st.lists(id_stretches(), max_size=8)


def numbers(stretches: list[IdStretch]) -> set[int]:
    """Every id that was read."""
    return {number for one in stretches for number in range(one.start + 1, one.end + 1)}


@given(st.integers(-1, HORIZON), ID_LISTS)
def test_an_id_frontier_is_the_last_id_before_the_first_that_nobody_read(start: int, read: list[IdStretch]) -> None:
    expected, known = start, numbers(read)
    while expected + 1 in known:
        expected += 1
    assert fold_frontier(start, read) == expected


@given(st.integers(-1, HORIZON), ID_LISTS, st.randoms())
def test_an_id_frontier_knows_no_order_and_no_repetition(start: int, one: list[IdStretch], chance: Random) -> None:
    other = chance.sample(one, len(one))
    frontier = fold_frontier(start, one)
    assert fold_frontier(start, [*other, *one]) == frontier
    assert fold_frontier(frontier, one) == frontier >= start


PARTS = st.sampled_from([None, None, IdRange("uid", None, 9), IdRange("uid", 10, None)])
MOMENTS = st.integers(0, 2 * HORIZON).map(minute)
EVENTS = st.lists(st.builds(Coverage, minute_windows(), MOMENTS, PARTS), max_size=8)


CUT_SHORT = [
    Coverage(minute_window(0, 10), minute(5)),
    Coverage(minute_window(3, 9), minute(20)),
]
"""Of the window that ends last only the beginning counts."""


@given(STARTS, EVENTS, st.booleans())
@example(9, CUT_SHORT, True)
def test_reading_in_order_and_no_further_than_the_first_hole_comes_to_the_same(
    start: int, events: list[Coverage], falling: bool
) -> None:
    value = minute(start)
    read = [one.window for one in whole_coverage(events)]
    if falling:
        across = [one for one in events if one.window.start < value < one.window.end]
        below = sorted((one for one in events if one.window.end <= value), key=lambda one: one.window.end, reverse=True)
        ordered = whole_in_order([*sorted(across, key=lambda one: one.window.end), *below], descending=True)
        assert fold_falling(value, ordered) == fold_frontier_down(value, read)
    else:
        across = [one for one in events if one.window.start < value < one.window.end]
        above = sorted((one for one in events if one.window.start >= value), key=lambda one: one.window.start)
        ordered = whole_in_order([*sorted(across, key=lambda one: one.window.start), *above], descending=False)
        assert fold_rising(value, ordered) == fold_frontier(value, read)


@given(EVENTS)
def test_exactly_the_instants_before_the_reading_count_as_read(events: list[Coverage]) -> None:
    """Against a model that asks for each minute and each half of the ids whether a reading of it came later."""
    windows = {event.window for event in events}
    halves = (IdRange("uid", None, 9), IdRange("uid", 10, None))
    expected = {
        number
        for window in windows
        for number in minutes_of(window)
        if all(any(_read(event, window, number, half) for event in events) for half in halves)
    }
    assert minutes_of(*(one.window for one in whole_coverage(events))) == expected


def _read(event: Coverage, window: Window, number: int, half: IdRange) -> bool:
    return event.window == window and event.range in (None, half) and minute(number) < event.as_of


@given(STARTS, EVENTS, MOMENTS)
def test_a_frontier_never_passes_the_last_reading(start: int, events: list[Coverage], later: datetime) -> None:
    value = minute(start)
    frontier = fold_frontier(value, [one.window for one in whole_coverage(events)])
    assert frontier <= max([value, *(one.as_of for one in events)])
    again = [replace(one, as_of=max(one.as_of, later)) for one in events]
    assert fold_frontier(value, [one.window for one in whole_coverage(again)]) >= frontier, "later readings cover more"


@given(STARTS, EVENTS, st.booleans())
def test_a_timeline_says_after_each_event_what_all_events_up_to_it_say(
    start: int, events: list[Coverage], falling: bool
) -> None:
    fold = fold_frontier_down if falling else fold_frontier
    value = minute(start)
    for number, (event, before, after) in enumerate(replay(value, [(e, e) for e in events], descending=falling)):
        told = [fold(value, [one.window for one in whole_coverage(events[:count])]) for count in (number, number + 1)]
        assert (event, [before, after]) == (events[number], told)


@given(STARTS, STARTS, window_lists(), st.booleans())
def test_holes_and_coverage_make_the_whole(start: int, until: int, read: list[Window], falling: bool) -> None:
    value, other = minute(start), minute(until)
    order = sorted(read, key=lambda one: one.end, reverse=True) if falling else sorted(read)
    holes = [Window(*ends) for ends in find_holes(value, other, order, descending=falling)]
    between = range(until, start) if falling else range(start, until)
    assert minutes_of(*holes) == set(between) - minutes_of(*read)


@given(STARTS, STARTS, st.booleans())
def test_a_value_is_ahead_of_its_events_or_behind_or_there(stored: int, told: int, falling: bool) -> None:
    verdict = compare_with_events(stored, told, descending=falling)
    assert compare_with_events(-stored, -told, descending=not falling) == verdict
    assert (verdict == CursorVerdict.EQUAL) == (stored == told)
    assert (verdict == CursorVerdict.BEHIND) == ((stored > told) if falling else (stored < told))


CONFIG = crossref_spec().time.model_copy(
    update={"lag_seconds": 120, "lookback_seconds": 300, "recheck_seconds": 60, "unit": TimeUnit.MINUTE}
)
READINGS = st.lists(st.builds(Coverage, minute_windows(), MOMENTS, PARTS), max_size=5)


@st.composite
def harvests(draw: st.DrawFn) -> list[Coverage]:
    """Slice after slice from the origin, read once or twice each, most of them late, and some readings besides."""
    ends = sorted(draw(st.sets(st.integers(1, HORIZON), min_size=2, max_size=8)))
    tiles = [Window(minute(start), minute(end)) for start, end in pairwise([0, *ends])]
    times = st.lists(MOMENTS | st.just(minute(2 * HORIZON)), min_size=1, max_size=2)
    return [Coverage(tile, as_of) for tile in tiles for as_of in draw(times)] + draw(READINGS)


@given(harvests(), st.sets(st.integers(0, 20)), MOMENTS)
def test_compaction_changes_neither_frontier_nor_needs(events: list[Coverage], young: set[int], now: datetime) -> None:
    bound = min(settled_until(ORIGIN, whole_coverage(events), CONFIG), _frontier(events))
    gone = [one for number, one in enumerate(events) if number not in young and one.window.end <= bound]
    if gone:
        compact = Coverage(Window(ORIGIN, max(one.window.end for one in gone)), LONG_SETTLED)
        kept = [compact, *(one for number, one in enumerate(events) if number in young or one.window.end > bound)]
        assert _frontier(kept) == _frontier(events)
        assert _needs(kept, now) == _needs(events, now)


def _frontier(events: list[Coverage]) -> datetime:
    return fold_frontier(ORIGIN, [one.window for one in whole_coverage(events)])


def _needs(events: list[Coverage], now: datetime) -> list[Need]:
    ground = survey(sorted(events, key=lambda one: one.window.end), [], CONFIG)
    windows = needs_reading(Window(ORIGIN, minute(HORIZON)), ground, CONFIG, now)
    return needs_by_range(windows, ground, CONFIG, now)
