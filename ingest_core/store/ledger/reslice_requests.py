"""Re-slice requests, written when a task ends PARTIAL."""

from datetime import datetime

import sqlalchemy as sa

from ingest_core.model.canonical import hash_of
from ingest_core.model.codes import ResliceStatus
from ingest_core.model.slice_codes import ResliceReason
from ingest_core.model.task import Task
from ingest_core.model.window import Window
from ingest_core.store.schema.tables import ing_reslice_request


def request_reslice(
    connection: sa.Connection, task: Task, run_id: int, reason: ResliceReason, rest: Window, now: datetime
) -> None:
    """Request that the rest of a task is cut into smaller slices; one request per task."""
    request = ing_reslice_request
    key = hash_of("reslice", task.lineage.task_id, task.window.json())
    if connection.execute(sa.select(request.c.id).where(request.c.idempotent_key == key)).first():
        return
    connection.execute(
        sa.insert(request).values(
            plan_id=task.lineage.plan_id,
            slice_id=task.lineage.slice_id,
            task_id=task.lineage.task_id,
            run_id=run_id,
            remaining_from=rest.start,
            remaining_to=rest.end,
            range=task.range.json() if task.range else None,
            reason_code=reason.value,
            status_code=ResliceStatus.OPEN.value,
            idempotent_key=key,
            created_at=now,
        )
    )
