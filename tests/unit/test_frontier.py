"""The frontier: how far coverage reaches without a hole; the laws are in tests/property."""

import pytest

from ingest_core.cursor.frontier import fold_frontier, whole_as_of, whole_coverage
from ingest_core.model.cursor import Coverage
from ingest_core.model.id_range import IdRange, missing_ranges
from tests.support.frontiers import fold_frontier_down
from tests.support.specs import at, read_at, span


@pytest.mark.parametrize(
    ("coverage", "frontier"),
    [
        ([], "06:00"),
        ([("06:00", "07:00")], "07:00"),
        ([("06:00", "07:00"), ("07:00", "08:00")], "08:00"),
        ([("07:00", "08:00"), ("06:00", "07:00")], "08:00"),
        ([("07:00", "08:00")], "06:00"),
        ([("06:00", "07:00"), ("07:00:00.000001", "08:00")], "07:00"),
        ([("06:00", "07:00"), ("08:00", "09:00"), ("09:00", "10:00")], "07:00"),
        ([("04:00", "09:00"), ("05:00", "07:00")], "09:00"),
        ([("01:00", "05:00"), ("02:00", "03:00")], "06:00"),
        ([("05:00", "06:00"), ("06:00", "06:30")], "06:30"),
        ([("06:00", "07:00"), ("06:00", "07:00")], "07:00"),
        ([("06:00", "06:30"), ("06:00", "08:00")], "08:00"),
    ],
    ids=[
        "no event",
        "the next slice",
        "two in a row",
        "any order",
        "a hole at once",
        "a hole of a microsecond",
        "a hole later",
        "one inside another",
        "all below",
        "touching from below",
        "twice the same",
        "the longer of two",
    ],
)
def test_the_watermark_reaches(coverage: list[tuple[str, str]], frontier: str) -> None:
    assert fold_frontier(at("06:00"), [span(*ends) for ends in coverage]) == at(frontier)


def test_closing_the_hole_lets_it_jump_over_all_that_waited() -> None:
    waiting = [span("07:00", "08:00"), span("08:00", "09:00")]

    assert fold_frontier(at("06:00"), waiting) == at("06:00")
    assert fold_frontier(at("06:00"), [*waiting, span("06:00", "07:00")]) == at("09:00")


@pytest.mark.parametrize(
    ("coverage", "frontier"),
    [
        ([], "06:00"),
        ([("05:00", "06:00")], "05:00"),
        ([("05:00", "06:00"), ("04:00", "05:00")], "04:00"),
        ([("04:00", "05:00"), ("05:00", "06:00")], "04:00"),
        ([("04:00", "05:00")], "06:00"),
        ([("05:00", "06:00"), ("04:00", "04:59:59.999999")], "05:00"),
        ([("05:00", "06:00"), ("03:00", "04:00"), ("02:00", "03:00")], "05:00"),
        ([("03:00", "08:00"), ("05:00", "07:00")], "03:00"),
        ([("07:00", "11:00"), ("08:00", "09:00")], "06:00"),
        ([("06:00", "07:00"), ("05:30", "06:00")], "05:30"),
        ([("05:00", "06:00"), ("05:00", "06:00")], "05:00"),
        ([("05:30", "06:00"), ("04:00", "06:00")], "04:00"),
        ([("01:00", "09:00"), ("05:00", "06:00")], "01:00"),
    ],
    ids=[
        "no event",
        "the next slice",
        "two in a row",
        "any order",
        "a hole at once",
        "a hole of a microsecond",
        "a hole later",
        "one inside another",
        "all above",
        "touching from above",
        "twice the same",
        "the longer of two",
        "from far below to far above",
    ],
)
def test_newest_first_the_watermark_reaches_down(coverage: list[tuple[str, str]], frontier: str) -> None:
    assert fold_frontier_down(at("06:00"), [span(*ends) for ends in coverage]) == at(frontier)


def part(
    start: int | None, end: int | None, as_of: str = "09:00", hours: tuple[str, str] = ("06:00", "07:00")
) -> Coverage:
    """A range of a window that was read at a time."""
    return Coverage(span(*hours), at(as_of), IdRange("uid", start, end))


class TestWindowsReadRangeByRange:
    """A window that was split is covered when all its ranges are (D8)."""

    @pytest.mark.parametrize(
        ("events", "windows"),
        [
            ([], []),
            ([read_at("06:00", "07:00", "09:00")], [("06:00", "07:00")]),
            ([part(None, 9), part(10, None)], [("06:00", "07:00")]),
            ([part(10, None), part(None, 9)], [("06:00", "07:00")]),
            ([part(None, None)], [("06:00", "07:00")]),
            ([part(None, 9)], []),
            ([part(10, None)], []),
            ([part(None, 9), part(11, None)], []),
            ([part(None, 9), part(10, None, hours=("07:00", "08:00"))], []),
            ([part(None, 9), read_at("06:00", "07:00", "09:00")], [("06:00", "07:00")]),
            ([part(None, 9), part(5, 20), part(15, None)], [("06:00", "07:00")]),
        ],
        ids=[
            "nothing",
            "read at once",
            "both halves",
            "in any order",
            "the whole range",
            "the upper half is missing",
            "the lower half is missing",
            "one number is missing",
            "halves of two windows",
            "half of it, and all of it",
            "ranges that overlap",
        ],
    )
    def test_a_window_counts_when_no_number_is_missing(
        self, events: list[Coverage], windows: list[tuple[str, str]]
    ) -> None:
        assert [one.window for one in whole_coverage(events)] == [span(*ends) for ends in windows]
        assert all(one.range is None for one in whole_coverage(events))

    def test_it_was_read_when_its_last_range_was(self) -> None:
        (whole,) = whole_coverage([part(None, 9, as_of="09:00"), part(10, None, as_of="08:00")])

        assert whole.as_of == at("08:00")

    def test_of_a_range_that_was_read_twice_the_newer_reading_counts(self) -> None:
        events = [part(None, 9, as_of="07:30"), part(10, None, as_of="08:00"), part(None, 9, as_of="09:00")]

        assert whole_as_of(events) == at("08:00")
        assert whole_as_of(events[:2]) == at("07:30")

    def test_a_window_with_a_range_missing_was_never_read_whole(self) -> None:
        assert whole_as_of([part(None, 9), part(20, None)]) is None
        assert whole_as_of([]) is None


@pytest.mark.parametrize(
    ("taken", "missing"),
    [
        ([], [(None, None)]),
        ([(None, None)], []),
        ([(None, 9)], [(10, None)]),
        ([(10, None)], [(None, 9)]),
        ([(5, 9)], [(None, 4), (10, None)]),
        ([(None, 9), (10, None)], []),
        ([(10, None), (None, 9)], []),
        ([(None, 9), (11, None)], [(10, 10)]),
        ([(None, 20), (5, 9)], [(21, None)]),
        ([(None, 5), (None, 9)], [(10, None)]),
        ([(3, 4), (1, 2), (8, None)], [(None, 0), (5, 7)]),
        ([(0, 9)], [(None, -1), (10, None)]),
    ],
    ids=str,
)
def test_the_missing_ranges_are_what_is_in_none_of_those_taken(
    taken: list[tuple[int | None, int | None]], missing: list[tuple[int | None, int | None]]
) -> None:
    assert missing_ranges("uid", [IdRange("uid", *ends) for ends in taken]) == [
        IdRange("uid", *ends) for ends in missing
    ]


def test_ranges_of_another_field_take_nothing() -> None:
    assert missing_ranges("uid", [IdRange("pmid")]) == [IdRange("uid")]
