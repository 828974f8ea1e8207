"""Promise 1, no gap: laws of the frontier, against a model that walks minute by minute."""

from hypothesis import given
from hypothesis import strategies as st

from ingest_core.cursor.frontier import fold_frontier, whole_as_of, whole_coverage
from ingest_core.model.cursor import Coverage
from ingest_core.model.id_range import IdRange, missing_ranges
from ingest_core.model.window import Window
from tests.support.frontiers import fold_frontier_down
from tests.support.strategies import HORIZON, id_ranges, minute, minute_window, minutes_of, numbers_of, window_lists

STARTS = st.integers(0, HORIZON)


def walked(start: int, coverage: list[Window]) -> int:
    """The first minute from the start on that no event covers."""
    covered = minutes_of(*coverage)
    while start in covered:
        start += 1
    return start


@given(STARTS, window_lists())
def test_it_is_the_first_instant_nobody_covered(start: int, coverage: list[Window]) -> None:
    assert fold_frontier(minute(start), coverage) == minute(walked(start, coverage))


@given(STARTS, window_lists())
def test_it_never_passes_an_uncovered_instant_and_never_goes_back(start: int, coverage: list[Window]) -> None:
    frontier = fold_frontier(minute(start), coverage)

    passed = {number for number in range(start, HORIZON) if minute(number) < frontier}
    assert passed <= minutes_of(*coverage)
    assert frontier >= minute(start)


@given(STARTS, window_lists().flatmap(lambda all_: st.tuples(st.just(all_), st.permutations(all_))))
def test_it_does_not_depend_on_the_order_of_events(start: int, both: tuple[list[Window], list[Window]]) -> None:
    one, other = both

    assert fold_frontier(minute(start), one) == fold_frontier(minute(start), other)


@given(STARTS, window_lists())
def test_folding_again_changes_nothing(start: int, coverage: list[Window]) -> None:
    frontier = fold_frontier(minute(start), coverage)

    assert fold_frontier(frontier, coverage) == frontier
    assert fold_frontier(minute(start), [*coverage, *coverage]) == frontier


@given(STARTS, window_lists())
def test_advancing_after_every_event_ends_where_advancing_once_does(start: int, coverage: list[Window]) -> None:
    value = minute(start)
    for count in range(len(coverage) + 1):
        value = fold_frontier(value, coverage[:count])

    assert value == fold_frontier(minute(start), coverage)


@given(STARTS, window_lists())
def test_events_that_end_at_or_below_the_value_need_not_be_read(start: int, coverage: list[Window]) -> None:
    value = minute(start)
    above = [window for window in coverage if window.end > value]

    assert fold_frontier(value, above) == fold_frontier(value, coverage)


@given(STARTS, window_lists(), window_lists())
def test_more_coverage_never_means_less_progress(start: int, some: list[Window], more: list[Window]) -> None:
    assert fold_frontier(minute(start), [*some, *more]) >= fold_frontier(minute(start), some)


def walked_down(start: int, coverage: list[Window]) -> int:
    """The last minute before the start below which no event covers on."""
    covered = minutes_of(*coverage)
    while start - 1 in covered:
        start -= 1
    return start


class TestNewestFirst:
    """The same laws with the clock running backwards."""

    @given(STARTS, window_lists())
    def test_below_it_is_the_first_instant_nobody_covered(self, start: int, coverage: list[Window]) -> None:
        assert fold_frontier_down(minute(start), coverage) == minute(walked_down(start, coverage))

    @given(STARTS, window_lists())
    def test_it_never_passes_an_uncovered_instant_and_never_goes_up(self, start: int, coverage: list[Window]) -> None:
        frontier = fold_frontier_down(minute(start), coverage)

        passed = {number for number in range(start) if minute(number) >= frontier}
        assert passed <= minutes_of(*coverage)
        assert frontier <= minute(start)

    @given(STARTS, window_lists().flatmap(lambda all_: st.tuples(st.just(all_), st.permutations(all_))))
    def test_it_does_not_depend_on_the_order_of_events(
        self, start: int, both: tuple[list[Window], list[Window]]
    ) -> None:
        one, other = both

        assert fold_frontier_down(minute(start), one) == fold_frontier_down(minute(start), other)

    @given(STARTS, window_lists())
    def test_advancing_after_every_event_ends_where_advancing_once_does(
        self, start: int, coverage: list[Window]
    ) -> None:
        value = minute(start)
        for count in range(len(coverage) + 1):
            value = fold_frontier_down(value, coverage[:count])

        assert value == fold_frontier_down(minute(start), coverage)
        assert fold_frontier_down(value, coverage) == value

    @given(STARTS, window_lists())
    def test_events_that_begin_at_or_above_the_value_need_not_be_read(self, start: int, coverage: list[Window]) -> None:
        value = minute(start)
        below = [window for window in coverage if window.start < value]

        assert fold_frontier_down(value, below) == fold_frontier_down(value, coverage)

    @given(STARTS, window_lists(), window_lists())
    def test_more_coverage_never_means_less_progress(self, start: int, some: list[Window], more: list[Window]) -> None:
        assert fold_frontier_down(minute(start), [*some, *more]) <= fold_frontier_down(minute(start), some)


HOUR = minute_window(0, 60)


def readings_of(parts: list[tuple[IdRange, int]]) -> list[Coverage]:
    """Ranges of one window, each read at a minute."""
    return [Coverage(HOUR, minute(HORIZON + as_of), part) for part, as_of in parts]


READ_PARTS = st.lists(st.tuples(id_ranges(), st.integers(0, 9)), max_size=6)


class TestRanges:
    """Against a model that asks for each number whether somebody has read it."""

    @given(st.lists(id_ranges(), max_size=6))
    def test_the_missing_ranges_and_those_taken_make_up_all_numbers(self, taken: list[IdRange]) -> None:
        missing = missing_ranges("uid", taken)

        assert numbers_of(*missing) == numbers_of(IdRange("uid")) - numbers_of(*taken)
        assert sum(len(numbers_of(one)) for one in missing) == len(numbers_of(*missing))
        assert missing_ranges("uid", [*taken, *missing]) == []

    @given(st.lists(id_ranges(), max_size=6).flatmap(lambda all_: st.tuples(st.just(all_), st.permutations(all_))))
    def test_they_do_not_depend_on_the_order(self, both: tuple[list[IdRange], list[IdRange]]) -> None:
        one, other = both

        assert missing_ranges("uid", one) == missing_ranges("uid", other)

    @given(READ_PARTS)
    def test_a_window_is_read_as_of_the_latest_time_since_which_every_number_was(
        self, parts: list[tuple[IdRange, int]]
    ) -> None:
        since = [
            as_of
            for _, as_of in parts
            if numbers_of(*(one for one, at in parts if at >= as_of)) == numbers_of(IdRange("uid"))
        ]

        assert whole_as_of(readings_of(parts)) == (minute(HORIZON + max(since)) if since else None)

    @given(READ_PARTS, window_lists())
    def test_windows_read_at_once_and_those_read_in_parts_both_move_the_frontier(
        self, parts: list[tuple[IdRange, int]], whole: list[Window]
    ) -> None:
        events = [*readings_of(parts), *(Coverage(window, minute(HORIZON)) for window in whole)]
        read = [one.window for one in whole_coverage(events)]
        complete = whole_as_of(readings_of(parts)) is not None

        assert sorted(read) == sorted([*whole, *([HOUR] if complete else [])])
