"""Windows in words, such as `last 7 days`, `yesterday` and `this month`; in UTC."""

import re
from calendar import monthrange
from datetime import datetime, timedelta

from ingest_core.model.errors import BadInput
from ingest_core.model.instant import MILLISECOND, floor_to, floor_to_calendar, within_reach
from ingest_core.model.slice_codes import CalendarUnit
from ingest_core.model.window import Window

EXAMPLES = "last 7 days, last 6 hours, today, yesterday, this week, last month"

_ONE = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}
_MONTHS = {"month": 1, "year": 12}
_UNIT = "|".join([*_ONE, *_MONTHS])
_BACK = re.compile(rf"last (\d{{1,9}}) ({_UNIT})s?")
_WHOLE = re.compile(rf"(last|this) ({_UNIT})")
_ALIASES = {"today": "this day", "yesterday": "last day"}


def read_window(words: str, now: datetime) -> Window:
    """What the words mean at that moment: a number counts back from it, without one it is a whole unit."""
    said = " ".join(words.lower().split())
    said = _ALIASES.get(said, said)
    try:
        if counted := _BACK.fullmatch(said):
            return _counted(int(counted[1]), counted[2], floor_to(now, MILLISECOND))
        if whole := _WHOLE.fullmatch(said):
            return _whole(whole[2], _begin(now, whole[2]), past=whole[1] == "last")
    except (OverflowError, ValueError, BadInput) as error:
        raise _refusal(words, "reaches too far back, or not at all") from error
    raise _refusal(words, "is not a window")


def asked_bounds(
    user_from: datetime | None, user_to: datetime | None, words: str | None, now: datetime
) -> tuple[datetime | None, datetime | None]:
    """The bounds that were asked for, by dates or in words; both at once are refused."""
    if words is None:
        return user_from, user_to
    if user_from or user_to:
        remedy = "give from and to, or the window in words, not both"
        raise BadInput("WINDOW_TWICE", f"{words!r} beside from or to", where="window", remedy=remedy)
    window = read_window(words, now)
    return window.start, window.end


def _counted(number: int, unit: str, end: datetime) -> Window:
    return Window(within_reach(_move(end, unit, -number)), end)


def _whole(unit: str, begun: datetime, *, past: bool) -> Window:
    return Window(_move(begun, unit, -1), begun) if past else Window(begun, _move(begun, unit, 1))


def _begin(moment: datetime, unit: str) -> datetime:
    """Where the unit that holds the moment begins."""
    if unit == "year":
        return floor_to_calendar(moment, CalendarUnit.MONTH).replace(month=1)
    return floor_to_calendar(moment, CalendarUnit(unit.upper()))


def _move(moment: datetime, unit: str, number: int) -> datetime:
    """The moment this number of units later; a day that the month lacks becomes its last."""
    if unit in _ONE:
        return moment + number * _ONE[unit]
    years, month = divmod(moment.year * 12 + moment.month - 1 + number * _MONTHS[unit], 12)
    day = min(moment.day, monthrange(years, month + 1)[1])
    return moment.replace(year=years, month=month + 1, day=day)


def _refusal(words: str, why: str) -> BadInput:
    return BadInput("WINDOW_UNREADABLE", f"{words!r} {why}", where="window", remedy=f"write it like: {EXAMPLES}")
