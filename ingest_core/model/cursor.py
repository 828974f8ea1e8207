"""Cursors: what has been read, and the watermark that follows from it."""

from dataclasses import dataclass
from datetime import datetime

from ingest_core.model.id_range import IdRange
from ingest_core.model.window import Window, window_or_none

CursorValue = datetime | int | str
"""The value of a cursor: an instant, the last id that was read, or a token."""


@dataclass(frozen=True)
class Coverage:
    """A window that was read, or of a window a range, and when reading it began."""

    window: Window
    as_of: datetime
    """When the first page was asked for: what a provider learned later is not in this reading."""
    range: IdRange | None = None
    until: datetime | None = None
    """No later instant counts as read; `as_of` if not given. Events that sum up several readings have their own."""

    @property
    def counted(self) -> Window | None:
        """The part of the window that counts as read: no instant after the reading. None when that is nothing."""
        return window_or_none(self.window.start, min(self.window.end, self.until or self.as_of))


@dataclass(frozen=True)
class CursorState:
    """A watermark, the anchor it started from, and up to where from there late arrivals have had their time.

    A campaign also has the bounds it was first asked for; a lag that late arrivals have changed is kept with its date.
    """

    value: datetime
    anchor: datetime
    settled: datetime | None = None
    bound_from: datetime | None = None
    bound_to: datetime | None = None
    lag_seconds: int | None = None
    lag_changed_at: datetime | None = None
    ahead: datetime | None = None
    """The stored value, where that lies in the future: `value` is then computed from the events."""

    @property
    def unsettled_from(self) -> datetime:
        """Below this instant nothing needs reading any more."""
        return self.settled or self.anchor
