"""What people and fuses do to work: cancel it, have it tried again, stop a partition and let it go on."""

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial

import sqlalchemy as sa

from ingest_core.model.checkpoint import Checkpoint
from ingest_core.model.codes import (
    LIVE_TASKS,
    ControlState,
    PlanStatus,
    ResliceStatus,
    SliceStatus,
    TaskStatus,
)
from ingest_core.model.errors import BadInput, SchemaDrift
from ingest_core.model.partition import Partition
from ingest_core.model.scope import ScopeKind, WorkScope
from ingest_core.model.slice_codes import SignalState
from ingest_core.model.whole_number import whole_number
from ingest_core.store.engine.database import Database
from ingest_core.store.engine.dialect import insert_new, locked
from ingest_core.store.ledger.checkpoints import checkpoint_json, checkpoint_of
from ingest_core.store.ledger.settle import cancel_runs, move_signals, settle_plan, settle_slices
from ingest_core.store.ledger.transitions import move
from ingest_core.store.schema.columns import in_partition, partition_values
from ingest_core.store.schema.tables import (
    ing_partition_control,
    ing_plan,
    ing_plan_slice,
    ing_reslice_request,
    ing_task,
    ing_task_run,
)

ChangeCheckpoint = Callable[[Checkpoint, int], Checkpoint]
"""The checkpoint at which a task continues after an operator's retry, with its attempts."""

_CHUNK = 500
_CANCELLED = {"code": "CANCELLED", "message": "cancelled by an operator"}
_IDLE = (ControlState.PAUSED, ControlState.FUSED)


