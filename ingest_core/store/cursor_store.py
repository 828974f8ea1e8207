"""Cursors: events first, values after."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ingest_core.model.codes import CursorType, Direction, EventType, NamespaceScope, Operation
from ingest_core.model.expression import Const
from ingest_core.model.instant import format_instant, parse_instant
from ingest_core.model.window import Window
from ingest_core.model.work import CursorValue, Namespace, Partition
from ingest_core.store.columns import in_namespace, namespace_values
from ingest_core.store.cursor_events import (
    AXES,
    COVERS,
    LINEAGE,
    anchor_event,
    append_event,
    began_at_its_end,
    event_value,
    frontier_from,
    value_text,
)
from ingest_core.store.database import Database
from ingest_core.store.dialect import locked
from ingest_core.store.tables import ing_cursor, ing_cursor_event, ing_plan, ing_schedule_instance


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


def value_columns(value: CursorValue) -> dict[str, Any]:
    """The columns of a cursor's value: as text, and as what its kind is compared by."""
    columns: dict[str, Any] = {"cursor_value": value_text(value)}
    if isinstance(value, datetime):
        columns["normalized_instant"] = value
    elif isinstance(value, int):
        columns["normalized_numeric"] = value
    return columns


def cursor_row(connection: sa.Connection, namespace: Namespace, *, lock: bool = False) -> sa.Row[Any] | None:
    """The namespace's cursor, if it has begun."""
    query = sa.select(ing_cursor).where(in_namespace(ing_cursor, namespace))
    return connection.execute(locked(query) if lock else query).first()


def row_value(row: sa.Row[Any]) -> Any:
    """Where a cursor stands, as its kind is compared by."""
    kind = CursorType(row.cursor_type_code)
    return row.cursor_value if kind == CursorType.TOKEN else getattr(row, AXES[kind].value.name)


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
        row = connection.execute(sa.select(*columns).where(in_namespace(cursor, namespace))).first()
        if row is None:
            return None
        frontier: CursorValue = frontier_from(connection, namespace, row.value, descending=bool(row.is_descending))
        if frontier != row.value:
            self._move(connection, row, namespace, frontier)
        return frontier

    def _move(self, connection: sa.Connection, row: sa.Row[Any], namespace: Namespace, frontier: Any) -> None:
        """Compare and set: a value that is already further stays; the event that ends there is its lineage."""
        cursor, event, value, axis = ing_cursor, ing_cursor_event, row.value, AXES[namespace.cursor_type]
        edge = axis.reached(descending=bool(row.is_descending))
        last = connection.execute(
            sa.select(event)
            .where(in_namespace(event, namespace), edge == frontier, COVERS)
            .order_by(event.c.id.desc())
            .limit(1)
        ).first()
        passed = (edge >= frontier, edge < value) if row.is_descending else (edge > value, edge <= frontier)
        observed = connection.execute(
            sa.select(sa.func.max(event.c.observed_max_value)).where(in_namespace(event, namespace), *passed)
        ).scalar()
        behind = axis.value > frontier if row.is_descending else axis.value < frontier
        connection.execute(
            sa.update(cursor)
            .where(cursor.c.id == row.id, behind)
            .values(
                **value_columns(frontier),
                observed_max_value=max(observed or "", row.observed_max_value or "") or None,
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
        """Advance every cursor that a crash left behind its events; how many those were."""
        with self._database.read() as connection:
            rows = connection.execute(sa.select(ing_cursor)).all()
        return sum(self.advance(namespace_from(row)) != row_value(row) for row in rows)

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
                event_value(event),
                now=self._database.now(connection),
                lineage={name: getattr(event, name) for name in LINEAGE},
                is_descending=int(began_at_its_end(event)),
                **bounds,
            )

        self._database.transact(work)

    def cursors(self) -> list[dict[str, Any]]:
        """Every cursor as reports show it."""
        with self._database.read() as connection:
            return [cursor_json(row) for row in connection.execute(told_cursors())]


def told_cursors() -> sa.Select[Any]:
    """Cursors in order, with what tells them apart: the query and the campaign of the plan that last moved them."""
    cursor, instance, plan = ing_cursor, ing_schedule_instance, ing_plan
    columns = (instance.c.trigger_params, plan.c.expr_proto_snapshot, plan.c.record_remarks.label("plan_remarks"))
    return (
        sa.select(cursor, *columns)
        .join(instance, instance.c.id == cursor.c.schedule_instance_id, isouter=True)
        .join(plan, plan.c.id == cursor.c.plan_id, isouter=True)
        .order_by(cursor.c.provenance_code, cursor.c.endpoint_name, cursor.c.operation_code, cursor.c.id)
    )


def cursor_json(row: sa.Row[Any]) -> dict[str, Any]:
    """A cursor as `told_cursors` finds it."""
    expression = row.expr_proto_snapshot
    standing = None if expression == Const(value=True).json() else expression
    return {
        "provenance": row.provenance_code,
        "endpoint": row.endpoint_name,
        "operation": row.operation_code,
        "cursor_key": row.cursor_key,
        "cursor_type": row.cursor_type_code,
        "namespace_scope": row.namespace_scope_code,
        "namespace_key": row.namespace_key,
        "value": row.cursor_value,
        "observed_max": row.observed_max_value,
        "query": (row.trigger_params or {}).get("query") or standing,
        "campaign": (row.plan_remarks or {}).get("campaign"),
    }


def namespace_from(row: sa.Row[Any]) -> Namespace:
    """The namespace of a cursor's or an event's row."""
    partition = Partition(row.provenance_code, row.endpoint_name, Operation(row.operation_code))
    return Namespace(
        partition,
        row.cursor_key,
        NamespaceScope(row.namespace_scope_code),
        row.namespace_key,
        Direction(row.direction_code),
        CursorType(row.cursor_type_code),
    )
