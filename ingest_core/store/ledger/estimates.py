"""Sizes of windows: what the provider said, and what was read."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from ingest_core.model.clock import CLOCK_SLACK
from ingest_core.model.id_range import range_of
from ingest_core.model.namespace import Namespace
from ingest_core.model.record import Arrivals
from ingest_core.model.slice_codes import EstimateMethod
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.task import Task
from ingest_core.model.window import Window
from ingest_core.planning.estimate import Estimate, History, WindowPart
from ingest_core.planning.ports import FRESH
from ingest_core.store.engine.database import Database
from ingest_core.store.engine.dialect import upsert
from ingest_core.store.schema.columns import partition_values
from ingest_core.store.schema.tables import ing_arrival, ing_estimate

MOST_ESTIMATES = 2000
MOST_HISTORY = 50

_ASKED = (EstimateMethod.COUNT.value, EstimateMethod.FIRST_PAGE.value)


def _about(spec: SpecSnapshot) -> sa.ColumnElement[bool]:
    table = ing_estimate
    return sa.and_(
        table.c.provenance_code == spec.provenance_code,
        table.c.endpoint_name == spec.endpoint_name,
        table.c.expr_hash == spec.expr_proto_hash,
    )


def insert_estimates(
    database: Database, connection: sa.Connection, spec: SpecSnapshot, found: Mapping[WindowPart, Estimate]
) -> None:
    """Keep what is known of windows and ranges."""
    now = database.now(connection)
    connection.execute(
        sa.insert(ing_estimate),
        [
            {
                "provenance_code": spec.provenance_code,
                "endpoint_name": spec.endpoint_name,
                "expr_hash": spec.expr_proto_hash,
                "window_from": window.start,
                "window_to": window.end,
                "range": part.json() if part else None,
                "record_count": estimate.records,
                "method_code": estimate.method.value,
                "created_at": now,
            }
            for (window, part), estimate in found.items()
        ],
    )


def read_estimates(
    database: Database, connection: sa.Connection, spec: SpecSnapshot, window: Window
) -> dict[WindowPart, Estimate]:
    """What the provider has lately said of windows within this one; the newest answer counts."""
    table, now = ing_estimate, database.now(connection)
    query = (
        sa.select(table.c.window_from, table.c.window_to, table.c.range, table.c.record_count, table.c.method_code)
        .where(
            _about(spec),
            table.c.window_from >= window.start,
            table.c.window_from < window.end,
            table.c.window_to <= window.end,
            table.c.method_code.in_(_ASKED),
            table.c.created_at > now - FRESH,
            table.c.created_at <= now + CLOCK_SLACK,  # or it would be fresh for years
        )
        .order_by(table.c.id.desc())
        .limit(MOST_ESTIMATES)
    )
    newest_last = reversed(connection.execute(query).all())
    return {
        (Window(row.window_from, row.window_to), range_of(row.range)): Estimate(
            row.record_count, EstimateMethod(row.method_code)
        )
        for row in newest_last
    }


def read_history(connection: sa.Connection, spec: SpecSnapshot) -> History | None:
    """What the newest windows that were read whole held."""
    table = ing_estimate
    query = (
        sa.select(table.c.window_from, table.c.window_to, table.c.record_count)
        .where(_about(spec), table.c.method_code == EstimateMethod.OBSERVED.value)
        .order_by(table.c.window_from.desc())
        .limit(MOST_HISTORY)
    )
    rows = connection.execute(query).all()
    span = sum((row.window_to - row.window_from for row in rows), timedelta(0))
    return History(sum(row.record_count for row in rows), span) if rows else None


def note_reading(connection: sa.Connection, task: Task, stats: Mapping[str, Any], now: datetime) -> None:
    """What a window that was read held, for estimates to come; a range of one says too little."""
    if task.range is not None:
        return
    connection.execute(
        sa.insert(ing_estimate).values(
            provenance_code=task.partition.provenance_code,
            endpoint_name=task.partition.endpoint_name,
            expr_hash=task.spec.expr_proto_hash,
            window_from=task.window.start,
            window_to=task.window.end,
            record_count=stats.get("distinctCount", 0),
            method_code=EstimateMethod.OBSERVED.value,
            created_at=now,
        )
    )


def note_arrivals(database: Database, connection: sa.Connection, task: Task, arrivals: Arrivals, now: datetime) -> None:
    """Count what arrived today, and what of it late."""
    table = ing_arrival
    key = ("provenance_code", "operation_code", "namespace_key", "arrived_on")
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    values = {
        **partition_values(task.partition),
        "namespace_key": task.namespace.key,
        "arrived_on": today,
        "received_count": arrivals.received,
        "late_count": arrivals.late,
        "provider_late_seconds": 0,
        "created_at": now,
        "updated_at": now,
    }
    statement = upsert(database.dialect_name, table, key, ("updated_at",), ("received_count", "late_count"))
    connection.execute(statement.values(values))
    mine = sa.and_(*(table.c[name] == values[name] for name in key))
    behind = table.c.provider_late_seconds < arrivals.provider_late_seconds
    connection.execute(
        sa.update(table).where(mine, behind).values(provider_late_seconds=arrivals.provider_late_seconds)
    )


def read_arrivals(
    connection: sa.Connection, namespace: Namespace, since: datetime, clock_since: datetime, now: datetime
) -> Arrivals:
    """What came on the days after `since`; how late the provider's clock was, on the days after `clock_since`.

    Days that have not come yet were written by a clock that was ahead, and do not count.
    """
    table = ing_arrival
    counts = table.c.arrived_on > since
    row = connection.execute(
        sa.select(
            sa.func.sum(sa.case((counts, table.c.received_count), else_=0)),
            sa.func.sum(sa.case((counts, table.c.late_count), else_=0)),
            sa.func.max(table.c.provider_late_seconds),
        ).where(
            table.c.provenance_code == namespace.partition.provenance_code,
            table.c.operation_code == namespace.partition.operation_code.value,
            table.c.namespace_key == namespace.key,
            table.c.arrived_on > clock_since,
            table.c.arrived_on <= now,
        )
    ).one()
    received, late, behind = (int(value or 0) for value in row)
    return Arrivals(received, late, behind)
