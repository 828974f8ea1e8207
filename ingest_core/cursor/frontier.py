"""The frontier: how far coverage reaches without a hole."""

from bisect import insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Protocol, TypeVar

from ingest_core.model.cursor import Coverage
from ingest_core.model.id_range import missing_ranges
from ingest_core.model.window import Window

Position = TypeVar("Position", datetime, int)
Position_co = TypeVar("Position_co", datetime, int, covariant=True)


class Stretch(Protocol[Position_co]):
    """Ground that was read: it takes a frontier that has reached its start to its end."""

    @property
    def start(self) -> Position_co:
        """The edge it starts from."""

    @property
    def end(self) -> Position_co:
        """The edge it reaches."""


@dataclass(frozen=True, order=True)
class IdStretch:
    """The numbers after `start` up to `end`: an ID frontier is the last number that was read."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if self.start >= self.end:
            raise ValueError(f"empty range of ids: {self.start + 1} > {self.end}")


def fold_frontier(value: Position, coverage: Iterable[Stretch[Position]]) -> Position:
    """The end of contiguous coverage from `value`, whatever the order of the events."""
    return fold_rising(value, sorted(coverage, key=lambda one: one.start))


def fold_rising(value: Position, coverage: Iterable[Stretch[Position]]) -> Position:
    """The frontier from coverage in order of its starts, which is taken no further than the first hole."""
    for one in coverage:
        if one.start > value:
            break
        value = max(value, one.end)
    return value


def fold_falling(value: Position, coverage: Iterable[Stretch[Position]]) -> Position:
    """The frontier downward from coverage in order of its ends, the last first, no further than the first hole."""
    for one in coverage:
        if one.end < value:
            break
        value = min(value, one.start)
    return value


def whole_coverage(events: Iterable[Coverage]) -> Iterator[Coverage]:
    """The windows that were read whole, as far as they count: at once, or range by range until none was missing."""
    parts: dict[Window, list[Coverage]] = {}
    for event in events:
        if event.range is not None:
            parts.setdefault(event.window, []).append(event)
        elif counted := event.counted:
            yield Coverage(counted, event.as_of, until=event.until)
    for window, found in parts.items():
        as_of = whole_as_of(found)
        # Ranges are put together before they are cut: each was asked for at another moment.
        if as_of is not None and (counted := Coverage(window, as_of).counted):
            yield Coverage(counted, as_of)


def whole_in_order(events: Iterable[Coverage], *, descending: bool) -> Iterator[Window]:
    """The windows that were read whole, from events in the order a fold takes, and no more of them than it takes."""
    if descending:
        yield from _whole_falling(events)
        return
    for _, together in groupby(events, key=lambda one: one.window.start):
        yield from (one.window for one in whole_coverage(together))


def _whole_falling(events: Iterable[Coverage]) -> Iterator[Window]:
    """The same from the last end down. A window whose end does not count waits until those above it have come."""
    waiting: list[Window] = []
    for end, together in groupby(events, key=lambda one: one.window.end):
        while waiting and waiting[-1].end > end:
            yield waiting.pop()
        for one in whole_coverage(together):
            insort(waiting, one.window, key=lambda window: window.end)
    yield from reversed(waiting)


def whole_as_of(parts: Iterable[Coverage]) -> datetime | None:
    """When the last range of a window was asked for, taking each from its newest reading; none if one is missing."""
    ranges = []
    for part in sorted(parts, key=lambda one: one.as_of, reverse=True):
        assert part.range is not None
        ranges.append(part.range)
        if not missing_ranges(part.range.field, ranges):
            return part.as_of
    return None
