"""Cursors: events first, values after."""

from datetime import datetime
from functools import partial
from typing import Any

import sqlalchemy as sa

from ingest_core.model.codes import CursorType, EventType
from ingest_core.model.cursor import CursorValue
from ingest_core.model.cursor_report import CursorEntry
from ingest_core.model.instant import format_instant, parse_instant
from ingest_core.model.namespace import Namespace
from ingest_core.model.window import Window
from ingest_core.store.cursors.events import (
    AXES,
    COVERS,
    LINEAGE,
    anchor_event,
    append_event,
    began_at_its_end,
    begun_at,
    frontier_from,
)
from ingest_core.store.cursors.future import has_future_events, set_back, void_future_events
from ingest_core.store.cursors.rows import (
    cursor_entry,
    cursor_row,
    cursors_with_query,
    namespace_from,
    row_value,
    value_columns,
)
from ingest_core.store.engine.database import Database
from ingest_core.store.engine.dialect import locked
from ingest_core.store.schema.columns import in_namespace, namespace_values
from ingest_core.store.schema.tables import ing_cursor, ing_cursor_event


def open_cursor(
    connection: sa.Connection,
    namespace: Namespace,
    value: CursorValue,
    *,
    now: datetime,
    lineage: dict[str, Any],
    window: Window | None = None,
    **columns: Any,
) -> None:
    """Where a namespace begins: one ANCHOR event, and the cursor's first value."""
    append_event(
        connection,
        namespace,
        EventType.ANCHOR,
        window,
        now=now,
        as_of=now,
        lineage=lineage,
        key_parts=("anchor",),
        value=value,
        remarks=_told_of(columns),
    )
    insert_cursor(connection, namespace, value, now=now, lineage=lineage, **columns)


def _told_of(columns: dict[str, Any]) -> dict[str, Any] | None:
    """What a row could not be made again from, were it not in its first event."""
    said = {name: format_instant(value) for name, value in columns.items() if isinstance(value, datetime)}
    return {**said, "descending": True} if columns.get("is_descending") else said or None


def insert_cursor(
    connection: sa.Connection,
    namespace: Namespace,
    value: CursorValue,
    *,
    now: datetime,
    lineage: dict[str, Any],
    **columns: Any,
) -> None:
    """The cursor's row, at its first value."""
    row = {
        **namespace_values(namespace),
        "cursor_type_code": namespace.cursor_type.value,
        "direction_code": namespace.direction.value,
        **value_columns(value),
        **lineage,
        "created_at": now,
        "updated_at": now,
    }
    if isinstance(value, datetime):
        row["anchor_instant"] = value
    connection.execute(sa.insert(ing_cursor).values(**(row | columns)))


