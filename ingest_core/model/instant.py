"""Instants: aware UTC datetimes, written one way."""

from datetime import UTC, datetime, timedelta

from ingest_core.model.codes import TimeUnit
from ingest_core.model.errors import BadInput

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
MILLISECOND = timedelta(milliseconds=1)

UNIT_LENGTH = {
    TimeUnit.MILLISECOND: MILLISECOND,
    TimeUnit.SECOND: timedelta(seconds=1),
    TimeUnit.MINUTE: timedelta(minutes=1),
    TimeUnit.HOUR: timedelta(hours=1),
    TimeUnit.DAY: timedelta(days=1),
}


def format_instant(instant: datetime) -> str:
    """The one spelling of an instant: `YYYY-MM-DDTHH:MM:SS.ffffffZ`."""
    return instant.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def parse_instant(text: str, where: str = "time") -> datetime:
    """An instant from ISO 8601 with offset or Z, or a date (midnight UTC); no zone means UTC."""
    try:
        parsed = datetime.fromisoformat(text.strip())
        return as_utc(parsed)
    except (ValueError, OverflowError) as error:
        raise BadInput(
            "TIME_INVALID",
            f"{text!r} is not a time",
            where=where,
            remedy="write it as 2026-01-01 or 2026-01-01T06:00:00Z",
        ) from error


def as_utc(moment: datetime) -> datetime:
    """The same moment in UTC; a naive one is taken as UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def to_micros(instant: datetime) -> int:
    """Whole microseconds since 1970, exactly."""
    return (instant - EPOCH) // MICROSECOND


def from_micros(micros: int) -> datetime:
    """The instant that many microseconds after 1970."""
    return EPOCH + timedelta(microseconds=micros)


def floor_to(instant: datetime, step: timedelta) -> datetime:
    """The last multiple of `step` since 1970 that is not after `instant`."""
    return instant - (instant - EPOCH) % step


def ceil_to(instant: datetime, step: timedelta) -> datetime:
    """The first multiple of `step` since 1970 that is not before `instant`."""
    return instant + (EPOCH - instant) % step


def floor_to_unit(instant: datetime, unit: TimeUnit) -> datetime:
    """The start of the unit that holds `instant`."""
    return floor_to(instant, UNIT_LENGTH[unit])
