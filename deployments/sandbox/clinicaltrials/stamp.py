"""Dates as studies and their filters write them: a day, a month or a year."""

import re
from datetime import UTC, datetime, timedelta

from deployments.sandbox.instant import to_ms

FORM = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", re.ASCII)
SURELY_NEXT_MONTH = timedelta(days=31)
SURELY_NEXT_YEAR = timedelta(days=366)


def read_stamp(text: str) -> tuple[int, int] | None:
    """First instant of the unit named, and the first after it; None when it is no date."""
    found = FORM.fullmatch(text)
    if found is None:
        return None
    year, month, day = (None if part is None else int(part) for part in found.groups())
    try:
        start = datetime(year or 0, month or 1, day or 1, tzinfo=UTC)
        return to_ms(start), to_ms(_after(start, month, day))
    except (ValueError, OverflowError):
        return None


def _after(start: datetime, month: int | None, day: int | None) -> datetime:
    if day is not None:
        return start + timedelta(days=1)
    if month is not None:
        return (start + SURELY_NEXT_MONTH).replace(day=1)
    return (start + SURELY_NEXT_YEAR).replace(month=1, day=1)
