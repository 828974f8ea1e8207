"""Compaction: old events that no plan needs any more become one."""

from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from ingest_core.model.codes import CursorType, EventType, Operation
from ingest_core.model.instant import format_instant, parse_instant
from ingest_core.model.namespace import Namespace
from ingest_core.store.cursors.events import (
    AXES,
    LINEAGE,
    anchor_event,
    append_event,
    begun_at,
    frontier_from,
    stretch,
    value_text,
)
from ingest_core.store.cursors.rows import cursor_row, row_value
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.columns import in_namespace
from ingest_core.store.schema.tables import ing_cursor_event, ing_schedule_instance

BATCH = 1000
"""Events replaced in one transaction."""


class SqlCursorCompaction:
    """Replaces events wholly behind the frontier and settled by one COMPACT event; neither value nor needs change."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def count(self, namespace: Namespace, older_than: timedelta) -> int:
        """How many events `compact` would replace."""
        with self._database.read() as connection:
            ground = self._ground(connection, namespace, older_than)
            row = cursor_row(connection, namespace)
            if ground is None or row is None:
                return 0
            anchor, from_events, cutoff = ground
            bound, down = _bound(row, namespace, from_events), bool(row.is_descending)
            if bound is None:
                return 0
            behind = _behind(namespace, anchor, bound, cutoff, descending=down).order_by(None).limit(None)
            return int(connection.execute(sa.select(sa.func.count()).select_from(behind.subquery())).scalar_one())

    def compact(self, namespace: Namespace, older_than: timedelta) -> int:
        """Replace events older than this; how many. A TOKEN has no frontier, and keeps its events."""
        with self._database.read() as connection:
            ground = self._ground(connection, namespace, older_than)
        if ground is None:
            return 0
        total = 0
        while count := self._database.transact(lambda connection: self._batch(connection, namespace, *ground)):
            total += count
        return total

    def _ground(
        self, connection: sa.Connection, namespace: Namespace, older_than: timedelta
    ) -> tuple[Any, Any, datetime] | None:
        """Where the namespace began, how far its events reach from there, and since when they are too young."""
        if namespace.cursor_type == CursorType.TOKEN:
            return None
        begun, row = anchor_event(connection, namespace), cursor_row(connection, namespace)
        if begun is None or row is None:
            return None
        anchor, now = begun_at(begun), self._database.now(connection)
        if _clock_leapt(connection, now, older_than):
            return None
        # From the events: a value that is ahead of them must not make a hole look read.
        from_events = frontier_from(connection, namespace, anchor, now=now, descending=bool(row.is_descending))
        return anchor, from_events, now - older_than

    def _batch(
        self, connection: sa.Connection, namespace: Namespace, anchor: Any, from_events: Any, cutoff: datetime
    ) -> int:
        row = cursor_row(connection, namespace, lock=True)
        bound = _bound(row, namespace, from_events) if row else None
        if row is None or bound is None:
            return 0
        down = bool(row.is_descending)
        readings = connection.execute(_behind(namespace, anchor, bound, cutoff, descending=down)).all()
        if not readings:
            return 0
        edge = AXES[namespace.cursor_type].edge(descending=down)
        event = ing_cursor_event
        compacted = sa.select(event).where(
            in_namespace(event, namespace), event.c.event_type == EventType.COMPACT.value, edge == anchor
        )
        events = [*connection.execute(compacted), *readings]
        connection.execute(sa.delete(event).where(event.c.id.in_([one.id for one in events])))
        self._append(connection, namespace, anchor, events, descending=down)
        return len(readings)

    def _append(
        self,
        connection: sa.Connection,
        namespace: Namespace,
        anchor: Any,
        events: list[sa.Row[Any]],
        *,
        descending: bool,
    ) -> None:
        reached = AXES[namespace.cursor_type].reached(descending=descending).name
        last = (min if descending else max)(events, key=lambda one: getattr(one, reached))
        value = getattr(last, reached)
        seen = max(one.observed_max_value or "" for one in events)
        count = sum((one.record_remarks or {}).get("events", 1) for one in events)
        append_event(
            connection,
            namespace,
            EventType.COMPACT,
            stretch(namespace.cursor_type, anchor, value, descending=descending),
            now=max(one.created_at for one in events),  # its place in the timeline is theirs
            as_of=min(one.as_of for one in events),
            lineage={name: getattr(last, name) for name in LINEAGE},
            key_parts=(value_text(value),),
            value=value,
            observed_max=parse_instant(seen) if seen else None,
            remarks={"events": count, "at": format_instant(self._database.now(connection))},
        )


def _behind(namespace: Namespace, anchor: Any, bound: Any, cutoff: datetime, *, descending: bool) -> sa.Select[Any]:
    """The oldest readings wholly between anchor and bound."""
    event, axis = ing_cursor_event, AXES[namespace.cursor_type]
    low, high = (bound, anchor) if descending else (anchor, bound)
    return (
        sa.select(event)
        .where(
            in_namespace(event, namespace),
            event.c.event_type == EventType.COVERAGE.value,
            axis.start >= low,
            axis.end <= high,
            event.c.created_at <= cutoff,
        )
        .order_by(event.c.created_at, event.c.id)
        .limit(BATCH)
    )


def _bound(row: sa.Row[Any], namespace: Namespace, from_events: Any) -> Any:
    """Up to where nothing needs reading any more: what is settled for a harvest, what was read for all others."""
    if row.is_descending:
        return max(row_value(row), from_events)
    bound = min(row_value(row), from_events)
    if namespace.partition.operation_code != Operation.HARVEST or namespace.cursor_type != CursorType.TIME:
        return bound
    return min(bound, row.settled_instant) if row.settled_instant else None


def _clock_leapt(connection: sa.Connection, now: datetime, older_than: timedelta) -> bool:
    """Whether nothing was triggered since before the events would count as old, until less than a day ago.

    After a leap of the clock everything looks old, and what is not settled would be compacted for good. It may also be
    that the installation was stopped for that time: then compaction waits for a day.
    """
    table, lately = ing_schedule_instance, now - timedelta(days=1)
    last = sa.select(table.c.created_at).where(table.c.created_at < lately).order_by(table.c.id.desc()).limit(1)
    moment = connection.execute(last).scalar()
    return moment is not None and older_than > timedelta(days=1) and moment < now - older_than
