"""Tasks that wait for their time because a provider, or its rate limiter, put them off."""

from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa

from ingest_core.model.codes import TaskStatus
from ingest_core.store.schema.tables import ing_task

BY_RATE = ("RATE_WAIT",)
"""Delayed because the next permit was too far away."""

BY_PROVIDER = (*BY_RATE, "HTTP_429", "HTTP_503")
"""Delayed for one of these reasons: a permit too far away, or the provider's own Retry-After."""

_IN_LIST = 500


def bring_forward(connection: sa.Connection, source: str, codes: Collection[str], now: datetime) -> int:
    """Make the source's tasks that were put off with these errors due now; how many."""
    table = ing_task
    waits = sa.and_(
        table.c.provenance_code == source, table.c.status_code == TaskStatus.QUEUED.value, table.c.scheduled_at > now
    )
    rows = connection.execute(sa.select(table.c.id, table.c.last_error).where(waits).order_by(table.c.id)).all()
    ids = [row.id for row in rows if (row.last_error or {}).get("code") in codes]
    for start in range(0, len(ids), _IN_LIST):
        some = table.c.id.in_(ids[start : start + _IN_LIST])
        connection.execute(sa.update(table).where(some, waits).values(scheduled_at=now, updated_at=now))
    return len(ids)
