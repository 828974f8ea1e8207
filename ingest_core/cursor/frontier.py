"""The frontier: how far coverage reaches without a hole."""

from collections.abc import Iterable
from datetime import datetime

from ingest_core.model.window import Window


def fold_frontier(value: datetime, coverage: Iterable[Window]) -> datetime:
    """The end of contiguous coverage from `value`, whatever the order of the events."""
    for window in sorted(coverage):
        if window.start > value:
            break
        value = max(value, window.end)
    return value
