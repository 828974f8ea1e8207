"""The work of a source that must end before the source can be removed."""

import sqlalchemy as sa

from ingest_core.model.codes import LIVE_TASKS, ResliceStatus
from ingest_core.model.errors import Refused
from ingest_core.model.naming import counted
from ingest_core.store.engine.dialect import locked
from ingest_core.store.schema.tables import ing_partition_control, ing_reslice_request, ing_task

SHOWN_PLANS = 3


def refuse_live_work(connection: sa.Connection, source: str) -> None:
    """Refused while the source has tasks that are not over, or parts of slices that wait to be cut."""
    control, task, request = ing_partition_control, ing_task, ing_reslice_request
    # A plan is stored under the lock of its partition: one that is stored now is waited for, and its tasks count.
    mine = sa.select(control.c.id).where(control.c.provenance_code == source).order_by(control.c.id)
    connection.execute(locked(mine)).all()
    live = sa.and_(task.c.provenance_code == source, task.c.status_code.in_([one.value for one in LIVE_TASKS]))
    tasks = connection.execute(sa.select(task.c.plan_id, sa.func.count()).where(live).group_by(task.c.plan_id)).all()
    waiting = connection.execute(
        sa.select(request.c.plan_id, sa.func.count())
        .join(task, task.c.id == request.c.task_id)
        .where(task.c.provenance_code == source, request.c.status_code == ResliceStatus.OPEN.value)
        .group_by(request.c.plan_id)
    ).all()
    if not tasks and not waiting:
        return
    plans = sorted({plan_id for plan_id, _ in (*tasks, *waiting)})
    shown = ", ".join(map(str, plans[:SHOWN_PLANS])) + (", ..." if len(plans) > SHOWN_PLANS else "")
    live_tasks, requests = (sum(number for _, number in found) for found in (tasks, waiting))
    raise Refused(
        "SOURCE_IN_USE",
        f"{counted(live_tasks, 'live task')} and {counted(requests, 'open re-slice request')} of plans {shown}",
        where=f"source {source!r}",
        remedy=f"wait until they have ended, or cancel them: patra cancel --plan {plans[0]}",
    )
