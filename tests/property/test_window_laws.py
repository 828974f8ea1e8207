"""Laws of sets of windows, against a model that counts minutes."""

from datetime import timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ingest_core.model.instant import Grid
from ingest_core.model.window import Window, merge_windows, subtract_windows, widen_to
from tests.support.strategies import HORIZON, minute_window, minute_windows, minutes_of, window_lists


def apart_and_in_order(windows: list[Window]) -> bool:
    """Whether no two windows touch, and each is above the one before."""
    return all(below.end < above.start for below, above in pairwise(windows))


@given(window_lists())
def test_merging_keeps_the_instants_and_leaves_windows_apart(windows: list[Window]) -> None:
    merged = merge_windows(windows)

    assert minutes_of(*merged) == minutes_of(*windows)
    assert apart_and_in_order(merged)
    assert merge_windows(merged) == merged


@given(window_lists().flatmap(lambda windows: st.tuples(st.just(windows), st.permutations(windows))))
def test_merging_does_not_depend_on_order(both: tuple[list[Window], list[Window]]) -> None:
    one, other = both

    assert merge_windows(one) == merge_windows(other)


@given(minute_windows(), window_lists())
def test_subtracting_leaves_exactly_what_is_in_none_of_the_taken(whole: Window, taken: list[Window]) -> None:
    left = subtract_windows(whole, taken)

    assert minutes_of(*left) == minutes_of(whole) - minutes_of(*taken)
    assert apart_and_in_order(left)


@given(minute_windows(), window_lists())
def test_what_is_left_and_what_was_taken_make_up_the_whole(whole: Window, taken: list[Window]) -> None:
    left = subtract_windows(whole, taken)
    gone = subtract_windows(whole, left)

    assert merge_windows([*left, *gone]) == [whole]
    assert subtract_windows(whole, gone) == left


@given(minute_windows(10, 50), st.integers(1, 20))
def test_widening_covers_the_window_and_stays_within_the_limit(window: Window, minutes: int) -> None:
    limit = minute_window(5, HORIZON - 5)
    step = timedelta(minutes=minutes)
    wide = widen_to(window, Grid(step), limit)

    assert minutes_of(window) <= minutes_of(wide) <= minutes_of(limit)
    assert window.start - wide.start < step
    assert wide.end - window.end < step
