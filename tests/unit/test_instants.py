"""Instants are aware, UTC, and written one way; providers write theirs in several."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from ingest_core.model.codes import TimeUnit
from ingest_core.model.errors import BadInput, ExitCode
from ingest_core.model.instant import (
    as_utc,
    ceil_to,
    floor_to,
    floor_to_unit,
    format_instant,
    from_micros,
    parse_instant,
    to_micros,
)
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
    assert floor_to_unit(at("12:34:56.789012"), unit) == at(floor)
    assert floor_to_unit(at(floor), unit) == at(floor)


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
