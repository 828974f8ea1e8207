"""Dates as real data writes them: as precise as they are, and nothing where they cannot be relied on."""

from typing import Any

import pytest

from ingest_core.registry.dates import date_parts, parse_source_time, partial_date
from tests.support.specs import at


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        # text
        ("2020", "2020"),
        ("2020-01", "2020-01"),
        ("2020-1", "2020-01"),
        ("2020-01-05", "2020-01-05"),
        ("2020-1-5", "2020-01-05"),
        ("2020/01/05", "2020-01-05"),
        ("2020.01.05", "2020-01-05"),
        ("2020 01 05", "2020-01-05"),
        ("20200105", "2020-01-05"),
        ("  2020-01-05\n", "2020-01-05"),
        ("2020-02-29", "2020-02-29"),
        ("0987-01-05", "0987-01-05"),
        ("2020-01-05T10:20:30Z", "2020-01-05"),
        ("2020-01-05 10:20:30", "2020-01-05"),
        ("2020-01-05T23:59:59-08:00", "2020-01-05"),
        # names of months
        ("2020 Jan", "2020-01"),
        ("2020 january", "2020-01"),
        ("2020 Sept 7", "2020-09-07"),
        ("2020-Dec-15", "2020-12-15"),
        ("2020 MAY", "2020-05"),
        ("2020 Jan. 5", "2020-01-05"),
        ("2020-Jan-5", "2020-01-05"),
        ("2020-01-5 ", "2020-01-05"),
        # lists, as Crossref writes them
        ([[2020, 1, 5]], "2020-01-05"),
        ([[2020, 1]], "2020-01"),
        ([[2020]], "2020"),
        ([2020, 1, 5], "2020-01-05"),
        (["2020", "1"], "2020-01"),
        ([[2020, 1, 5, 99]], "2020-01-05"),
        ([[2020], [2021]], "2020"),
        ({"date-parts": [[2020, 1]]}, "2020-01"),
        # elements, as PubMed writes them
        ({"Year": "2020", "Month": "Jan", "Day": "05"}, "2020-01-05"),
        ({"Year": "2020", "Month": "02"}, "2020-02"),
        ({"Year": "2020", "Season": "Spring"}, "2020"),
        ({"Year": "2020", "Day": "5"}, "2020"),
        ({"@Type": "x", "Year": "2020", "#text": "2020"}, "2020"),
        ({"@Type": "x", "#text": "2020-01-05"}, "2020-01-05"),
        ([{"Year": "2020", "Month": "1"}, {"Year": "2021"}], "2020-01"),
        # numbers
        (2020, "2020"),
        (1578182400, "2020-01-05"),
        (1578182400000, "2020-01-05"),
        (1578182400.75, "2020-01-05"),
    ],
    ids=repr,
)
def test_a_date_is_as_precise_as_the_value_says(value: Any, meant: str) -> None:
    assert partial_date(value) == meant


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        " ",
        "soon",
        "in press",
        "1998 Dec-1999 Jan",
        "1998-1999",
        "2020 Spring",
        "Spring 2020",
        "2020-13-01",
        "2020-02-30",
        "2019-02-29",
        "0000-01-01",
        "99-01-05",
        "12020-01-05",
        "05.01.2020",
        "2020-01-05x",
        "２０２０-01-05",
        "2020-01-05\x00",
        True,
        False,
        [],
        [[]],
        [[None]],
        [None],
        [[None, 1]],
        [[2020, 13]],
        [[2020, "x"]],
        [[2020, 2, 30]],
        [[[2020]]],
        [True],
        {},
        {"date-parts": []},
        {"date-parts": [[None]]},
        {"Year": "MMXX"},
        {"Year": None},
        {"Year": "2020", "Month": "Vendémiaire"},
        {"Year": "2020", "Month": "Feb", "Day": "30"},
        {"MedlineDate": "1998 Dec-1999 Jan"},
        {"other": 1},
        float("inf"),
        float("nan"),
        10**30,
        -(10**30),
        "2020-W01-1",
        {"Year": "may"},
        ["May", 5],
        [[2020, "Jan", "Jan"]],
        [[10**20]],
        [10**20],
        {"Year": "99999999999"},
        {"Year": "9" * 5000},
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_what_cannot_be_relied_on_is_no_date(value: Any) -> None:
    assert partial_date(value) is None


def test_parts_are_year_month_and_day_as_far_as_said() -> None:
    assert date_parts("2020-01-05") == (2020, 1, 5)
    assert date_parts("2020") == (2020, None, None)
    assert date_parts("x") is None


@pytest.mark.parametrize(
    ("value", "zone", "meant"),
    [
        ("2026-01-10T08:00:00", "UTC", "2026-01-10T08:00:00Z"),
        ("2026-01-10T08:00:00", "America/New_York", "2026-01-10T13:00:00Z"),
        ("2026-07-10T08:00:00", "America/New_York", "2026-07-10T12:00:00Z"),
        ("2026-01-10T08:00:00+01:00", "America/New_York", "2026-01-10T07:00:00Z"),
        ("2026-01-10T08:00:00Z", "Asia/Tokyo", "2026-01-10T08:00:00Z"),
        ("2026-01-10", "Asia/Tokyo", "2026-01-09T15:00:00Z"),
        ("2026-01", "Asia/Tokyo", "2025-12-31T15:00:00Z"),
        ([[2026, 1]], "UTC", "2026-01-01"),
        ({"Year": "2026", "Month": "Jan", "Day": "10"}, "America/New_York", "2026-01-10T05:00:00Z"),
        (1773129600123, "Asia/Tokyo", "2026-03-10T08:00:00.123Z"),
        ("2026 Mar 10", "UTC", "2026-03-10"),
        ("20260310", "UTC", "2026-03-10"),
    ],
    ids=repr,
)
def test_an_instant_without_a_zone_is_in_the_providers(value: Any, zone: str, meant: str) -> None:
    assert parse_source_time(value, zone) == at(meant)


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Pacific/Kiritimati"])
@pytest.mark.parametrize("value", ["0001-01-01", "9999-12-31T23:59:59", "0001-01-01T00:00:00+14:00"])
def test_an_instant_at_the_end_of_time_is_one_or_none(value: str, zone: str) -> None:
    found = parse_source_time(value, zone)

    assert found is None or found.utcoffset() == at("2026-01-01").utcoffset()


@pytest.mark.parametrize(
    "value",
    [
        {"@tz": "Z", "#text": "2026-01-05T10:20:30Z"},
        ["2026-01-05T10:20:30Z"],
        [{"#text": "2026-01-05T10:20:30Z"}],
        "1767608430",
        "1767608430000",
        {"@unit": "ms", "#text": "1767608430000"},
    ],
    ids=str,
)
def test_an_instant_keeps_its_time_of_day_however_it_is_wrapped(value: Any) -> None:
    assert parse_source_time(value) == at("2026-01-05T10:20:30Z")
