"""Cursors and their events as reports give them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ingest_core.model.instant import format_instant
from ingest_core.model.namespace import Namespace


@dataclass(frozen=True)
class Span:
    """A part of a cursor's axis: instants or ids, as text."""

    start: str
    """Where it begins."""
    end: str
    """Where it ends: exclusive for instants, inclusive for ids."""

    def json(self) -> dict[str, str]:
        """As scripts read it."""
        return {"from": self.start, "to": self.end}


@dataclass(frozen=True)
class CursorEntry:
    """A cursor in short, as lists show it."""

    namespace: Namespace
    value: str
    """The watermark, as text."""
    observed_max: str | None
    """Latest update time seen in the records read, as text."""
    query: str | dict[str, Any] | None
    """The query of the plan that last moved it: as it was given, or compiled; None for all records."""
    campaign: str | None
    """Name of the campaign that it belongs to."""

    def json(self) -> dict[str, Any]:
        """As scripts read it."""
        namespace, partition = self.namespace, self.namespace.partition
        return {
            "provenance": partition.provenance_code,
            "endpoint": partition.endpoint_name,
            "operation": partition.operation_code.value,
            "cursor_key": namespace.cursor_key,
            "cursor_type": namespace.cursor_type.value,
            "namespace_scope": namespace.scope.value,
            "namespace_key": namespace.key,
            "value": self.value,
            "observed_max": self.observed_max,
            "query": self.query,
            "campaign": self.campaign,
        }


@dataclass(frozen=True)
class BlockingTask:
    """The first task beyond a watermark that has not succeeded."""

    task_id: int
    plan_id: int
    slice_id: int
    slice_no: int
    """Number of the slice within its plan."""
    start: datetime
    """Start of the task's window."""
    end: datetime
    """End of the window, exclusive."""
    status: str
    """State of the task."""
    attempts: int
    """Attempts made so far."""
    last_error: dict[str, Any] | None
    """Error of the last attempt that failed, as stored."""

    def json(self) -> dict[str, Any]:
        """As scripts read it."""
        return {
            "task_id": self.task_id,
            "plan_id": self.plan_id,
            "slice_id": self.slice_id,
            "slice_no": self.slice_no,
            "window": {"from": format_instant(self.start), "to": format_instant(self.end)},
            "status": self.status,
            "attempts": self.attempts,
            "last_error": self.last_error,
        }


@dataclass(frozen=True)
class CursorReport:
    """Where a cursor stands, what moved it there, and what it waits for."""

    entry: CursorEntry
    """The cursor in short."""
    newest_first: bool
    """Whether the cursor moves from newest to oldest."""
    anchor: str | None
    """The value it began at."""
    settled: datetime | None
    """Up to here, late records have had their time: nothing below needs reading."""
    bound_from: datetime | None
    """Start of the period that a campaign was asked for."""
    bound_to: datetime | None
    """End of that period."""
    learned_lag_seconds: int | None
    """Safety lag that late arrivals have led to."""
    behind_seconds: int | None
    """Distance to now; None for a value that is no instant, or that moves backward."""
    moved_at: datetime
    """Time of its last move."""
    moves: int
    """Number of moves."""
    moved_by: dict[str, Any]
    """What moved it last, by column: ids of trigger, plan, slice, task and run, and the hash of the query."""
    events: dict[str, int]
    """Number of events of every type, 0 included."""
    furthest: str | None
    """Where the furthest event reaches."""
    holes: list[Span]
    """The first parts between value and furthest event that no event covers."""
    blocked_by: BlockingTask | None
    """The first task beyond the value that has not succeeded."""

    def json(self) -> dict[str, Any]:
        """As scripts read it."""
        return {
            **self.entry.json(),
            "direction": self.entry.namespace.direction.value,
            "newest_first": self.newest_first,
            "anchor": self.anchor,
            "settled": _text(self.settled),
            "bounds": {"from": _text(self.bound_from), "to": _text(self.bound_to)},
            "learned_lag_seconds": self.learned_lag_seconds,
            "behind_seconds": self.behind_seconds,
            "moved_at": format_instant(self.moved_at),
            "moves": self.moves,
            "moved_by": self.moved_by,
            "events": self.events,
            "furthest": self.furthest,
            "holes": [hole.json() for hole in self.holes],
            "blocked_by": self.blocked_by.json() if self.blocked_by else None,
        }


@dataclass(frozen=True)
class CursorStep:
    """An event of a cursor, and the value before and after it."""

    event_id: int
    """Row in `ing_cursor_event`."""
    at: datetime
    """When the event was written."""
    event_type: str
    """Type of the event."""
    covered: Span | None
    """The part that counts as read; None if there is no such part."""
    range: dict[str, Any] | None
    """The range of a second field that was read; None for the whole window."""
    as_of: datetime | None
    """When the first page was requested."""
    before: str | None
    """The value before; None for the event that began the cursor."""
    after: str
    """The value after."""
    no_forward: bool
    """Whether the event left the value where it was."""
    observed_max: str | None
    """Latest update time seen in the records read, as text."""
    lineage: dict[str, Any]
    """What wrote the event, by column: ids of trigger, plan, slice, task and run, and the hash of the query."""
    remarks: dict[str, Any] | None
    """Remarks, as stored."""

    def json(self) -> dict[str, Any]:
        """As scripts read it."""
        return {
            "id": self.event_id,
            "at": format_instant(self.at),
            "event_type": self.event_type,
            "covered": self.covered.json() if self.covered else None,
            "range": self.range,
            "as_of": _text(self.as_of),
            "prev": self.before,
            "new": self.after,
            "no_forward": self.no_forward,
            "observed_max": self.observed_max,
            "lineage": self.lineage,
            "remarks": self.remarks,
        }


def _text(moment: datetime | None) -> str | None:
    return format_instant(moment) if moment else None
