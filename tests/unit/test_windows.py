"""Half-open windows and the arithmetic on sets of them; the laws are in tests/property."""

from datetime import timedelta

import pytest

from ingest_core.model.instant import Grid
from ingest_core.model.window import Window, merge_windows, subtract_windows, widen_to, window_or_none
from tests.support.specs import at, span

WHOLE = span("00:00", "12:00")


@pytest.mark.parametrize(("start", "end"), [("01:00", "01:00"), ("02:00", "01:00")])
def test_a_window_is_never_empty(start: str, end: str) -> None:
    with pytest.raises(ValueError, match="empty window: 2026-03-10T0"):
        Window(at(start), at(end))

    assert window_or_none(at(start), at(end)) is None


def test_a_window_has_a_length_and_one_spelling() -> None:
    window = window_or_none(at("01:00"), at("02:30"))

    assert window is not None
    assert window.length == timedelta(minutes=90)
    assert window.json() == {"from": "2026-03-10T01:00:00.000000Z", "to": "2026-03-10T02:30:00.000000Z"}


@pytest.mark.parametrize(
    ("windows", "merged"),
    [
        ([], []),
        ([("01:00", "02:00")], [("01:00", "02:00")]),
        ([("01:00", "02:00"), ("02:00", "03:00")], [("01:00", "03:00")]),
        ([("04:00", "05:00"), ("01:00", "02:00")], [("01:00", "02:00"), ("04:00", "05:00")]),
        ([("01:00", "09:00"), ("02:00", "03:00"), ("08:00", "10:00")], [("01:00", "10:00")]),
    ],
    ids=["none", "one", "touching", "apart, any order", "nested and overlapping"],
)
def test_merged_windows_are_ordered_and_do_not_touch(
    windows: list[tuple[str, str]], merged: list[tuple[str, str]]
) -> None:
    assert merge_windows(span(*ends) for ends in windows) == [span(*ends) for ends in merged]


@pytest.mark.parametrize(
    ("taken", "left"),
    [
        ([], [("00:00", "12:00")]),
        ([("00:00", "12:00")], []),
        ([("2026-03-09", "2026-03-11")], []),
        ([("2026-03-09", "00:00"), ("12:00", "2026-03-11")], [("00:00", "12:00")]),
        ([("03:00", "04:00")], [("00:00", "03:00"), ("04:00", "12:00")]),
        ([("2026-03-09", "04:00"), ("10:00", "2026-03-11")], [("04:00", "10:00")]),
        ([("06:00", "08:00"), ("03:00", "07:00")], [("00:00", "03:00"), ("08:00", "12:00")]),
    ],
    ids=["nothing", "all", "more than all", "only around", "the middle", "both ends", "overlapping, any order"],
)
def test_what_is_left_is_in_none_of_the_taken(taken: list[tuple[str, str]], left: list[tuple[str, str]]) -> None:
    assert subtract_windows(WHOLE, [span(*ends) for ends in taken]) == [span(*ends) for ends in left]


@pytest.mark.parametrize(
    ("window", "wide"),
    [
        (("01:10", "02:10"), ("01:00", "03:00")),
        (("01:00", "02:00"), ("01:00", "02:00")),
        (("00:10", "11:50"), ("00:05", "11:55")),
    ],
    ids=["outward to the step", "already on it", "not past the limit"],
)
def test_widening_goes_outward_to_the_step_but_not_past_the_limit(
    window: tuple[str, str], wide: tuple[str, str]
) -> None:
    assert widen_to(span(*window), Grid(timedelta(hours=1)), span("00:05", "11:55")) == span(*wide)


def test_widening_goes_to_the_beginnings_of_the_providers_own_units() -> None:
    days, march = Grid(timedelta(days=1), "Europe/Berlin"), span("2026-03-01", "2026-04-01")

    # the clock is put forward on the 29th: it begins at 23:00 UTC, and ends at 22:00
    assert widen_to(span("2026-03-29T10:00Z", "2026-03-29T11:00Z"), days, march) == span(
        "2026-03-28T23:00Z", "2026-03-29T22:00Z"
    )