class SqlWorkControl:
    """A WorkControl."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def cancel(self, scope: WorkScope) -> int:
        """End what is live of it; a worker in the midst finds its lease gone. How many tasks it was."""
        plans = self._plans(scope)
        self._database.transact(lambda connection: self._cancel_whole(connection, scope, plans))
        count = 0
        while chunk := self._database.transact(lambda connection: self._cancel_some(connection, scope)):
            count += chunk
        return count

    def _cancel_some(self, connection: sa.Connection, scope: WorkScope) -> int:
        now = self._database.now(connection)
        live = [status.value for status in LIVE_TASKS]
        rows = self._tasks(connection, sa.and_(_within(scope), ing_task.c.status_code.in_(live)))
        ids = [row.id for row in rows]
        if not ids:
            return 0
        free = {"lease_owner": None, "leased_until": None, "last_error": _CANCELLED}
        fenced = {"fence_no": ing_task.c.fence_no + 1, "finished_at": now, "updated_at": now}
        move(connection, ing_task, TaskStatus.CANCELLED, ing_task.c.id.in_(ids), **free, **fenced)
        cancel_runs(connection, ids, _CANCELLED, now)
        settle_slices(connection, [row.slice_id for row in rows], SliceStatus.CANCELLED, now)
        for plan_id in sorted({row.plan_id for row in rows}):
            settle_plan(connection, plan_id, now)
        return len(ids)

    def _cancel_whole(self, connection: sa.Connection, scope: WorkScope, plans: list[int]) -> None:
        """A cancelled plan is CANCELLED whatever has succeeded; cancelled slices are not re-sliced."""
        now = self._database.now(connection)
        if scope.kind == ScopeKind.PLAN:
            move(connection, ing_plan, PlanStatus.CANCELLED, ing_plan.c.id.in_(plans), updated_at=now)
        request = ing_reslice_request
        column = {ScopeKind.PLAN: request.c.plan_id, ScopeKind.SLICE: request.c.slice_id}
        mine = column.get(scope.kind, request.c.task_id) == _number(scope)
        waits = (mine, request.c.status_code == ResliceStatus.OPEN.value)
        connection.execute(sa.update(request).where(*waits).values(status_code=ResliceStatus.REFUSED.value))
        for plan_id in plans:
            settle_plan(connection, plan_id, now)

    def retry(self, scope: WorkScope, accepted: str | None = None) -> int:
        """Queue FAILED tasks again, and PARTIAL ones without a pending re-slice request; how many tasks."""
        return self._requeue(_within(scope), self._plans(scope), lambda at, attempts: at.retried(attempts, accepted))

    def accept_drift(self, partitions: Iterable[Partition], reason: str) -> int:
        """Queue the tasks again that FAILED by schema drift, each accepting the page it failed at; how many tasks."""
        count = 0
        for partition in partitions:
            mine = sa.and_(in_partition(ing_task, partition), _failed_by(SchemaDrift.code))
            query = sa.select(ing_task.c.plan_id).where(mine).distinct()
            with self._database.read() as connection:
                plans = list(connection.execute(query).scalars())
            count += self._requeue(mine, plans, lambda at, attempts: at.retried(attempts).accepting_next(reason))
        return count

    def _requeue(self, wanted: sa.ColumnElement[bool], plans: list[int], change: ChangeCheckpoint) -> int:
        """Queue unfinished tasks again, each at its checkpoint as `change` leaves it; how many tasks."""
        count, last = 0, 0
        while rows := self._database.transact(partial(self._requeue_some, wanted, plans, last, change)):
            count, last = count + len(rows), rows[-1]
        return count

    def _requeue_some(
        self,
        wanted: sa.ColumnElement[bool],
        plans: list[int],
        last: int,
        change: ChangeCheckpoint,
        connection: sa.Connection,
    ) -> list[int]:
        """The next of them; a task that fails again meanwhile is not queued again."""
        now = self._database.now(connection)
        # The update locks the plans: a task of theirs that ends meanwhile sees what is queued again.
        connection.execute(sa.update(ing_plan).where(ing_plan.c.id.in_(plans)).values(updated_at=now))
        rows = self._tasks(connection, sa.and_(wanted, ing_task.c.id > last, _unfinished()))
        for row in rows:
            checkpoint = change(checkpoint_of(row.checkpoint), row.attempt_count)
            never_lost = {"expiry_count": 0, "blamed_count": 0}
            again = {**never_lost, "finished_at": None, "scheduled_at": now, "updated_at": now}
            mine, kept = ing_task.c.id == row.id, checkpoint_json(checkpoint)
            move(connection, ing_task, TaskStatus.QUEUED, mine, checkpoint=kept, **again)
        slices, going_on = [row.slice_id for row in rows], {row.plan_id for row in rows}
        move(connection, ing_plan_slice, SliceStatus.READY, ing_plan_slice.c.id.in_(slices), updated_at=now)
        move_signals(connection, slices, SignalState.OPEN, SignalState.PLANNED, now)
        move(connection, ing_plan, PlanStatus.READY, ing_plan.c.id.in_(going_on), updated_at=now)
        return [row.id for row in rows]

    def tasks_of(self, scope: WorkScope) -> dict[str, int]:
        """How many tasks of it are in which state."""
        state = ing_task.c.status_code
        query = sa.select(state, sa.func.count()).where(_within(scope)).group_by(state)
        with self._database.read() as connection:
            return {row[0]: row[1] for row in connection.execute(query)}

    def _tasks(self, connection: sa.Connection, wanted: sa.ColumnElement[bool]) -> list[sa.Row[tuple[int, int, int]]]:
        query = sa.select(ing_task).where(wanted).order_by(ing_task.c.id).limit(_CHUNK)
        return list(connection.execute(locked(query)).all())

    def _plans(self, scope: WorkScope) -> list[int]:
        """The plans it is about; a wish about nothing is a mistake."""
        query = sa.select(ing_task.c.plan_id).where(_within(scope)).distinct()
        with self._database.read() as connection:
            found = list(connection.execute(query).scalars())
            if not found and scope.kind == ScopeKind.PLAN:
                known = sa.select(ing_plan.c.id).where(ing_plan.c.id == _number(scope))
                found = list(connection.execute(known).scalars())
        if not found:
            raise _unknown(scope)
        return found

    def pause(self, partitions: Iterable[Partition], reason: str) -> list[Partition]:
        """Let these rest until they are resumed; those it was news to."""
        return [one for one in partitions if self._control(one, ControlState.PAUSED, (ControlState.ACTIVE,), reason)]

    def resume(self, partitions: Iterable[Partition], reason: str) -> list[Partition]:
        """Let these work again; those it was news to."""
        return [one for one in partitions if self._control(one, ControlState.ACTIVE, _IDLE, reason)]

    def _control(
        self, partition: Partition, after: ControlState, states: tuple[ControlState, ...], reason: str
    ) -> bool:
        def work(connection: sa.Connection) -> bool:
            now = self._database.now(connection)
            table = ing_partition_control
            if after != ControlState.ACTIVE:
                self._make_sure(connection, partition, now)
            mine = in_partition(table, partition)
            changes = {"control_code": after.value, "reason": reason, "updated_at": now}
            statement = sa.update(table).where(mine, table.c.control_code.in_(states))
            return connection.execute(statement.values(**changes, version=table.c.version + 1)).rowcount == 1

        return self._database.transact(work)

    def _make_sure(self, connection: sa.Connection, partition: Partition, now: datetime) -> None:
        """A partition that never worked has no row yet."""
        values = {**partition_values(partition), "control_code": ControlState.ACTIVE.value, "version": 0}
        statement = insert_new(self._database.dialect_name, ing_partition_control, "control_code")
        connection.execute(statement.values(**values, created_at=now, updated_at=now))

    def fuse(self, partition: Partition, version: int, reason: str) -> bool:
        """Stop a partition that cannot go on, unless its control was changed since the claim."""

        def work(connection: sa.Connection) -> bool:
            table = ing_partition_control
            active = table.c.control_code == ControlState.ACTIVE.value
            statement = sa.update(table).where(in_partition(table, partition), active, table.c.version == version)
            changes = {"control_code": ControlState.FUSED.value, "reason": reason, "version": version + 1}
            return connection.execute(statement.values(**changes, updated_at=self._database.now_sql())).rowcount == 1

        return self._database.transact(work)


def _within(scope: WorkScope) -> sa.ColumnElement[bool]:
    if scope.kind == ScopeKind.FLOW_RUN:
        return ing_task.c.id.in_(sa.select(ing_task_run.c.task_id).where(ing_task_run.c.flow_run_id == scope.id))
    column = {ScopeKind.PLAN: ing_task.c.plan_id, ScopeKind.SLICE: ing_task.c.slice_id, ScopeKind.TASK: ing_task.c.id}
    return column[scope.kind] == _number(scope)


def _failed_by(code: str) -> sa.ColumnElement[bool]:
    """Whether a task ended FAILED with that error."""
    failed = ing_task.c.status_code == TaskStatus.FAILED.value
    return sa.and_(failed, ing_task.c.last_error["code"].as_string() == code)


def _unfinished() -> sa.ColumnElement[bool]:
    """FAILED, or PARTIAL with no pending re-slice request, of a plan that is not cancelled."""
    request = ing_reslice_request
    cut = (ResliceStatus.OPEN.value, ResliceStatus.SERVED.value)
    asked = sa.select(request.c.id).where(request.c.task_id == ing_task.c.id, request.c.status_code.in_(cut)).exists()
    halfway = sa.and_(ing_task.c.status_code == TaskStatus.PARTIAL.value, ~asked)
    dropped = sa.select(ing_plan.c.id).where(
        ing_plan.c.id == ing_task.c.plan_id, ing_plan.c.status_code == PlanStatus.CANCELLED.value
    )
    failed = ing_task.c.status_code == TaskStatus.FAILED.value
    return sa.and_(sa.or_(failed, halfway), ~dropped.exists())


def _number(scope: WorkScope) -> int:
    if whole_number(scope.id) is None:
        raise _unknown(scope)
    return int(scope.id)


def _unknown(scope: WorkScope) -> BadInput:
    return BadInput(
        "WORK_UNKNOWN", f"there is no {scope.kind} {scope.id!r}", where=str(scope), remedy="see: patra status"
    )