class SqlCursorStore:
    """A CursorStore."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def advance(self, namespace: Namespace) -> CursorValue | None:
        """Move the value to the end of contiguous coverage; the value afterwards."""
        if namespace.cursor_type == CursorType.TOKEN:
            return self._database.transact(lambda connection: self._take_last(connection, namespace))
        return self._database.transact(lambda connection: self._advance(connection, namespace))

    def _advance(self, connection: sa.Connection, namespace: Namespace) -> CursorValue | None:
        cursor = ing_cursor
        axis = AXES[namespace.cursor_type]
        columns = (cursor.c.id, axis.value.label("value"), cursor.c.observed_max_value, cursor.c.is_descending)
        clock = self._database.now_sql().label("now")
        row = connection.execute(sa.select(*columns, clock).where(in_namespace(cursor, namespace))).first()
        if row is None:
            return None
        down, start = bool(row.is_descending), row.value
        if down and isinstance(start, datetime) and start > row.now and (begun := anchor_event(connection, namespace)):
            start = min(start, begun_at(begun))  # a campaign that runs down has no ground in the future
        frontier: CursorValue = frontier_from(connection, namespace, start, now=row.now, descending=down)
        if frontier != row.value:
            self._move(connection, row, namespace, frontier)
        return frontier

    def _move(self, connection: sa.Connection, row: sa.Row[Any], namespace: Namespace, frontier: Any) -> None:
        """Compare and set: a value that is already further stays, and so does one that was set back meanwhile.

        The event that ends there is the value's lineage.
        """
        cursor, event, value, axis = ing_cursor, ing_cursor_event, row.value, AXES[namespace.cursor_type]
        edge = axis.reached(descending=bool(row.is_descending))
        newest = sa.select(event).where(in_namespace(event, namespace), COVERS).order_by(event.c.id.desc()).limit(1)
        last = connection.execute(newest.where(edge == frontier)).first()
        if last is None and not row.is_descending:  # a reading that ends after it was made
            last = connection.execute(newest.where(axis.start < frontier, edge > frontier)).first()
        passed = (edge >= frontier, edge < value) if row.is_descending else (edge > value, edge <= frontier)
        observed = connection.execute(
            sa.select(sa.func.max(event.c.observed_max_value)).where(in_namespace(event, namespace), COVERS, *passed)
        ).scalar()
        seen = (observed, last and last.observed_max_value, row.observed_max_value)
        behind = axis.value > frontier if row.is_descending else axis.value < frontier
        not_set_back = axis.value <= value if row.is_descending else axis.value >= value
        connection.execute(
            sa.update(cursor)
            .where(cursor.c.id == row.id, behind, not_set_back)
            .values(
                **value_columns(frontier),
                observed_max_value=max(one or "" for one in seen) or None,
                version=cursor.c.version + 1,
                updated_at=self._database.now_sql(),
                **({name: getattr(last, name) for name in LINEAGE} if last else {}),
            )
        )

    def _take_last(self, connection: sa.Connection, namespace: Namespace) -> str | None:
        """Tokens have no order: the last event's is the value, and the lock keeps a slow reader from undoing it."""
        cursor, event = ing_cursor, ing_cursor_event
        stands = sa.select(cursor.c.id, cursor.c.cursor_value).where(in_namespace(cursor, namespace))
        row = connection.execute(locked(stands)).first()
        if row is None:
            return None
        newest = sa.select(event).where(in_namespace(event, namespace)).order_by(event.c.id.desc()).limit(1)
        last = connection.execute(newest).first()
        if last is None or last.new_value == row.cursor_value:
            return str(row.cursor_value)
        changes = {name: getattr(last, name) for name in LINEAGE}
        connection.execute(
            sa.update(cursor)
            .where(cursor.c.id == row.id)
            .values(
                cursor_value=last.new_value,
                version=cursor.c.version + 1,
                updated_at=self._database.now_sql(),
                **changes,
            )
        )
        return str(last.new_value)

    def repair(self) -> int:
        """Advance every cursor that a crash left behind its events; how many those were.

        Readings dated ahead of the clock are voided first, so that they cover nothing later either.
        """
        with self._database.read() as connection:
            rows = connection.execute(sa.select(ing_cursor)).all()
            now = self._database.now(connection)
            found = [namespace_from(row) for row in rows]
            misdated = [one for one in found if has_future_events(connection, one, now)]
        for one in misdated:
            self._database.transact(partial(void_future_events, namespace=one, now=now))
        return sum(self.advance(namespace_from(row)) != row_value(row) for row in rows)

    def set_back(self, namespace: Namespace, stored: str, *, reason: str, by: str) -> bool:
        """Put a value that is ahead of its events back to what they say; whether it was.

        Only from the value that the operator saw. This is the one way a cursor moves back, and it is written down.
        """

        def work(connection: sa.Connection) -> bool:
            now = self._database.now(connection)
            return set_back(connection, namespace, stored, now, {"reason": reason, "by": by})

        return self._database.transact(work)

    def restore(self, namespace: Namespace) -> None:
        """Make a row that was lost again from the event that began it; the planner finds again what is settled."""

        def work(connection: sa.Connection) -> None:
            event = anchor_event(connection, namespace)
            if event is None or cursor_row(connection, namespace):
                return
            said = event.record_remarks or {}
            bounds = {name: parse_instant(said[name]) for name in ("bound_from", "bound_to") if said.get(name)}
            insert_cursor(
                connection,
                namespace,
                begun_at(event),
                now=self._database.now(connection),
                lineage={name: getattr(event, name) for name in LINEAGE},
                is_descending=int(began_at_its_end(event)),
                **bounds,
            )

        self._database.transact(work)

    def cursors(self) -> list[CursorEntry]:
        """Every cursor as reports show it."""
        with self._database.read() as connection:
            return [cursor_entry(row) for row in connection.execute(cursors_with_query())]
