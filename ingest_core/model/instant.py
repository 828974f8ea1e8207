"""Instants: aware UTC datetimes, written one way."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from ingest_core.model.codes import TimeUnit
from ingest_core.model.errors import BadInput
from ingest_core.model.slice_codes import CalendarUnit

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CLOCK_EPOCH = EPOCH.replace(tzinfo=None)
EARLIEST_YEAR, LATEST_YEAR = 1000, 9000
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


def within_reach(moment: datetime, where: str = "time") -> datetime:
    """The moment, if sums with it stay within the calendar."""
    if EARLIEST_YEAR <= moment.year < LATEST_YEAR:
        return moment
    remedy = f"give a year from {EARLIEST_YEAR} to {LATEST_YEAR - 1}"
    raise BadInput("TIME_INVALID", f"{moment:%Y-%m-%d} is out of reach", where=where, remedy=remedy)


def utc_within_reach(moment: datetime, where: str = "time") -> datetime:
    """The moment in UTC, if sums with it stay within the calendar; its offset may lead out of the years there are."""
    try:
        moved = as_utc(moment)
    except OverflowError:
        moved = moment.replace(tzinfo=UTC)
    return within_reach(moved, where)


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
    """The instants at which a provider's units, or multiples of them, begin by its own clocks.

    What a clock shows twice begins twice; what it skips begins when it is put forward.
    """

    step: timedelta
    zone: str = "UTC"

    def floor(self, instant: datetime) -> datetime:
        """The last of them that is not after `instant`."""
        if self.zone == "UTC":
            return floor_to(instant, self.step)
        offset = self._offset(instant)
        begun = self._last(_clock(instant, offset))
        found = _instant(begun, offset)
        before = self._offset(found)
        if before == offset:
            return found
        change = self._change(found, instant)
        left, right = _clock(change, before), _clock(change, offset)
        if left < right:  # put forward, from left to right
            return change if begun >= left else _instant(begun, before)
        return _instant(self._last(left - MICROSECOND), before)

    def after(self, instant: datetime) -> datetime:
        """The first of them that is after `instant`."""
        if self.zone == "UTC":
            return floor_to(instant, self.step) + self.step
        offset = self._offset(instant)
        begins = self._last(_clock(instant, offset)) + self.step
        found = _instant(begins, offset)
        later = self._offset(found)
        if later == offset:
            return found
        change = self._change(instant, found)
        left, right = _clock(change, offset), _clock(change, later)
        if left < right:
            return change if begins < right else _instant(begins, later)
        return _instant(self._last(right - MICROSECOND) + self.step, later)

    def ceil(self, instant: datetime) -> datetime:
        """The first of them that is not before `instant`."""
        return self.after(instant - MICROSECOND)

    def _offset(self, instant: datetime) -> timedelta:
        """How far the provider's clocks are ahead of UTC at that instant."""
        offset = instant.astimezone(ZoneInfo(self.zone)).utcoffset()
        assert offset is not None
        return offset

    def _last(self, clock: datetime) -> datetime:
        """What the clock shows where the step that holds `clock` begins."""
        return clock - (clock - _CLOCK_EPOCH) % self.step

    def _change(self, early: datetime, late: datetime) -> datetime:
        """When between two instants the clocks were changed."""
        offset = self._offset(late)
        while late - early > MICROSECOND:
            middle = early + (late - early) // 2
            early, late = (early, middle) if self._offset(middle) == offset else (middle, late)
        return late


def _clock(instant: datetime, offset: timedelta) -> datetime:
    """What a clock that is so far ahead of UTC shows."""
    return (instant + offset).replace(tzinfo=None)


def _instant(clock: datetime, offset: timedelta) -> datetime:
    return (clock - offset).replace(tzinfo=UTC)


def unit_grid(unit: TimeUnit, zone: str = "UTC") -> Grid:
    """Where the units of a provider's filter begin."""
    return Grid(UNIT_LENGTH[unit], zone)
