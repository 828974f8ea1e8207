"""The frontier: how far coverage reaches without a hole; the laws are in tests/property."""

import pytest

from ingest_core.cursor.frontier import fold_frontier
from tests.support.specs import at, span


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
