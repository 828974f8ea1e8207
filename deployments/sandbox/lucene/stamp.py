"""Dates as Elasticsearch reads them in a range: the unit named, from its first instant to the first after it."""

import re
from datetime import UTC, datetime, timedelta, timezone

from deployments.sandbox.instant import to_ms

ZONE = r"(?P<zone>Z|[+-]\d{2}:?\d{2})?"
CLOCK = rf"T(?P<hour>\d{{2}})(?::(?P<minute>\d{{2}})(?::(?P<second>\d{{2}})(?P<fraction>\.\d{{1,9}})?)?)?{ZONE}"
FORM = re.compile(rf"(?P<year>\d{{4}})(?:-(?P<month>\d{{2}})(?:-(?P<day>\d{{2}})(?:{CLOCK})?)?)?")
UNITS = (
    ("fraction", timedelta(milliseconds=1)),
    ("second", timedelta(seconds=1)),
    ("minute", timedelta(minutes=1)),
    ("hour", timedelta(hours=1)),
    ("day", timedelta(days=1)),
)
SURELY_NEXT_MONTH = timedelta(days=31)
SURELY_NEXT_YEAR = timedelta(days=366)


def read_stamp(text: str) -> tuple[int, int]:
    """First instant of the unit named, and the first after it; ValueError when it is no date."""
    found = FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"failed to parse date field [{text}] with format [strict_date_optional_time||epoch_millis]")
    given = {name: value for name, value in found.groupdict().items() if value is not None}
    start = datetime(
        int(given["year"]),
        int(given.get("month", 1)),
        int(given.get("day", 1)),
        int(given.get("hour", 0)),
        int(given.get("minute", 0)),
        int(given.get("second", 0)),
        int(float(given.get("fraction", "0")) * 1000) * 1000,
        tzinfo=_zone(given.get("zone", "Z")),
    )
    return to_ms(start), to_ms(_after(start, given))


def _after(start: datetime, given: dict[str, str]) -> datetime:
    for name, length in UNITS:
        if name in given:
            return start + length
    if "month" in given:
        return (start + SURELY_NEXT_MONTH).replace(day=1)
    return (start + SURELY_NEXT_YEAR).replace(month=1, day=1)


def _zone(text: str) -> timezone:
    if text == "Z":
        return UTC
    hours, minutes = int(text[1:3]), int(text[-2:])
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if text[0] == "-" else offset)
