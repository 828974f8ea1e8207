"""Spans, counts and times as people read them."""

from datetime import datetime

_SHORT_NAMES = 120
"""A name that is longer is of no use in a list."""


def span_name(start: datetime, end: datetime) -> str:
    """A window in as few characters as tell it: `2026-01-01..02`, `2026-01-01 03:00..04:00`."""
    if start >= end:
        return f"{start:%Y-%m-%d %H:%M}"
    if not _has_time(start) and not _has_time(end):
        return f"{start:%Y-%m-%d}..{_rest(start, end)}"
    return f"{_with_time(start)}..{_time(end) if start.date() == end.date() else _with_time(end)}"


def _rest(start: datetime, end: datetime) -> str:
    """What of the end's date is another than the start's."""
    if start.year != end.year:
        return f"{end:%Y-%m-%d}"
    return f"{end:%m-%d}" if start.month != end.month else f"{end:%d}"


def _has_time(moment: datetime) -> bool:
    return bool(moment.hour or moment.minute or moment.second or moment.microsecond)


def _time(moment: datetime) -> str:
    return f"{moment:%H:%M:%S}" if moment.second else f"{moment:%H:%M}"


def _with_time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d} {_time(moment)}"


def counted(number: int, noun: str) -> str:
    """A number with its noun: `1 slice`, `2,400 slices`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def spelled(seconds: int) -> str:
    """A length of time: `1 h 20 min`."""
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    parts = [f"{hours:,} h" if hours else "", f"{minutes} min" if minutes else "", f"{rest} s" if rest else ""]
    return " ".join(filter(None, parts)) or "less than a second"


def shortened(text: str) -> str:
    """The text, or its beginning."""
    return text if len(text) <= _SHORT_NAMES else f"{text[: _SHORT_NAMES - 1]}…"
