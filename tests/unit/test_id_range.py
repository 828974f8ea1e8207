"""Ranges of a second field, and the part for records that lack it: as stored, as shown, as missing."""

import pytest

from ingest_core.model.id_range import IdRange, Without, missing_ranges, range_of, unset_part
from ingest_core.model.slice_spec import RangePayload

APART, UNSET = IdRange("uid", None, 9).apart()
assert UNSET is not None


@pytest.mark.parametrize(
    "part", [IdRange("uid"), IdRange("uid", 3, 9), IdRange("uid", None, 9), APART, UNSET, IdRange("uid").apart()[0]]
)
def test_a_part_is_read_back_as_it_was_stored(part: IdRange) -> None:
    assert range_of(part.json()) == part
    assert RangePayload.model_validate(part.json()).model_dump(mode="json", by_alias=True, exclude_none=True) == {
        key: value for key, value in part.json().items() if value is not None
    }


def test_a_range_that_says_nothing_of_other_records_is_stored_as_before() -> None:
    assert IdRange("uid", None, 9).json() == {
        "key": "uid",
        "from": None,
        "to": "9",
        "boundary": {"from": "CLOSED", "to": "CLOSED"},
    }
    assert APART.json()["without"] == "EXCLUDED"
    assert unset_part("uid").json()["without"] == "ONLY"


@pytest.mark.parametrize(
    ("start", "end", "without"),
    [(1, None, Without.EXCLUDED), (1, 2, Without.ONLY), (None, 2, Without.ONLY), (3, 2, None)],
)
def test_what_makes_no_sense_is_refused(start: int | None, end: int | None, without: Without | None) -> None:
    with pytest.raises(ValueError, match="uid"):
        IdRange("uid", start, end, without or Without.INCLUDED)


def test_a_cut_leaves_the_statement_with_the_lower_half() -> None:
    assert APART.cut(4) == (IdRange("uid", None, 4, Without.EXCLUDED), IdRange("uid", 5, 9))


@pytest.mark.parametrize(
    ("taken", "missing"),
    [
        ([APART, IdRange("uid", 10)], [UNSET]),
        ([IdRange("uid", None, 9), IdRange("uid", 10)], []),
        ([UNSET, IdRange("uid", 10)], [APART]),
        ([IdRange("uid", 10)], [IdRange("uid", None, 9)]),
        ([UNSET], [IdRange("uid").apart()[0]]),
        ([APART, UNSET, IdRange("uid", 20)], [IdRange("uid", 10, 19)]),
        ([UNSET, IdRange("other", None, None)], [IdRange("uid").apart()[0]]),
    ],
)
def test_a_window_lacks_numbers_or_the_part_without_the_field(taken: list[IdRange], missing: list[IdRange]) -> None:
    assert missing_ranges("uid", taken) == missing


def test_people_read_what_a_part_holds() -> None:
    assert [str(part) for part in (APART, IdRange("uid", 10), UNSET)] == ["uid ..9", "uid 10..", "without uid"]
