"""Frontiers as tests state them: ranges of ids with both ends included, and the downward fold of unordered events."""

from collections.abc import Iterable

from ingest_core.cursor.frontier import IdStretch, Position, Stretch, fold_falling


def closed_ids(first: int, last: int) -> IdStretch:
    """The numbers from `first` to `last`, both included."""
    return IdStretch(first - 1, last)


def fold_frontier_down(value: Position, coverage: Iterable[Stretch[Position]]) -> Position:
    """The start of contiguous coverage down from `value`, whatever the order of the events."""
    return fold_falling(value, sorted(coverage, key=lambda one: one.end, reverse=True))
