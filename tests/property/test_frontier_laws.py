"""Promise 1, no gap: laws of the frontier, against a model that walks minute by minute."""

from hypothesis import given
from hypothesis import strategies as st

from ingest_core.cursor.frontier import fold_frontier
from ingest_core.model.window import Window
from tests.support.strategies import HORIZON, minute, minutes_of, window_lists

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
