"""Dates as real data writes them: a whole instant, a day, a month, a year, or nothing that can be relied on."""

import re
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

_EPOCH_MS_FROM = 10_000_000_000
"""Numbers from here on are milliseconds: as seconds they would be past the year 2286."""

_HIGHEST_YEAR = 9999
_EPOCH_DIGITS = (10, 13)
_MOST_DIGITS = 9
_DAY_CHARS = len("2020-01-05")
_AFTER_DAY = ("", "T", " ")
_MONTHS = {
    name: number
    for number, names in enumerate(
        ("jan january", "feb february", "mar march", "apr april", "may", "jun june", "jul july", "aug august",
         "sep sept september", "oct october", "nov november", "dec december"),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
_PARTS = re.compile(r"^(\d{4})(?:[-/. ](\d{1,2}|[A-Za-z]{3,9})\.?(?:[-/. ](\d{1,2}))?)?$")
_COMPACT = re.compile(r"^(\d{4})(\d{2})(\d{2})$")
_ISO_TIME = re.compile(r"^\d{4}-\d{2}-\d{2}[T ]\d")

Parts = tuple[int, int | None, int | None]


def partial_date(value: Any) -> str | None:
    """`YYYY`, `YYYY-MM` or `YYYY-MM-DD`, as precise as the value says; None when it is no date."""
    # The two most frequent spellings first: many records of a page have the same day.
    if type(value) is str and len(value) >= _DAY_CHARS and value[4] == value[7] == "-" and value[10:11] in _AFTER_DAY:
        day = value[:_DAY_CHARS]
        if _iso_day(day):
            return day
    if type(value) is list and len(value) == 1 and type(value[0]) is list:
        parts = tuple(value[0][:3])
        # Only small values are remembered: a provider's texts may be as long as a record.
        if all(type(part) is int and abs(part) <= _HIGHEST_YEAR for part in parts):
            return _parts_text(*parts)
    try:
        return _written(date_parts(value))
    except RecursionError:  # dates within dates, to no end
        return None


@lru_cache(maxsize=65536)
def _parts_text(*parts: int) -> str | None:
    return _written(_checked(*parts)) if parts else None


def _written(parts: Parts | None) -> str | None:
    if parts is None:
        return None
    year, month, day = parts
    return f"{year:04d}" + (f"-{month:02d}" if month else "") + (f"-{day:02d}" if month and day else "")


@lru_cache(maxsize=65536)
def _iso_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def date_parts(value: Any) -> Parts | None:
    """Year, month and day, as far as the value says them."""
    if isinstance(value, str):
        return _from_text(value.strip())
    if isinstance(value, list):
        return _from_list(value)
    if isinstance(value, dict):
        return _from_fields(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= _HIGHEST_YEAR:
        return (int(value), None, None) if value == int(value) else None
    moment = _from_number(value)
    return (moment.year, moment.month, moment.day) if moment else None


def _from_text(text: str) -> Parts | None:
    if _ISO_TIME.match(text):
        moment = _iso(text)
        return (moment.year, moment.month, moment.day) if moment else None
    match = _PARTS.match(text) or _COMPACT.match(text)
    return _checked(*match.groups()) if match else None


def _from_list(value: list[Any]) -> Parts | None:
    """`[[2020, 1]]` or `[2020, 1, 5]`; `[[null]]` and `[[]]` say nothing."""
    if value and isinstance(value[0], dict):
        return date_parts(value[0])
    inner = value[0] if value and isinstance(value[0], list) else value
    return _checked(*inner[:3]) if inner else None


def _from_fields(value: dict[str, Any]) -> Parts | None:
    """`{"date-parts": [[2020]]}`, or an element with Year, Month and Day."""
    if "date-parts" in value:
        return date_parts(value["date-parts"])
    fields = {str(name).lower(): one for name, one in value.items()}
    if "year" not in fields:
        return date_parts(fields["#text"]) if "#text" in fields else None
    return _checked(fields["year"], fields.get("month"), fields.get("day"))


def _checked(year: Any, month: Any = None, day: Any = None) -> Parts | None:
    numbers = _number(year), _month(month), _number(day)
    if numbers[0] is None or (month is not None and numbers[1] is None) or (day is not None and numbers[2] is None):
        return None
    try:
        date(numbers[0], numbers[1] or 1, numbers[2] or 1)
    except (ValueError, OverflowError):
        return None
    return (numbers[0], numbers[1], numbers[2])


def _number(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    text = value.strip() if isinstance(value, str) else ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else None


def _month(value: Any) -> int | None:
    return _MONTHS.get(value.strip().lower()) or _number(value) if isinstance(value, str) else _number(value)


def parse_source_time(value: Any, time_zone: str = "UTC") -> datetime | None:
    """The instant a provider means, in its zone where it names none; a bare date is its beginning; None if no time."""
    try:
        return _instant(_alone(value), time_zone)
    except RecursionError:  # dates within dates, to no end
        return None


def _instant(value: Any, time_zone: str) -> datetime | None:
    if isinstance(value, str) and (moment := _iso(value.strip())):
        return _in_utc(moment, time_zone)
    if (moment := _from_number(value)) is not None:
        return moment
    parts = date_parts(value)
    return _in_utc(datetime(parts[0], parts[1] or 1, parts[2] or 1), time_zone) if parts else None  # noqa: DTZ001


def _alone(value: Any) -> Any:
    """The value itself: of an XML element its text, of a list the one text in it, of many digits the number."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str | dict):
        return _alone(value[0])
    if isinstance(value, dict) and "#text" in value and not any(str(name).lower() == "year" for name in value):
        return _alone(value["#text"])
    if isinstance(value, str) and len(value.strip()) in _EPOCH_DIGITS and value.strip().isdecimal():
        return int(value)
    return value


def _iso(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        return None


def _from_number(value: Any) -> datetime | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return datetime.fromtimestamp(value / 1000 if abs(value) >= _EPOCH_MS_FROM else value, tz=UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _in_utc(moment: datetime, time_zone: str) -> datetime | None:
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC if time_zone == "UTC" else ZoneInfo(time_zone))
    try:
        return aware.astimezone(UTC)
    except OverflowError:
        return None
