"""Cursors as rows: whose they are, where they stand, and how reports show them."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ingest_core.model.codes import CursorType, Direction, NamespaceScope, Operation
from ingest_core.model.cursor import CursorValue
from ingest_core.model.cursor_report import CursorEntry
from ingest_core.model.expression import Const
from ingest_core.model.namespace import Namespace
from ingest_core.model.partition import Partition
from ingest_core.store.cursors.events import AXES, value_text
from ingest_core.store.engine.dialect import locked
from ingest_core.store.schema.columns import in_namespace
from ingest_core.store.schema.tables import ing_cursor, ing_plan, ing_schedule_instance


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


def cursors_with_query() -> sa.Select[Any]:
    """Cursors in order, with what tells them apart: the query and the campaign of the plan that last moved them."""
    cursor, instance, plan = ing_cursor, ing_schedule_instance, ing_plan
    columns = (instance.c.trigger_params, plan.c.expr_proto_snapshot, plan.c.record_remarks.label("plan_remarks"))
    return (
        sa.select(cursor, *columns)
        .join(instance, instance.c.id == cursor.c.schedule_instance_id, isouter=True)
        .join(plan, plan.c.id == cursor.c.plan_id, isouter=True)
        .order_by(cursor.c.provenance_code, cursor.c.endpoint_name, cursor.c.operation_code, cursor.c.id)
    )


def cursor_entry(row: sa.Row[Any]) -> CursorEntry:
    """A cursor as `cursors_with_query` finds it."""
    expression = row.expr_proto_snapshot
    query = None if expression == Const(value=True).json() else expression
    return CursorEntry(
        namespace=namespace_from(row),
        value=row.cursor_value,
        observed_max=row.observed_max_value,
        query=(row.trigger_params or {}).get("query") or query,
        campaign=(row.plan_remarks or {}).get("campaign"),
    )


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
