"""Re-slice requests: asked for by a task that ends PARTIAL, served by children of its plan."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ingest_core.model.codes import PlanStatus, ResliceStatus
from ingest_core.model.id_range import range_of
from ingest_core.model.namespace import namespace_of
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.window import Window
from ingest_core.planning.ports import Reslice
from ingest_core.planning.slicing import SliceDraft
from ingest_core.store.engine.dialect import locked
from ingest_core.store.ledger.settle import settle_plan
from ingest_core.store.ledger.transitions import move
from ingest_core.store.plans.writer import PlanWriter
from ingest_core.store.schema.tables import ing_plan, ing_plan_slice, ing_reslice_request, ing_task


def read_open(connection: sa.Connection, request_id: int, *, lock: bool) -> Reslice | None:
    """The request with its slice and plan; none when it is no longer open."""
    request, task, plan = ing_reslice_request, ing_task, ing_plan
    mine = sa.select(request).where(request.c.id == request_id, request.c.status_code == ResliceStatus.OPEN.value)
    row = connection.execute(locked(mine) if lock else mine).first()
    if row is None:
        return None
    above = connection.execute(
        sa.select(
            task.c.window_from,
            task.c.window_to,
            task.c.params,
            task.c.namespace_key,
            task.c.priority,
            plan.c.plan_key,
            plan.c.schedule_instance_id,
            plan.c.provenance_config_snapshot,
            plan.c.slice_strategy_code,
            plan.c.slice_params,
        )
        .join(plan, plan.c.id == task.c.plan_id)
        .where(task.c.id == row.task_id)
    ).one()
    spec = SpecSnapshot.from_json(above.provenance_config_snapshot)
    return Reslice(
        request_id=row.id,
        key=row.idempotent_key,
        plan_id=row.plan_id,
        instance_id=above.schedule_instance_id,
        plan_key=above.plan_key,
        namespace=namespace_of(spec, above.namespace_key),
        spec=spec,
        strategy=above.slice_strategy_code,
        parent=Window(above.window_from, above.window_to),
        parent_range=range_of(above.params.get("range")),
        window=Window(row.remaining_from, row.remaining_to),
        range=range_of(row.range),
        priority=above.priority,
        lag_seconds=above.slice_params.get("safetyLagSec", spec.time.lag_seconds),
    )


def serve(connection: sa.Connection, reslice: Reslice, drafts: Iterable[SliceDraft], now: datetime) -> int:
    """Write the children, numbered on from the plan's last slice; the plan goes on, unless it was cancelled."""
    plan = ing_plan.c.id == reslice.plan_id
    wanted = sa.update(ing_plan).where(plan, ing_plan.c.status_code != PlanStatus.CANCELLED.value)
    if connection.execute(wanted.values(updated_at=now)).rowcount == 0:
        _end(connection, reslice, ResliceStatus.REFUSED, {"reslice_refused": "the plan was cancelled"}, now)
        return 0
    move(connection, ing_plan, PlanStatus.READY, plan, updated_at=now)
    last = connection.execute(
        sa.select(sa.func.max(ing_plan_slice.c.slice_no)).where(ing_plan_slice.c.plan_id == reslice.plan_id)
    ).scalar_one()
    writer = PlanWriter(connection, now, reslice.namespace, reslice.instance_id)
    children = writer.slices(reslice.plan_id, drafts, after=last)
    _end(connection, reslice, ResliceStatus.SERVED, {"children": {"from": last + 1, "to": last + children}}, now)
    return children


def refuse(connection: sa.Connection, reslice: Reslice, reason: str, now: datetime) -> None:
    """The slice stays PARTIAL, and its plan with it."""
    _end(connection, reslice, ResliceStatus.REFUSED, {"reslice_refused": reason}, now)
    settle_plan(connection, reslice.plan_id, now)


def _end(
    connection: sa.Connection, reslice: Reslice, status: ResliceStatus, remarks: dict[str, Any], now: datetime
) -> None:
    request = ing_reslice_request
    mine = sa.update(request).where(request.c.id == reslice.request_id)
    connection.execute(mine.values(status_code=status.value))
    slices = sa.select(request.c.slice_id).where(request.c.id == reslice.request_id).scalar_subquery()
    connection.execute(
        sa.update(ing_plan_slice).where(ing_plan_slice.c.id == slices).values(record_remarks=remarks, updated_at=now)
    )
