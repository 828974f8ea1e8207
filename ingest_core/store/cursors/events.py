"""Cursor events: written once, read in the order a frontier takes them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any

import sqlalchemy as sa

from ingest_core.cursor.frontier import IdStretch, fold_falling, fold_rising, whole_in_order
from ingest_core.model.canonical import hash_of
from ingest_core.model.clock import CLOCK_SLACK
from ingest_core.model.codes import CursorType, EventType
from ingest_core.model.cursor import Coverage, CursorValue
from ingest_core.model.id_range import IdRange, range_of
from ingest_core.model.instant import format_instant
from ingest_core.model.namespace import Namespace
from ingest_core.model.window import Window
from ingest_core.store.schema.columns import in_namespace, namespace_values
from ingest_core.store.schema.tables import ing_cursor, ing_cursor_event

CHUNK = 100
"""Events read at once; a frontier stops at the first hole."""

COVERS = ing_cursor_event.c.event_type.in_([EventType.COVERAGE.value, EventType.COMPACT.value, EventType.ADOPT.value])
"""Whatever covers ground: readings, what they were compacted to, and ground taken over from another namespace."""

LINEAGE = ("schedule_instance_id", "plan_id", "slice_id", "task_id", "run_id", "batch_id", "expr_hash")


@dataclass(frozen=True)
class Axis:
    """The columns a kind of watermark is measured in: of its events, and of its value."""

    start: sa.Column[Any]
    end: sa.Column[Any]
    new: sa.Column[Any]
    value: sa.Column[Any]

    def edge(self, *, descending: bool) -> sa.Column[Any]:
        """The column whose order a fold takes events in."""
        return self.end if descending else self.start

    def reached(self, *, descending: bool) -> sa.Column[Any]:
        """The column a fold ends at."""
        return self.start if descending else self.end


_EVENT, _CURSOR = ing_cursor_event.c, ing_cursor.c
AXES = {
    CursorType.TIME: Axis(_EVENT.window_from, _EVENT.window_to, _EVENT.new_instant, _CURSOR.normalized_instant),
    CursorType.ID: Axis(_EVENT.prev_numeric, _EVENT.new_numeric, _EVENT.new_numeric, _CURSOR.normalized_numeric),
}
"""A TOKEN has none: it is never compared."""


def value_text(value: CursorValue) -> str:
    """A value as `cursor_value` and `new_value` keep it."""
    return format_instant(value) if isinstance(value, datetime) else str(value)


def append_event(
    connection: sa.Connection,
    namespace: Namespace,
    event_type: EventType,
    covered: Window | IdStretch | None,
    *,
    now: datetime,
    as_of: datetime,
    lineage: dict[str, Any],
    key_parts: tuple[Any, ...],
    value: CursorValue,
    observed_max: datetime | None = None,
    part: IdRange | None = None,
    remarks: dict[str, Any] | None = None,
) -> bool:
    """Write an event once: the same key again has no further effect. Whether it is new."""
    key = hash_of(namespace_values(namespace), event_type.value, *key_parts)
    known = connection.execute(sa.select(ing_cursor_event.c.id).where(ing_cursor_event.c.idempotent_key == key)).first()
    if known:
        return False
    connection.execute(
        sa.insert(ing_cursor_event).values(
            **namespace_values(namespace),
            cursor_type_code=namespace.cursor_type.value,
            direction_code=namespace.direction.value,
            event_type=event_type.value,
            range=part.json() if part else None,
            as_of=as_of,
            observed_max_value=format_instant(observed_max) if observed_max else None,
            idempotent_key=key,
            record_remarks=remarks,
            created_at=now,
            updated_at=now,
            **_value_columns(value),
            **_covered_columns(covered),
            **lineage,
        )
    )
    return True


def _value_columns(value: CursorValue) -> dict[str, Any]:
    columns: dict[str, Any] = {"new_value": value_text(value)}
    if isinstance(value, datetime):
        columns["new_instant"] = value
    elif isinstance(value, int):
        columns["new_numeric"] = value
    return columns


def _covered_columns(covered: Window | IdStretch | None) -> dict[str, Any]:
    if isinstance(covered, Window):
        return {"window_from": covered.start, "window_to": covered.end}
    return {"prev_value": str(covered.start), "prev_numeric": covered.start} if covered else {}


def frontier_from(
    connection: sa.Connection, namespace: Namespace, value: Any, *, now: datetime, descending: bool
) -> Any:
    """How far coverage reaches from `value` without a hole; nothing is read beyond the first one."""
    covered = whole_beyond(connection, namespace, value, now=now, descending=descending)
    return (fold_falling if descending else fold_rising)(value, covered)


def whole_beyond(
    connection: sa.Connection, namespace: Namespace, value: Any, *, now: datetime, descending: bool
) -> Iterator[Window | IdStretch]:
    """The ground covered from `value` on, in the order a fold takes it; what lies across `value` comes first."""
    query = _covering(namespace, now)
    rows = chain(
        _across(connection, namespace, query, value, descending=descending),
        _beyond(connection, namespace, query, value, descending=descending),
    )
    if namespace.cursor_type == CursorType.ID:
        return (IdStretch(row.start, row.end) for row in rows)
    return whole_in_order(map(coverage_of, rows), descending=descending)


def coverage_of(row: sa.Row[Any]) -> Coverage:
    """The reading an event of time tells of.

    COMPACT and ADOPT sum up readings of several moments. Their `as_of` is the oldest of these; no later instant counts
    than the moment the last of them was written.
    """
    return _reading(row, Window(row.start, row.end))


def _reading(row: sa.Row[Any], window: Window) -> Coverage:
    until = None if row.event_type == EventType.COVERAGE.value else row.created_at
    return Coverage(window, row.as_of, range_of(row.range), until)


def genuine(now: datetime) -> sa.ColumnElement[bool]:
    """Events that do not lie in the future: others were written by a clock that was ahead, and cover nothing."""
    return ing_cursor_event.c.created_at <= now + CLOCK_SLACK


def covering_columns(kind: CursorType) -> tuple[sa.ColumnElement[Any], ...]:
    """What `coverage_of` reads of an event."""
    axis, event = AXES[kind], ing_cursor_event
    ends = (axis.start.label("start"), axis.end.label("end"))
    return (event.c.id, *ends, event.c.as_of, event.c.range, event.c.event_type, event.c.created_at)


def _covering(namespace: Namespace, now: datetime) -> sa.Select[Any]:
    query = sa.select(*covering_columns(namespace.cursor_type)).where(in_namespace(ing_cursor_event, namespace), COVERS)
    return query.where(genuine(now)) if namespace.cursor_type == CursorType.TIME else query


def _across(
    connection: sa.Connection, namespace: Namespace, query: sa.Select[Any], value: Any, *, descending: bool
) -> Iterable[sa.Row[Any]]:
    """The few events on both sides of `value`: index and condition are of the same columns."""
    axis = AXES[namespace.cursor_type]
    rows = connection.execute(query.where(axis.end > value, axis.start < value)).all()
    return sorted(rows, key=lambda row: row.end if descending else row.start)


def _beyond(
    connection: sa.Connection, namespace: Namespace, query: sa.Select[Any], value: Any, *, descending: bool
) -> Iterator[sa.Row[Any]]:
    """The events from `value` on, in order, chunk by chunk."""
    edge = AXES[namespace.cursor_type].edge(descending=descending)
    order = (edge.desc() if descending else edge, ing_cursor_event.c.id)
    query = query.order_by(*order).limit(CHUNK)
    where = edge <= value if descending else edge >= value
    while True:
        rows = connection.execute(query.where(where)).all()
        yield from rows
        if len(rows) < CHUNK:
            return
        where = _after(edge, rows[-1], descending=descending)


def _after(edge: sa.Column[Any], row: sa.Row[Any], *, descending: bool) -> sa.ColumnElement[bool]:
    last = row.end if descending else row.start
    onward, further = (edge <= last, edge < last) if descending else (edge >= last, edge > last)
    return sa.and_(onward, sa.or_(further, ing_cursor_event.c.id > row.id))


def anchor_event(connection: sa.Connection, namespace: Namespace) -> sa.Row[Any] | None:
    """The event that began the namespace: its anchor, or its beginning as another's heir."""
    event = ing_cursor_event
    heir = sa.and_(
        event.c.event_type == EventType.ADOPT.value, event.c.window_from.is_(None), event.c.prev_numeric.is_(None)
    )
    query = (
        sa.select(event)
        .where(in_namespace(event, namespace), sa.or_(event.c.event_type == EventType.ANCHOR.value, heir))
        .order_by(event.c.created_at, event.c.id)
        .limit(1)
    )
    return connection.execute(query).first()


