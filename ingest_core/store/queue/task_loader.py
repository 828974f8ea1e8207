"""Leased tasks with all they need: snapshot, window, budget and checkpoint."""

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any

import sqlalchemy as sa

from ingest_core.model.codes import Operation
from ingest_core.model.expression import values_of
from ingest_core.model.id_range import range_of
from ingest_core.model.lease import Lease
from ingest_core.model.namespace import namespace_of
from ingest_core.model.partition import Partition
from ingest_core.model.slice_spec import BudgetPayload
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.task import ID_FIELD, Lineage, Task
from ingest_core.model.window import Window
from ingest_core.store.ledger.checkpoints import checkpoint_of
from ingest_core.store.registry.live_credentials import LiveCredentials
from ingest_core.store.schema.columns import PARTITION_COLUMNS, in_namespace
from ingest_core.store.schema.tables import ing_cursor, ing_partition_control, ing_plan, ing_plan_slice, ing_task

KNOWN_PLANS = 100
"""Plans whose number of slices a worker keeps in memory."""


class TaskLoader:
    """Loads tasks for one worker."""

    def __init__(self) -> None:
        self._credentials = LiveCredentials()
        self._slice_counts: dict[int, int] = {}

    def load(self, connection: sa.Connection, ids: Sequence[int], ttl_seconds: int, now: datetime) -> list[Task]:
        """The tasks in the order given, with today's credentials."""
        specs: dict[int, SpecSnapshot] = {}
        found = {}
        for row in connection.execute(_query(), {"ids": ids}).all():
            if row.plan_id not in specs:
                planned = SpecSnapshot.from_json(row.provenance_config_snapshot)
                specs[row.plan_id] = self._credentials.of(connection, planned, now)
            count = self._slices_of(connection, row)
            found[row.id] = _task(connection, row, specs[row.plan_id], ttl_seconds, count, now)
        return [found[task_id] for task_id in ids]

    def _slices_of(self, connection: sa.Connection, row: sa.Row[Any]) -> int:
        """How many slices the plan has; asked again when one of a later number shows that it has more."""
        if row.slice_no > self._slice_counts.get(row.plan_id, 0):
            if len(self._slice_counts) >= KNOWN_PLANS:
                self._slice_counts.clear()
            last = sa.select(sa.func.max(ing_plan_slice.c.slice_no)).where(ing_plan_slice.c.plan_id == row.plan_id)
            self._slice_counts[row.plan_id] = connection.execute(last).scalar_one()
        return self._slice_counts[row.plan_id]


@cache
def _query() -> sa.Select[Any]:
    """Built once: building it takes as long as running it."""
    table, control = ing_task, ing_partition_control
    return (
        sa.select(
            table,
            ing_plan_slice.c.slice_no,
            ing_plan_slice.c.expr_snapshot,
            ing_plan_slice.c.slice_spec,
            ing_plan.c.provenance_config_snapshot,
            control.c.version.label("control_version"),
        )
        .join(ing_plan, ing_plan.c.id == table.c.plan_id)
        .join(ing_plan_slice, ing_plan_slice.c.id == table.c.slice_id)
        .join(control, sa.and_(*(control.c[name] == table.c[name] for name in PARTITION_COLUMNS)))
        .where(table.c.id.in_(sa.bindparam("ids", expanding=True)))
    )


def _task(
    connection: sa.Connection,
    row: sa.Row[Any],
    spec: SpecSnapshot,
    ttl_seconds: int,
    slice_count: int,
    now: datetime,
) -> Task:
    namespace = namespace_of(spec, row.namespace_key)
    reached = sa.select(ing_cursor.c.normalized_instant).where(in_namespace(ing_cursor, namespace))
    watermark: datetime | None = connection.execute(reached).scalar()
    budget = row.slice_spec.get("budget")
    return Task(
        lease=Lease(row.id, row.lease_owner, row.fence_no, ttl_seconds),
        lineage=Lineage(row.schedule_instance_id, row.plan_id, row.slice_id, row.id),
        partition=Partition(row.provenance_code, row.endpoint_name, Operation(row.operation_code)),
        namespace=namespace,
        spec=spec,
        window=Window(row.window_from, row.window_to),
        slice_no=row.slice_no,
        expr_hash=row.expr_hash,
        checkpoint=checkpoint_of(row.checkpoint),
        attempt_no=row.attempt_count + 1,
        priority=row.priority,
        params=row.params,
        range=range_of(row.params.get("range")) if spec.window else None,
        ids=values_of(row.expr_snapshot, ID_FIELD) if spec.window is None else (),
        # One that stands in the future says nothing of what came late.
        watermark=watermark if watermark is None or watermark <= now else None,
        budget=BudgetPayload.model_validate(budget) if budget else None,
        slice_count=slice_count,
        control_version=row.control_version,
    )
