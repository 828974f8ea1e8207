"""Cursors and events that lie in the future: what a clock that was ahead wrote, and how it is put right."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ingest_core.cursor.rebuild import CursorVerdict, compare_with_events
from ingest_core.model.clock import CLOCK_SLACK
from ingest_core.model.codes import CursorType, EventType
from ingest_core.model.instant import format_instant
from ingest_core.model.namespace import Namespace
from ingest_core.store.cursors.events import (
    COVERS,
    LINEAGE,
    anchor_event,
    append_event,
    began_at_its_end,
    begun_at,
    frontier_from,
    genuine,
)
from ingest_core.store.cursors.rows import cursor_row, row_value, value_columns
from ingest_core.store.schema.columns import in_namespace
from ingest_core.store.schema.tables import ing_cursor, ing_cursor_event

MOST_VOIDED = 1000
"""More events of one namespace than this are not voided without consent: it may be the present clock that is wrong."""


def value_of_events(
    connection: sa.Connection, namespace: Namespace, row: sa.Row[Any] | None, begun: sa.Row[Any] | None, now: datetime
) -> Any:
    """What the events say of a cursor's value, from the event that began it or from the row's anchor."""
    if begun is not None:
        anchor, down = begun_at(begun), bool(row.is_descending) if row else began_at_its_end(begun)
    else:
        assert row is not None
        anchor, down = row.anchor_instant or row_value(row), bool(row.is_descending)
    return frontier_from(connection, namespace, anchor, now=now, descending=down)


def stands_ahead(row: sa.Row[Any], now: datetime) -> bool:
    """Whether a value lies in the future: no reading can have brought it there."""
    return row.normalized_instant is not None and row.normalized_instant > now + CLOCK_SLACK


def believed_value(connection: sa.Connection, namespace: Namespace, row: sa.Row[Any], now: datetime) -> datetime:
    """Where a cursor of time stands; one that lies in the future stands where its events say."""
    if not stands_ahead(row, now):
        value: datetime = row.normalized_instant
        return value
    from_events: datetime = value_of_events(connection, namespace, row, anchor_event(connection, namespace), now)
    return from_events


def has_future_events(connection: sa.Connection, namespace: Namespace, now: datetime) -> bool:
    """Whether events of the namespace are dated ahead of the clock."""
    return namespace.cursor_type == CursorType.TIME and bool(_future_events(connection, namespace, now, 1))


def _future_events(connection: sa.Connection, namespace: Namespace, now: datetime, most: int) -> list[sa.Row[Any]]:
    event = ing_cursor_event
    query = sa.select(event).where(in_namespace(event, namespace), COVERS, ~genuine(now)).limit(most)
    return list(connection.execute(query).all())


def void_future_events(connection: sa.Connection, namespace: Namespace, now: datetime) -> int:
    """Void the readings that are dated ahead of the clock, so that they cover nothing when it gets there; how many.

    Not where the namespace itself began ahead of the clock, nor more than `MOST_VOIDED`: that is what a clock that
    has fallen back would look like.
    """
    begun = anchor_event(connection, namespace)
    if begun is None or begun.created_at > now + CLOCK_SLACK:
        return 0
    found = _future_events(connection, namespace, now, MOST_VOIDED + 1)
    return _void(connection, namespace, found, now) if len(found) <= MOST_VOIDED else 0


def _void(connection: sa.Connection, namespace: Namespace, events: list[sa.Row[Any]], now: datetime) -> int:
    event, cursor = ing_cursor_event, ing_cursor
    for row in events:
        remarks = {**(row.record_remarks or {}), "was": row.event_type, "voided_at": format_instant(now)}
        connection.execute(
            sa.update(event)
            .where(event.c.id == row.id)
            .values(event_type=EventType.VOID.value, record_remarks=remarks, updated_at=now)
        )
    if events:  # what they settled is not
        connection.execute(sa.update(cursor).where(in_namespace(cursor, namespace)).values(settled_instant=None))
    return len(events)


def set_back(
    connection: sa.Connection, namespace: Namespace, stored: str, now: datetime, audit: dict[str, Any]
) -> bool:
    """Put a value that is ahead of its events back to what they say, unless it is no longer the one that was seen."""
    row = cursor_row(connection, namespace, lock=True)
    if row is None or row.cursor_value != stored or namespace.cursor_type == CursorType.TOKEN:
        return False
    begun = anchor_event(connection, namespace)
    if namespace.cursor_type == CursorType.TIME:
        while found := _future_events(connection, namespace, now, MOST_VOIDED):
            _void(connection, namespace, found, now)
        begun = _begin_now(connection, namespace, begun, now)
    from_events = value_of_events(connection, namespace, row, begun, now)
    if compare_with_events(row_value(row), from_events, descending=bool(row.is_descending)) != CursorVerdict.AHEAD:
        return False
    append_event(
        connection,
        namespace,
        EventType.SET_BACK,
        None,
        now=now,
        as_of=now,
        lineage={name: getattr(row, name) for name in LINEAGE} | {"plan_id": row.plan_id or 0},
        key_parts=(stored, row.version),
        value=from_events,
        remarks={"from": stored, **audit, "at": format_instant(now)},
    )
    anchor = {"anchor_instant": begun_at(begun)} if begun is not None and row.anchor_instant else {}
    connection.execute(
        sa.update(ing_cursor)
        .where(ing_cursor.c.id == row.id)
        .values(
            **value_columns(from_events),
            **anchor,
            settled_instant=None,
            version=ing_cursor.c.version + 1,
            updated_at=now,
        )
    )
    return True


def _begin_now(
    connection: sa.Connection, namespace: Namespace, begun: sa.Row[Any] | None, now: datetime
) -> sa.Row[Any] | None:
    """The event that began the namespace; one that is dated ahead of the clock is dated now."""
    if begun is None or begun.created_at <= now + CLOCK_SLACK:
        return begun
    event = ing_cursor_event
    remarks = {**(begun.record_remarks or {}), "dated": format_instant(begun.created_at)}
    changes = {"created_at": now, "as_of": now, "record_remarks": remarks, "updated_at": now}
    connection.execute(sa.update(event).where(event.c.id == begun.id).values(changes))
    return anchor_event(connection, namespace)
