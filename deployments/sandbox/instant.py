"""Instants are milliseconds since 1970; this module reads and writes them."""

from datetime import UTC, date, datetime, timedelta
from email.utils import format_datetime

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND_MS = 1000
HOUR_MS = 3_600_000
DAY_MS = 86_400_000


def round_down(ms: int, unit_ms: int) -> int:
    """The beginning of the second, day or other unit the instant is in."""
    return ms // unit_ms * unit_ms


def round_up(ms: int | None, unit_ms: int) -> int | None:
    """The first beginning of a unit that is not before the instant; None stays open."""
    return None if ms is None else -(-ms // unit_ms) * unit_ms


def to_ms(moment: datetime) -> int:
    """The moment in whole milliseconds, rounded down."""
    return (moment - EPOCH) // timedelta(milliseconds=1)


def to_datetime(ms: int) -> datetime:
    """The instant as an aware UTC datetime."""
    return EPOCH + timedelta(milliseconds=ms)


def read_ms(text: str) -> int:
    """An ISO date or time in milliseconds; without an offset it is UTC."""
    moment = datetime.fromisoformat(text)
    return to_ms(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def write_micros(ms: int) -> str:
    """`YYYY-MM-DDTHH:MM:SS.ffffffZ`."""
    return to_datetime(ms).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def write_seconds(ms: int) -> str:
    """`YYYY-MM-DDTHH:MM:SSZ`, the fraction dropped."""
    return to_datetime(ms).strftime("%Y-%m-%dT%H:%M:%SZ")


def write_http(ms: int) -> str:
    """The form of an HTTP `Date` header."""
    return format_datetime(to_datetime(ms), usegmt=True)


def unit_of(year: int, month: int | None = None, day: int | None = None) -> tuple[int, int]:
    """First instant of the year, month or day, and the first after it; ValueError or OverflowError without one."""
    start = datetime(year, 1 if month is None else month, 1 if day is None else day, tzinfo=UTC)
    if day is not None:
        after = start + timedelta(days=1)
    elif month is not None:
        after = (start + timedelta(days=31)).replace(day=1)
    else:
        after = start.replace(year=year + 1)
    return to_ms(start), to_ms(after)


def days_of(from_ms: int, to_ms: int) -> dict[date, tuple[int, int]]:
    """Each day that `[from, to)` touches, in order, with the part of it that is within."""
    starts = range(round_down(from_ms, DAY_MS), to_ms, DAY_MS)
    return {to_datetime(start).date(): (max(start, from_ms), min(start + DAY_MS, to_ms)) for start in starts}
