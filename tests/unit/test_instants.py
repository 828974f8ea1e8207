"""Instants are aware, UTC, and written one way; providers write theirs in several."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from ingest_core.model.codes import TimeUnit
from ingest_core.model.errors import BadInput, ExitCode
from ingest_core.model.instant import (
    CALENDAR_LENGTH,
    Grid,
    as_utc,
    ceil_to,
    floor_to,
    floor_to_calendar,
    format_instant,
    from_micros,
    parse_instant,
    to_micros,
    unit_grid,
)
from ingest_core.model.slice_codes import CalendarUnit
from ingest_core.registry.dates import parse_source_time
from tests.support.specs import at

SHANGHAI = timezone(timedelta(hours=8))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2026-01-01", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T06:00:00Z", datetime(2026, 1, 1, 6, tzinfo=UTC)),
        ("2026-01-01T06:00:00", datetime(2026, 1, 1, 6, tzinfo=UTC)),
        ("2026-01-01T06:00:00+08:00", datetime(2025, 12, 31, 22, tzinfo=UTC)),
        ("2026-01-01T06:00:00.123456Z", datetime(2026, 1, 1, 6, 0, 0, 123456, tzinfo=UTC)),
        ("  2026-01-01\n", datetime(2026, 1, 1, tzinfo=UTC)),
    ],
)
def test_dates_offsets_and_zoneless_times_are_read_as_utc(text: str, meant: datetime) -> None:
    parsed = parse_instant(text)

    assert parsed == meant
    assert parsed.utcoffset() == timedelta(0)


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "2026-01-01T25:00:00Z", "0001-01-01T00:00:00+05:00"])
def test_what_is_no_time_is_named_with_a_remedy(text: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse_instant(text, where="--from")

    assert refused.value.code == "TIME_INVALID"
    assert refused.value.exit_code == ExitCode.BAD_INPUT
    assert str(refused.value).startswith(f"--from: {text!r} is not a time")
    assert "2026-01-01T06:00:00Z" in refused.value.remedy


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (datetime(2026, 1, 1, tzinfo=UTC), "2026-01-01T00:00:00.000000Z"),
        (datetime(2026, 1, 1, 6, 0, 0, 7, tzinfo=UTC), "2026-01-01T06:00:00.000007Z"),
        (datetime(2026, 1, 1, 6, tzinfo=SHANGHAI), "2025-12-31T22:00:00.000000Z"),
    ],
)
def test_an_instant_is_written_in_utc_with_microseconds(instant: datetime, text: str) -> None:
    assert format_instant(instant) == text


def test_an_early_year_is_written_with_four_digits() -> None:
    assert format_instant(datetime(987, 1, 1, tzinfo=UTC)) == "0987-01-01T00:00:00.000000Z"


def test_a_naive_moment_is_taken_as_utc_and_an_aware_one_is_moved() -> None:
    assert as_utc(datetime(2026, 1, 1)) == datetime(2026, 1, 1, tzinfo=UTC)  # noqa: DTZ001 - the naive case
    assert as_utc(datetime(2026, 1, 1, 8, tzinfo=SHANGHAI)).isoformat() == "2026-01-01T00:00:00+00:00"


@pytest.mark.parametrize(
    ("text", "micros"),
    [("1970-01-01", 0), ("1969-12-31T23:59:59.999999Z", -1), ("2026-03-10T12:00:00.000001Z", 1773144000000001)],
)
def test_microseconds_since_1970_are_exact_both_ways(text: str, micros: int) -> None:
    assert to_micros(at(text)) == micros
    assert from_micros(micros) == at(text)


@pytest.mark.parametrize(
    ("unit", "floor"),
    [
        (TimeUnit.MILLISECOND, "12:34:56.789"),
        (TimeUnit.SECOND, "12:34:56"),
        (TimeUnit.MINUTE, "12:34"),
        (TimeUnit.HOUR, "12:00"),
        (TimeUnit.DAY, "00:00"),
    ],
)
def test_a_unit_starts_at_or_before_the_instant_it_holds(unit: TimeUnit, floor: str) -> None:
    assert unit_grid(unit).floor(at("12:34:56.789012")) == at(floor)
    assert unit_grid(unit).floor(at(floor)) == at(floor)


@pytest.mark.parametrize(
    ("unit", "instant", "floor"),
    [
        (CalendarUnit.MILLISECOND, "12:34:56.789012", "12:34:56.789"),
        (CalendarUnit.SECOND, "12:34:56.789012", "12:34:56"),
        (CalendarUnit.MINUTE, "12:34:56.789012", "12:34"),
        (CalendarUnit.HOUR, "12:34:56.789012", "12:00"),
        (CalendarUnit.DAY, "12:34:56.789012", "00:00"),
        (CalendarUnit.WEEK, "2026-03-10T12:34:56.789012Z", "2026-03-09"),
        (CalendarUnit.WEEK, "2026-03-09", "2026-03-09"),
        (CalendarUnit.WEEK, "2026-03-15T23:59:59.999999Z", "2026-03-09"),
        (CalendarUnit.WEEK, "2026-01-01T06:00:00Z", "2025-12-29"),
        (CalendarUnit.WEEK, "1969-12-31T23:00:00Z", "1969-12-29"),
        (CalendarUnit.MONTH, "2026-03-10T12:34:56.789012Z", "2026-03-01"),
        (CalendarUnit.MONTH, "2026-03-01", "2026-03-01"),
        (CalendarUnit.MONTH, "2024-02-29T23:59:59.999999Z", "2024-02-01"),
        (CalendarUnit.MONTH, "2026-12-31T12:00:00Z", "2026-12-01"),
    ],
)
def test_a_calendar_unit_starts_at_or_before_the_instant_it_holds_in_utc(
    unit: CalendarUnit, instant: str, floor: str
) -> None:
    assert floor_to_calendar(at(instant), unit) == at(floor)


def test_a_calendar_unit_is_never_shorter_than_its_length() -> None:
    shortest = {CalendarUnit.WEEK: timedelta(days=7), CalendarUnit.MONTH: timedelta(days=28)}

    assert {unit: CALENDAR_LENGTH[unit] for unit in shortest} == shortest
    assert set(CALENDAR_LENGTH) == set(CalendarUnit)


BERLIN, NEW_YORK, KOLKATA, APIA = "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Apia"


@pytest.mark.parametrize(
    ("zone", "unit", "instant", "floor", "after"),
    [
        (BERLIN, TimeUnit.DAY, "2026-03-10T12:00Z", "2026-03-09T23:00Z", "2026-03-10T23:00Z"),
        (BERLIN, TimeUnit.DAY, "2026-03-09T23:00Z", "2026-03-09T23:00Z", "2026-03-10T23:00Z"),
        (BERLIN, TimeUnit.DAY, "2026-03-29T12:00Z", "2026-03-28T23:00Z", "2026-03-29T22:00Z"),
        (BERLIN, TimeUnit.DAY, "2026-10-25T12:00Z", "2026-10-24T22:00Z", "2026-10-25T23:00Z"),
        (NEW_YORK, TimeUnit.DAY, "2026-03-08T12:00Z", "2026-03-08T05:00Z", "2026-03-09T04:00Z"),
        (KOLKATA, TimeUnit.HOUR, "2026-03-10T12:34Z", "2026-03-10T12:30Z", "2026-03-10T13:30Z"),
        (BERLIN, TimeUnit.HOUR, "2026-03-29T00:30Z", "2026-03-29T00:00Z", "2026-03-29T01:00Z"),
        (BERLIN, TimeUnit.HOUR, "2026-10-25T00:30Z", "2026-10-25T00:00Z", "2026-10-25T01:00Z"),
        (BERLIN, TimeUnit.HOUR, "2026-10-25T01:30Z", "2026-10-25T01:00Z", "2026-10-25T02:00Z"),
        ("America/Sao_Paulo", TimeUnit.DAY, "2018-11-04T12:00Z", "2018-11-04T03:00Z", "2018-11-05T02:00Z"),
        (APIA, TimeUnit.DAY, "2011-12-30T09:00Z", "2011-12-29T10:00Z", "2011-12-30T10:00Z"),
        (APIA, TimeUnit.DAY, "2011-12-30T11:00Z", "2011-12-30T10:00Z", "2011-12-31T10:00Z"),
    ],
    ids=[
        "midnight is in the zone",
        "midnight itself",
        "a day of 23 hours",
        "a day of 25 hours",
        "another continent",
        "half an hour off",
        "the hour before the clock is put forward",
        "an hour that comes by twice begins",
        "and begins again",
        "a day without a midnight",
        "the day before one that was left out",
        "the day after one that was left out",
    ],
)
def test_a_providers_unit_begins_by_its_own_clock(
    zone: str, unit: TimeUnit, instant: str, floor: str, after: str
) -> None:
    grid = unit_grid(unit, zone)

    assert (grid.floor(at(instant)), grid.after(at(instant))) == (at(floor), at(after))
    assert grid.ceil(at(floor)) == at(floor)
    assert grid.ceil(at(floor) + timedelta(microseconds=1)) == at(after)


def test_steps_of_several_units_begin_by_the_clock_too() -> None:
    grid = Grid(timedelta(hours=6), BERLIN)

    assert grid.floor(at("2026-03-10T12:00Z")) == at("2026-03-10T11:00Z")
    assert grid.after(at("2026-03-28T23:00Z")) == at("2026-03-29T04:00Z")
    assert grid.after(at("2026-10-24T22:00Z")) == at("2026-10-25T05:00Z")


def test_a_minute_of_the_hour_that_comes_by_twice_does_not_begin_before_the_minutes_before_it() -> None:
    grid = unit_grid(TimeUnit.MINUTE, BERLIN)

    assert grid.floor(at("2026-10-25T01:10:30Z")) >= grid.floor(at("2026-10-25T00:20:30Z"))


def test_what_comes_after_is_where_the_next_step_begins() -> None:
    grid = Grid(timedelta(minutes=45), BERLIN)

    assert grid.after(at("2026-03-29T00:50Z")) == grid.floor(at("2026-03-29T01:05Z"))


@pytest.mark.parametrize(
    ("instant", "floor", "ceiling"),
    [
        ("07:30", "06:00", "12:00"),
        ("06:00", "06:00", "06:00"),
        ("05:59:59.999999", "00:00", "06:00"),
        ("1969-12-31T23:00:00Z", "1969-12-31T18:00:00Z", "1970-01-01"),
    ],
)
def test_floor_and_ceiling_are_multiples_of_the_step_since_1970(instant: str, floor: str, ceiling: str) -> None:
    step = timedelta(hours=6)

    assert floor_to(at(instant), step) == at(floor)
    assert ceil_to(at(instant), step) == at(ceiling)


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("2026-03-10T08:00:00Z", "08:00"),
        ("2026-03-10T08:00:00.123456Z", "08:00:00.123456"),
        ("2026-03-10T16:00:00+08:00", "08:00"),
        (" 2026-03-10 ", "00:00"),
        ("2026-03-10 08:00:00", "08:00"),
        (1773129600, "08:00"),
        (1773129600.5, "08:00:00.500"),
        (1773129600123, "08:00:00.123"),
        (9_999_999_999, "2286-11-20T17:46:39Z"),
        (10_000_000_000, "1970-04-26T17:46:40Z"),
        (-86400, "1969-12-31"),
        (0, "1970-01-01"),
    ],
)
def test_a_provider_writes_iso_8601_seconds_or_milliseconds(value: Any, meant: str) -> None:
    assert parse_source_time(value) == at(meant)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "soon",
        "2026-02-30",
        "0000-00-00",
        "0001-01-01T00:00:00+14:00",
        True,
        [2026, 13, 10],
        {"date": 1},
        float("inf"),
        float("nan"),
        10**400,
        -(10**30),
    ],
    ids=str,
)
def test_what_is_no_time_of_a_provider_is_none(value: Any) -> None:
    assert parse_source_time(value) is None
