"""Instants are milliseconds since 1970; this module reads and writes them."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


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
