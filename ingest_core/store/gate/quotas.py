"""Quotas in the database: what was used of a provider's day or hour, and what plans have reserved of it."""

from datetime import datetime

import sqlalchemy as sa

from ingest_core.gate.chain import Gate
from ingest_core.gate.ports import Asker, QuotaShown
from ingest_core.gate.quota import QuotaUse, QuotaWindow, windows_at
from ingest_core.store.engine.dialect import upsert
from ingest_core.store.schema.tables import ing_quota_ledger, ing_quota_reservation

LEAST_URGENT = 9
"""The largest priority number."""


def uses_now(connection: sa.Connection, gate: Gate, priority: int, now: datetime) -> list[QuotaUse]:
    """The windows of the limiter's quotas that contain now, as a request of this priority finds them."""
    return [_use(connection, gate.key, window, priority) for window in windows_at(gate.rate, now)]


def count(connection: sa.Connection, gate: Gate, asker: Asker, units: int, now: datetime) -> None:
    """Count units as used, or, below 0, as given back; a plan's come from its reservation first."""
    for window in windows_at(gate.rate, now):
        values = {"used_count": units, "reserved_count": 0, "created_at": now, "updated_at": now}
        key = {"rate_key": gate.key, "quota_window_from": window.start, "quota_window_to": window.end}
        statement = upsert(
            connection.dialect.name, ing_quota_ledger, ("rate_key", "quota_window_from", "quota_window_to"),
            ("updated_at",), ("used_count",),
        )  # fmt: skip
        connection.execute(statement, {**key, **values})
        if asker.plan_id is not None:
            _use_reservation(connection, gate.key, window, asker.plan_id, units, now)


def _use_reservation(
    connection: sa.Connection, key: str, window: QuotaWindow, plan_id: int, units: int, now: datetime
) -> None:
    table = ing_quota_reservation
    mine = (table.c.plan_id == plan_id, table.c.rate_key == key, table.c.quota_window_from == window.start)
    connection.execute(sa.update(table).where(*mine).values(used_count=table.c.used_count + units, updated_at=now))


def _use(connection: sa.Connection, key: str, window: QuotaWindow, priority: int) -> QuotaUse:
    ledger, held = ing_quota_ledger, ing_quota_reservation
    used = connection.execute(
        sa.select(ledger.c.used_count).where(
            ledger.c.rate_key == key,
            ledger.c.quota_window_from == window.start,
            ledger.c.quota_window_to == window.end,
        )
    ).scalar()
    return QuotaUse(window, used or 0, _reserved(connection, held, key, window, held.c.priority < priority))


def _reserved(
    connection: sa.Connection, held: sa.Table, key: str, window: QuotaWindow, which: sa.ColumnElement[bool]
) -> int:
    """Units reserved and not used yet, of these reservations."""
    left = held.c.reserved_count - held.c.used_count
    query = sa.select(sa.func.sum(sa.case((left > 0, left), else_=0))).where(
        held.c.rate_key == key, held.c.quota_window_from == window.start, held.c.quota_window_to == window.end, which
    )
    return int(connection.execute(query).scalar() or 0)


def shown(connection: sa.Connection, gate: Gate, now: datetime) -> QuotaShown:
    """The quota that is nearest to its end."""
    uses = [_use(connection, gate.key, window, priority=LEAST_URGENT + 1) for window in windows_at(gate.rate, now)]
    nearest = min(uses, key=lambda use: use.window.limit - use.used, default=None)
    if nearest is None:
        return QuotaShown()
    return QuotaShown(nearest.window.limit, nearest.used, nearest.reserved_above, nearest.window.end)