def begun_at(event: sa.Row[Any]) -> Any:
    """Where a namespace begins: at its anchor, and no later than the moment it was begun."""
    value = event_value(event)
    return min(value, event.created_at) if isinstance(value, datetime) else value


_SILENT = {EventType.ANCHOR.value, EventType.VOID.value, EventType.SET_BACK.value}
"""Events that cover nothing."""


def stretch_of(row: sa.Row[Any], now: datetime) -> Coverage | IdStretch | None:
    """The ground a whole event row covers; none for one that only began a namespace, holds a token or is void."""
    if row.event_type in _SILENT:
        return None
    if row.window_from is not None:
        written_ahead = row.created_at > now + CLOCK_SLACK
        return None if written_ahead else _reading(row, Window(row.window_from, row.window_to))
    return IdStretch(row.prev_numeric, row.new_numeric) if row.prev_numeric is not None else None


def event_value(row: sa.Row[Any]) -> Any:
    """The value an event stands for, as its kind is compared by."""
    kind = CursorType(row.cursor_type_code)
    return row.new_value if kind == CursorType.TOKEN else getattr(row, AXES[kind].new.name)


def stretch(kind: CursorType, value: Any, other: Any, *, descending: bool) -> Window | IdStretch:
    """The ground between two values, the one it begins at first."""
    start, end = (other, value) if descending else (value, other)
    return IdStretch(start, end) if kind == CursorType.ID else Window(start, end)


def began_at_its_end(event: sa.Row[Any]) -> bool:
    """Whether a namespace runs from newest to oldest, according to its first event."""
    said = (event.record_remarks or {}).get("descending")
    return bool(said) if said is not None else event.window_to is not None and event.new_instant == event.window_to
