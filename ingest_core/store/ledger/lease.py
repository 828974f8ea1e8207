"""The fence: nothing of a run is written without the lease it began with."""

from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from ingest_core.model.codes import LEASED_TASKS
from ingest_core.model.errors import LeaseLost
from ingest_core.model.lease import Lease
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import ing_task


def fenced_update(
    database: Database, connection: sa.Connection, lease: Lease, attempt_no: int | None = None, **values: Any
) -> None:
    """The first statement of every writing transaction of a run: it must hit the task, and renews its lease.

    With its attempt's number a run that another one of the same lease has overtaken hits nothing either.
    """
    mine = () if attempt_no is None else (ing_task.c.attempt_count == attempt_no,)
    hit = connection.execute(
        sa.update(ing_task)
        .where(
            ing_task.c.id == lease.task_id,
            ing_task.c.lease_owner == lease.owner,
            ing_task.c.fence_no == lease.fence_no,
            ing_task.c.status_code.in_([status.value for status in LEASED_TASKS]),
            *mine,
        )
        .values(
            leased_until=database.now_sql(timedelta(seconds=lease.ttl_seconds)),
            lease_count=ing_task.c.lease_count + 1,
            updated_at=database.now_sql(),
            **values,
        )
    ).rowcount
    if hit != 1:
        raise LeaseLost(f"task {lease.task_id}: fence {lease.fence_no} of {lease.owner} no longer holds")
