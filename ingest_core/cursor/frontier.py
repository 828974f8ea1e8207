"""The frontier: how far coverage reaches without a hole."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from ingest_core.model.id_range import missing_ranges
from ingest_core.model.window import Window
from ingest_core.model.work import Coverage


def fold_frontier(value: datetime, coverage: Iterable[Window]) -> datetime:
    """The end of contiguous coverage from `value`, whatever the order of the events."""
    for window in sorted(coverage):
        if window.start > value:
            break
        value = max(value, window.end)
    return value


def fold_frontier_down(value: datetime, coverage: Iterable[Window]) -> datetime:
    """The start of contiguous coverage down from `value`, whatever the order of the events."""
    for window in sorted(coverage, key=lambda one: one.end, reverse=True):
        if window.end < value:
            break
        value = min(value, window.start)
    return value


def whole_coverage(events: Iterable[Coverage]) -> Iterator[Coverage]:
    """The events whose windows were read whole: at once, or range by range until none was missing."""
    parts: dict[Window, list[Coverage]] = {}
    for event in events:
        if event.range is None:
            yield event
        else:
            parts.setdefault(event.window, []).append(event)
    for window, found in parts.items():
        as_of = whole_as_of(found)
        if as_of is not None:
            yield Coverage(window, as_of)


def whole_as_of(parts: Iterable[Coverage]) -> datetime | None:
    """When the last range of a window was asked for, taking each from its newest reading; none if one is missing."""
    ranges = []
    for part in sorted(parts, key=lambda one: one.as_of, reverse=True):
        assert part.range is not None
        ranges.append(part.range)
        if not missing_ranges(part.range.field, ranges):
            return part.as_of
    return None
