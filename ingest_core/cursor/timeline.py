"""A cursor's history: what each event made of the value, and where there are holes."""

from bisect import insort
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from ingest_core.cursor.frontier import IdStretch, Position, Stretch, whole_as_of
from ingest_core.model.cursor import Coverage
from ingest_core.model.window import Window

Event = TypeVar("Event")


class RunningFrontier(Generic[Position]):
    """A frontier that takes events one by one, in any order."""

    def __init__(self, value: Position, *, descending: bool = False) -> None:
        self.value: Position = value
        self._descending = descending
        self._pending: list[Stretch[Position]] = []
        self._parts: dict[Window, list[Coverage]] = {}

    def take(self, event: Coverage | IdStretch) -> Position:
        """The frontier once the event is known too."""
        stretch = self._whole(event)
        if stretch is not None:
            insort(self._pending, stretch, key=lambda one: one.end if self._descending else one.start)
            self._follow()
        return self.value

    def _whole(self, event: Coverage | IdStretch) -> Any:
        if isinstance(event, IdStretch):
            return event
        if event.range is None:
            return event.counted
        parts = self._parts.setdefault(event.window, [])
        parts.append(event)
        as_of = whole_as_of(parts)
        return Coverage(event.window, as_of).counted if as_of else None

    def _follow(self) -> None:
        pending = self._pending
        if self._descending:
            while pending and pending[-1].end >= self.value:
                self.value = min(self.value, pending.pop().start)
            return
        passed = 0
        while passed < len(pending) and pending[passed].start <= self.value:
            self.value = max(self.value, pending[passed].end)
            passed += 1
        del pending[:passed]


def replay(
    value: Position, events: Iterable[tuple[Event, Coverage | IdStretch | None]], *, descending: bool = False
) -> Iterator[tuple[Event, Position, Position]]:
    """Each event with the value before and after it; both are the same where it moved nothing."""
    frontier = RunningFrontier(value, descending=descending)
    for event, covered in events:
        before = frontier.value
        yield event, before, frontier.take(covered) if covered else before


def find_holes(
    value: Position, until: Position, coverage: Iterable[Stretch[Position]], *, descending: bool = False
) -> Iterator[tuple[Position, Position]]:
    """What lies uncovered between two values, from coverage in the order a fold takes it; lower ends first."""
    for one in coverage:
        if (value <= until) if descending else (value >= until):
            return
        if descending and one.end < value:
            yield max(one.end, until), value
        elif not descending and one.start > value:
            yield value, min(one.start, until)
        value = min(value, one.start) if descending else max(value, one.end)
    if value != until and (value > until) == descending:
        yield min(value, until), max(value, until)
