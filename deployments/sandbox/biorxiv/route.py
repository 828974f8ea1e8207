"""What a path of the API asks for."""

from dataclasses import dataclass
from datetime import date

from deployments.sandbox.instant import DAY_MS, read_ms
from deployments.sandbox.provider import Refused

MOST_DIGITS = 9
SHORTEST, LONGEST = 4, 6


class UnreadablePathError(Refused):
    """A path the API cannot make sense of."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A part of what was posted from one day to another, both inclusive."""

    first: str
    last: str
    cursor: int

    @property
    def from_ms(self) -> int:
        """The first instant within."""
        return read_ms(self.first)

    @property
    def to_ms(self) -> int:
        """The first instant after it."""
        return read_ms(self.last) + DAY_MS


def read_path(path: str, server: str) -> Interval | str:
    """The interval, or the DOI, asked for below `/details/{server}`."""
    parts = path.strip("/").split("/")
    if parts[:1] != ["details"]:
        raise UnreadablePathError("unknown endpoint")
    if parts[1:2] != [server]:
        raise UnreadablePathError("unknown server")
    if parts[2:] and parts[2].startswith("10."):
        return _doi(parts[2:])
    if not SHORTEST <= len(parts) <= LONGEST:
        raise UnreadablePathError("interval expected")
    return _interval(*parts[2:])


def _doi(parts: list[str]) -> str:
    if parts[-1] == "json":
        parts = parts[:-1]
    if parts[-1] == "na":
        parts = parts[:-1]
    return "/".join(parts)


def _interval(first: str, last: str, cursor: str = "0", form: str = "json") -> Interval:
    for day in (first, last):
        if len(day) != len("YYYY-MM-DD") or not _is_day(day):
            raise UnreadablePathError("interval is not in the form YYYY-MM-DD/YYYY-MM-DD")
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) <= MOST_DIGITS):
        raise UnreadablePathError("cursor is not a number")
    if form != "json":
        raise UnreadablePathError("format is not simulated")
    return Interval(first, last, int(cursor))


def _is_day(text: str) -> bool:
    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False
