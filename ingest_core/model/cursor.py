"""Cursors: what has been read, and the watermark that follows from it."""

from dataclasses import dataclass
from datetime import datetime

from ingest_core.model.id_range import IdRange
from ingest_core.model.window import Window, window_or_none

CursorValue = datetime | int | str
"""The value of a cursor: an instant, the last id that was read, or a token."""


@dataclass(frozen=True)
class Coverage:
    """A window that was read, or one range of it."""

    window: Window
    """The window that was read."""
    as_of: datetime
    """When the first page was requested. Records that the provider added later are not in this reading."""
    range: IdRange | None = None
    """The range of the second field that was read; None for the whole window."""
    until: datetime | None = None
    """No later instant counts as read; None means `as_of`. Compacted events have a value of their own."""

    @property
    def counted(self) -> Window | None:
        """The part of the window that counts as read, up to the reading itself; None if there is no such part."""
        return window_or_none(self.window.start, min(self.window.end, self.until or self.as_of))


@dataclass(frozen=True)
class CursorState:
    """A cursor as the planner sees it."""

    value: datetime
    """The watermark: end of the contiguous coverage from the anchor."""
    anchor: datetime
    """Start of the first plan of the namespace."""
    settled: datetime | None = None
    """Up to here, late arrivals have had their time and nothing is read again; None before the first such instant."""
    bound_from: datetime | None = None
    """Lower end of a campaign, fixed by its first plan."""
    bound_to: datetime | None = None
    """Upper end of a campaign, fixed by its first plan; None for campaigns that an earlier version left open."""
    lag_seconds: int | None = None
    """The safety lag learned from late arrivals; None for the configured one."""
    lag_changed_at: datetime | None = None
    """When the lag was last learned."""
    ahead: datetime | None = None
    """The stored value where it lies in the future; `value` is then computed from the events."""

    @property
    def unsettled_from(self) -> datetime:
        """Nothing below this instant needs to be read again."""
        return self.settled or self.anchor
