"""Half-open windows `[start, end)` and the arithmetic on sets of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ingest_core.model.instant import Grid, format_instant


@dataclass(frozen=True, order=True)
class Window:
    """The instants from `start` up to, not including, `end`; never empty."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        if self.start >= self.end:
            raise ValueError(f"empty window: {format_instant(self.start)} >= {format_instant(self.end)}")

    def __str__(self) -> str:
        return f"{format_instant(self.start)} .. {format_instant(self.end)}"

    @property
    def length(self) -> timedelta:
        """How long it is."""
        return self.end - self.start

    def json(self) -> dict[str, str]:
        """As reports and snapshots show it."""
        return {"from": format_instant(self.start), "to": format_instant(self.end)}


def window_or_none(start: datetime, end: datetime) -> Window | None:
    """The window, or nothing where it would be empty."""
    return Window(start, end) if start < end else None


def merge_windows(windows: Iterable[Window]) -> list[Window]:
    """The same instants as disjoint, ordered windows that do not touch."""
    merged: list[Window] = []
    for window in sorted(windows):
        if merged and window.start <= merged[-1].end:
            merged[-1] = Window(merged[-1].start, max(merged[-1].end, window.end))
        else:
            merged.append(window)
    return merged


def subtract_windows(whole: Window, taken: Iterable[Window]) -> list[Window]:
    """What of `whole` is in none of `taken`, in order."""
    left: list[Window] = []
    start = whole.start
    for gone in merge_windows(taken):
        if gone.end <= start or gone.start >= whole.end:
            continue
        if gone.start > start:
            left.append(Window(start, gone.start))
        start = max(start, gone.end)
    if start < whole.end:
        left.append(Window(start, whole.end))
    return left


def subtract_each(wholes: Sequence[Window], taken: Sequence[Window]) -> list[Window]:
    """What of ordered, disjoint windows is in none of the others, which are so too; in one pass over both."""
    left: list[Window] = []
    at = 0
    for whole in wholes:
        while at < len(taken) and taken[at].end <= whole.start:
            at += 1
        start, later = whole.start, at
        while later < len(taken) and taken[later].start < whole.end:
            if taken[later].start > start:
                left.append(Window(start, taken[later].start))
            start = max(start, taken[later].end)
            later += 1
        if start < whole.end:
            left.append(Window(start, whole.end))
    return left


def widen_to(window: Window, grid: Grid, limit: Window) -> Window:
    """The window stretched outward to the grid, within `limit`."""
    return Window(max(grid.floor(window.start), limit.start), min(grid.ceil(window.end), limit.end))
