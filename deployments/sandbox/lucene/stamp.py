"""Dates as Elasticsearch reads them in a range: the unit named, from its first instant to the first after it."""

import re
from datetime import UTC, datetime, timedelta, timezone

from deployments.sandbox.instant import to_ms, unit_of

ZONE = r"(?P<zone>Z|[+-]\d{2}:?\d{2})?"
CLOCK = rf"T(?P<hour>\d{{2}})(?::(?P<minute>\d{{2}})(?::(?P<second>\d{{2}})(?P<fraction>\.\d{{1,9}})?)?)?{ZONE}"
FORM = re.compile(rf"(?P<year>\d{{4}})(?:-(?P<month>\d{{2}})(?:-(?P<day>\d{{2}})(?:{CLOCK})?)?)?")
UNITS = (
    ("fraction", timedelta(milliseconds=1)),
    ("second", timedelta(seconds=1)),
    ("minute", timedelta(minutes=1)),
    ("hour", timedelta(hours=1)),
)
NUMBERS = ("year", "month", "day", "hour", "minute", "second")


def read_stamp(text: str) -> tuple[int, int]:
    """First instant of the unit named, and the first after it; ValueError when it is no date."""
    found = FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"failed to parse date field [{text}] with format [strict_date_optional_time||epoch_millis]")
    given = {name: value for name, value in found.groupdict().items() if value is not None}
    if "hour" not in given:
        return unit_of(**{name: int(value) for name, value in given.items()})
    year, month, day, hour, minute, second = (int(given.get(name, 0)) for name in NUMBERS)
    micros = int(float(given.get("fraction", "0")) * 1000) * 1000
    start = datetime(year, month, day, hour, minute, second, micros, tzinfo=_zone(given.get("zone", "Z")))
    return to_ms(start), to_ms(start + next(length for name, length in UNITS if name in given))


def _zone(text: str) -> timezone:
    if text == "Z":
        return UTC
    hours, minutes = int(text[1:3]), int(text[-2:])
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if text[0] == "-" else offset)
