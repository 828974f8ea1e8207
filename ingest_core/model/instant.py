"""Instants: aware UTC datetimes, written one way."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from ingest_core.model.codes import TimeUnit
from ingest_core.model.errors import BadInput
from ingest_core.model.slice_codes import CalendarUnit

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CLOCK_EPOCH = EPOCH.replace(tzinfo=None)
MICROSECOND = timedelta(microseconds=1)
MILLISECOND = timedelta(milliseconds=1)

UNIT_LENGTH = {
    TimeUnit.MILLISECOND: MILLISECOND,
    TimeUnit.SECOND: timedelta(seconds=1),
    TimeUnit.MINUTE: timedelta(minutes=1),
    TimeUnit.HOUR: timedelta(hours=1),
    TimeUnit.DAY: timedelta(days=1),
}

CALENDAR_LENGTH = {
    **{CalendarUnit(unit.value): length for unit, length in UNIT_LENGTH.items()},
    CalendarUnit.WEEK: timedelta(weeks=1),
    CalendarUnit.MONTH: timedelta(days=28),
}
"""How long each is at least."""


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


def floor_to_calendar(instant: datetime, unit: CalendarUnit) -> datetime:
    """The start of the UTC minute, ..., week (Monday) or month that holds `instant`."""
    if unit == CalendarUnit.MONTH:
        return instant.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    if unit == CalendarUnit.WEEK:
        return floor_to(instant, UNIT_LENGTH[TimeUnit.DAY]) - timedelta(days=instant.weekday())
    return floor_to(instant, UNIT_LENGTH[TimeUnit(unit.value)])


@dataclass(frozen=True)
class Grid:
    """The instants at which a provider's units, or multiples of them, begin by its own clocks."""

    step: timedelta
    zone: str = "UTC"

    def floor(self, instant: datetime) -> datetime:
        """The last of them that is not after `instant`."""
        if self.zone == "UTC":
            return floor_to(instant, self.step)
        local = self._local(instant)
        while (found := self._instant(local)) > instant:  # a clock put forward skipped it
            local -= self.step
        return found

    def after(self, instant: datetime) -> datetime:
        """The first of them that is after `instant`."""
        if self.zone == "UTC":
            return floor_to(instant, self.step) + self.step
        local = self._local(instant)
        while (found := self._instant(local)) <= instant:  # a clock put back comes by twice
            local += self.step
        return found

    def ceil(self, instant: datetime) -> datetime:
        """The first of them that is not before `instant`."""
        floor = self.floor(instant)
        return floor if floor == instant else self.after(instant)

    def _local(self, instant: datetime) -> datetime:
        """What the provider's clock shows at the start of the step."""
        clock = instant.astimezone(ZoneInfo(self.zone)).replace(tzinfo=None, fold=0)
        return clock - (clock - _CLOCK_EPOCH) % self.step

    def _instant(self, local: datetime) -> datetime:
        return local.replace(tzinfo=ZoneInfo(self.zone)).astimezone(UTC)


def unit_grid(unit: TimeUnit, zone: str = "UTC") -> Grid:
    """Where the units of a provider's filter begin."""
    return Grid(UNIT_LENGTH[unit], zone)
