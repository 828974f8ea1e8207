"""What ends together: runs and pages left open, slices, plans."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ingest_core.model.codes import (
    LIVE_TASKS,
    BatchStatus,
    Operation,
    PlanStatus,
    ResliceStatus,
    RunStatus,
    SliceStatus,
    TaskStatus,
)
from ingest_core.model.expression import values_of
from ingest_core.model.slice_codes import SignalState
from ingest_core.model.task import ID_FIELD
from ingest_core.store.ledger.transitions import move
from ingest_core.store.records.quarantine_writer import settle_retries
from ingest_core.store.schema.tables import (
    ing_plan,
    ing_plan_slice,
    ing_reslice_request,
    ing_signal,
    ing_task,
    ing_task_run,
    ing_task_run_batch,
)

WEAK_ENDS = "weak_ends"
"""The key of a plan's remarks that counts them."""

_IN_LIST = 500


def close_batches(
    connection: sa.Connection,
    task_ids: Sequence[int],
    error: dict[str, Any],
    now: datetime,
    status: BatchStatus = BatchStatus.FAILED,
) -> None:
    """Close whatever pages of tasks were left open."""
    batch = ing_task_run_batch
    move(connection, batch, status, batch.c.task_id.in_(task_ids), error=error, updated_at=now)


def close_runs(connection: sa.Connection, task_id: int, error: dict[str, Any], now: datetime) -> None:
    """Close whatever attempts and pages of a task were left open."""
    close_batches(connection, [task_id], error, now)
    run = ing_task_run
    move(connection, run, RunStatus.FAILED, run.c.task_id == task_id, error=error, finished_at=now, updated_at=now)


def cancel_runs(connection: sa.Connection, task_ids: Sequence[int], error: dict[str, Any], now: datetime) -> None:
    """Close the attempts and pages of cancelled tasks."""
    close_batches(connection, task_ids, error, now, BatchStatus.SKIPPED)
    run, mine = ing_task_run, ing_task_run.c.task_id.in_(task_ids)
    move(connection, run, RunStatus.CANCELLED, mine, error=error, finished_at=now, updated_at=now)


def settle_task(connection: sa.Connection, plan_id: int, slice_id: int, status: TaskStatus, now: datetime) -> None:
    """Let the slice follow its task, and the plan its last task."""
    settle_slices(connection, [slice_id], SliceStatus(status.value), now)
    settle_plan(connection, plan_id, now)


def settle_slices(connection: sa.Connection, slice_ids: Sequence[int], status: SliceStatus, now: datetime) -> None:
    """Let slices end as their tasks did, and the ids in them with them."""
    move(connection, ing_plan_slice, status, ing_plan_slice.c.id.in_(slice_ids), updated_at=now)
    # The ids of a refresh are done with its task; if it did not succeed, they wait again.
    after = SignalState.DONE if status == SliceStatus.SUCCEEDED else SignalState.OPEN
    move_signals(connection, slice_ids, SignalState.PLANNED, after, now)


def move_signals(
    connection: sa.Connection, slice_ids: Sequence[int], before: SignalState, after: SignalState, now: datetime
) -> None:
    """Give the ids that slices refresh another state, where they have the one before."""
    refreshes = ing_plan_slice.c.operation_code == Operation.UPDATE.value
    query = sa.select(ing_plan_slice).where(ing_plan_slice.c.id.in_(slice_ids), refreshes)
    table = ing_signal
    for row in connection.execute(query).all():
        ids = values_of(row.expr_snapshot, ID_FIELD)
        for start in range(0, len(ids), _IN_LIST):
            connection.execute(
                sa.update(table)
                .where(
                    table.c.provenance_code == row.provenance_code,
                    table.c.endpoint_name == row.endpoint_name,
                    table.c.state_code == before.value,
                    table.c.provider_id.in_(ids[start : start + _IN_LIST]),
                )
                .values(state_code=after.value, updated_at=now)
            )


def count_weak_end(connection: sa.Connection, plan_id: int, now: datetime) -> None:
    """Count one more slice of a plan whose end no total confirms."""
    mine = ing_plan.c.id == plan_id
    # The update locks the plan: of two tasks that end at once, the second sees the first's count.
    connection.execute(sa.update(ing_plan).where(mine).values(updated_at=now))
    remarks = connection.execute(sa.select(ing_plan.c.record_remarks).where(mine)).scalar() or {}
    counted = {**remarks, WEAK_ENDS: remarks.get(WEAK_ENDS, 0) + 1}
    connection.execute(sa.update(ing_plan).where(mine).values(record_remarks=counted))


def settle_plan(connection: sa.Connection, plan_id: int, now: datetime) -> None:
    """Let a plan end when nothing of it is under way any more."""
    # The update locks the plan: of two tasks that end at once, the second sees the first.
    connection.execute(sa.update(ing_plan).where(ing_plan.c.id == plan_id).values(updated_at=now))
    if _any_live(connection, plan_id):
        return
    tally = sa.select(ing_task.c.status_code).where(ing_task.c.plan_id == plan_id, ~_recut()).distinct()
    ended = plan_status({TaskStatus(code) for code in connection.execute(tally).scalars()})
    if ended == PlanStatus.SUCCEEDED and _stock_was_short(connection, plan_id):
        ended = PlanStatus.PARTIAL
    move(connection, ing_plan, ended, ing_plan.c.id == plan_id)
    settle_retries(connection, plan_id, ended, now)


def _recut() -> sa.ColumnElement[bool]:
    """Whether a task's children do what it left: what became of it no longer matters."""
    request = ing_reslice_request
    served = sa.select(request.c.id).where(
        request.c.task_id == ing_task.c.id, request.c.status_code == ResliceStatus.SERVED.value
    )
    return sa.and_(ing_task.c.status_code == TaskStatus.PARTIAL.value, served.exists())


def _stock_was_short(connection: sa.Connection, plan_id: int) -> bool:
    remarks = connection.execute(sa.select(ing_plan.c.record_remarks).where(ing_plan.c.id == plan_id)).scalar()
    return bool(remarks and remarks.get("stock"))


def _any_live(connection: sa.Connection, plan_id: int) -> bool:
    live = [status.value for status in LIVE_TASKS]
    query = sa.select(ing_task.c.id).where(ing_task.c.plan_id == plan_id, ing_task.c.status_code.in_(live)).limit(1)
    if connection.execute(query).first() is not None:
        return True
    request = ing_reslice_request
    waits = sa.select(request.c.id).where(
        request.c.status_code == ResliceStatus.OPEN.value, request.c.plan_id == plan_id
    )
    return connection.execute(waits.limit(1)).first() is not None


def plan_status(ended: set[TaskStatus]) -> PlanStatus:
    """The plan's final status from its tasks' final ones."""
    if ended <= {TaskStatus.SUCCEEDED}:
        return PlanStatus.SUCCEEDED
    if ended & {TaskStatus.SUCCEEDED, TaskStatus.PARTIAL}:
        return PlanStatus.PARTIAL
    return PlanStatus.FAILED if TaskStatus.FAILED in ended else PlanStatus.CANCELLED
