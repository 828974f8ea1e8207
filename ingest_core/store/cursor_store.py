"""Cursors and their events: events first, values after."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ingest_core.cursor.frontier import fold_frontier, fold_frontier_down, whole_coverage
from ingest_core.model.canonical import hash_of
from ingest_core.model.codes import CursorType, Direction, EventType, NamespaceScope, Operation
from ingest_core.model.id_range import IdRange, range_of
from ingest_core.model.instant import format_instant
from ingest_core.model.window import Window
from ingest_core.model.work import Coverage, Namespace, Partition
from ingest_core.store.columns import in_namespace, namespace_values
from ingest_core.store.database import Database
from ingest_core.store.tables import ing_cursor, ing_cursor_event


def append_event(
    connection: sa.Connection,
    namespace: Namespace,
    event_type: EventType,
    window: Window,
    *,
    now: datetime,
    as_of: datetime,
    lineage: dict[str, Any],
    key_parts: tuple[Any, ...],
    new_instant: datetime,
    observed_max: datetime | None = None,
    part: IdRange | None = None,
) -> None:
    """Write an event once: the same key again has no further effect."""
    key = hash_of(namespace_values(namespace), event_type.value, *key_parts)
    known = connection.execute(sa.select(ing_cursor_event.c.id).where(ing_cursor_event.c.idempotent_key == key)).first()
    if known:
        return
    connection.execute(
        sa.insert(ing_cursor_event).values(
            **namespace_values(namespace),
            cursor_type_code=namespace.cursor_type.value,
            direction_code=namespace.direction.value,
            event_type=event_type.value,
            window_from=window.start,
            window_to=window.end,
            range=part.json() if part else None,
            as_of=as_of,
            new_value=format_instant(new_instant),
            new_instant=new_instant,
            observed_max_value=format_instant(observed_max) if observed_max else None,
            idempotent_key=key,
            created_at=now,
            updated_at=now,
            **lineage,
        )
    )


class SqlCursorStore:
    """A CursorStore."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def advance(self, namespace: Namespace) -> datetime | None:
        """Move the value to the end of contiguous coverage; the value afterwards."""
        return self._database.transact(lambda connection: self._advance(connection, namespace))

    def _advance(self, connection: sa.Connection, namespace: Namespace) -> datetime | None:
        cursor, event = ing_cursor, ing_cursor_event
        row = connection.execute(
            sa.select(
                cursor.c.id, cursor.c.normalized_instant, cursor.c.observed_max_value, cursor.c.is_descending
            ).where(in_namespace(cursor, namespace))
        ).first()
        if row is None:
            return None
        value: datetime = row.normalized_instant
        beyond = connection.execute(
            sa.select(event.c.window_from, event.c.window_to, event.c.as_of, event.c.range).where(
                in_namespace(event, namespace),
                event.c.event_type == EventType.COVERAGE.value,
                event.c.window_from < value if row.is_descending else event.c.window_to > value,
            )
        )
        events = (Coverage(Window(start, end), as_of, range_of(part)) for start, end, as_of, part in beyond)
        fold = fold_frontier_down if row.is_descending else fold_frontier
        frontier = fold(value, [event.window for event in whole_coverage(events)])
        if frontier != value:
            self._move(connection, row, namespace, frontier)
        return frontier

    def _move(self, connection: sa.Connection, row: sa.Row[Any], namespace: Namespace, frontier: datetime) -> None:
        """Compare and set: a value that is already further stays; the event that ends there is its lineage."""
        cursor, event, value = ing_cursor, ing_cursor_event, row.normalized_instant
        edge = event.c.window_from if row.is_descending else event.c.window_to
        last = connection.execute(
            sa.select(event)
            .where(in_namespace(event, namespace), edge == frontier, event.c.event_type == EventType.COVERAGE.value)
            .order_by(event.c.id.desc())
            .limit(1)
        ).one()
        passed = (edge >= frontier, edge < value) if row.is_descending else (edge > value, edge <= frontier)
        observed = connection.execute(
            sa.select(sa.func.max(event.c.observed_max_value)).where(in_namespace(event, namespace), *passed)
        ).scalar()
        behind = cursor.c.normalized_instant > frontier if row.is_descending else cursor.c.normalized_instant < frontier
        lineage = ("schedule_instance_id", "plan_id", "slice_id", "task_id", "run_id", "batch_id", "expr_hash")
        connection.execute(
            sa.update(cursor)
            .where(cursor.c.id == row.id, behind)
            .values(
                normalized_instant=frontier,
                cursor_value=format_instant(frontier),
                observed_max_value=max(observed or "", row.observed_max_value or "") or None,
                version=cursor.c.version + 1,
                updated_at=self._database.now_sql(),
                **{name: getattr(last, name) for name in lineage},
            )
        )

    def repair(self) -> None:
        """Advance every cursor that a crash left behind its events."""
        with self._database.read() as connection:
            rows = connection.execute(sa.select(ing_cursor)).all()
        for row in rows:
            self.advance(_namespace_of(row))

    def cursors(self) -> list[dict[str, Any]]:
        """Every cursor as reports show it."""
        cursor = ing_cursor
        order = (cursor.c.provenance_code, cursor.c.endpoint_name, cursor.c.operation_code, cursor.c.id)
        with self._database.read() as connection:
            rows = connection.execute(sa.select(cursor).order_by(*order)).mappings()
            return [
                {
                    "provenance": row["provenance_code"],
                    "endpoint": row["endpoint_name"],
                    "operation": row["operation_code"],
                    "cursor_key": row["cursor_key"],
                    "cursor_type": row["cursor_type_code"],
                    "namespace_scope": row["namespace_scope_code"],
                    "namespace_key": row["namespace_key"],
                    "value": row["cursor_value"],
                    "observed_max": row["observed_max_value"],
                }
                for row in rows
            ]


def _namespace_of(row: sa.Row[Any]) -> Namespace:
    partition = Partition(row.provenance_code, row.endpoint_name, Operation(row.operation_code))
    return Namespace(
        partition,
        row.cursor_key,
        NamespaceScope(row.namespace_scope_code),
        row.namespace_key,
        Direction(row.direction_code),
        CursorType(row.cursor_type_code),
    )
