"""The queue: leases with a fence, on the database's time."""

from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from ingest_core.model.codes import LEASED_TASKS, ControlState, Operation, TaskStatus
from ingest_core.model.errors import LeaseLost
from ingest_core.model.expression import values_of
from ingest_core.model.id_range import range_of
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.window import Window
from ingest_core.model.work import ID_FIELD, Lease, Lineage, Partition, Task, namespace_of
from ingest_core.store.checkpoints import checkpoint_of
from ingest_core.store.columns import in_namespace, partition_values
from ingest_core.store.database import Database
from ingest_core.store.dialect import locked
from ingest_core.store.settle import close_runs, settle_task
from ingest_core.store.tables import ing_cursor, ing_partition_control, ing_plan, ing_plan_slice, ing_task

MAX_EXPIRIES = 5
"""So often may a task's lease expire without a committed page."""


def fenced_update(database: Database, connection: sa.Connection, lease: Lease, **values: Any) -> None:
    """The first statement of every writing transaction of a run: it must hit the task, and renews its lease."""
    hit = connection.execute(
        sa.update(ing_task)
        .where(
            ing_task.c.id == lease.task_id,
            ing_task.c.lease_owner == lease.owner,
            ing_task.c.fence_no == lease.fence_no,
            ing_task.c.status_code.in_([status.value for status in LEASED_TASKS]),
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


class SqlTaskQueue:
    """A TaskQueue."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def claim(self, owner: str, ttl_seconds: int, source: str | None = None) -> Task | None:
        """The most urgent task that is due, leased to `owner`; none when there is none."""
        return self._database.transact(lambda connection: self._claim(connection, owner, ttl_seconds, source))

    def _claim(self, connection: sa.Connection, owner: str, ttl_seconds: int, source: str | None) -> Task | None:
        now = self._database.now(connection)
        heads = [
            (row.priority, row.scheduled_at, row.id)
            for partition in _active_partitions(connection, source)
            if (row := connection.execute(_head(partition, now)).first())
        ]
        if not heads:
            return None
        _, _, task_id = min(heads)
        connection.execute(
            sa.update(ing_task)
            .where(ing_task.c.id == task_id)
            .values(
                status_code=TaskStatus.DISPATCHED.value,
                lease_owner=owner,
                leased_until=self._database.now_sql(timedelta(seconds=ttl_seconds)),
                fence_no=ing_task.c.fence_no + 1,
                updated_at=now,
            )
        )
        return _load(connection, task_id, ttl_seconds)

    def leased(self, lease: Lease) -> Task:
        """The task behind a lease; LeaseLost when it is another's."""

        def work(connection: sa.Connection) -> Task:
            fenced_update(self._database, connection, lease)
            return _load(connection, lease.task_id, lease.ttl_seconds)

        return self._database.transact(work)

    def renew(self, lease: Lease) -> None:
        """Keep the lease; LeaseLost when it is another's."""
        self._database.transact(lambda connection: fenced_update(self._database, connection, lease))

    def give_back_expired(self) -> int:
        """Queue again what dead workers held; how many."""
        return self._database.transact(self._give_back)

    def _give_back(self, connection: sa.Connection) -> int:
        now = self._database.now(connection)
        query = (
            sa.select(ing_task.c.id, ing_task.c.plan_id, ing_task.c.slice_id, ing_task.c.expiry_count)
            .where(
                ing_task.c.status_code.in_([status.value for status in LEASED_TASKS]),
                ing_task.c.leased_until < now,
            )
            .order_by(ing_task.c.id)
        )
        expired = connection.execute(locked(query, skip_locked=True)).all()
        for row in expired:
            self._give_back_one(connection, row, now)
        return len(expired)

    def _give_back_one(self, connection: sa.Connection, row: sa.Row[Any], now: datetime) -> None:
        dead = row.expiry_count + 1 >= MAX_EXPIRIES
        error = {
            "code": "LEASE_EXPIRED",
            "message": f"the lease expired, {row.expiry_count + 1} times since the last page",
        }
        connection.execute(
            sa.update(ing_task)
            .where(ing_task.c.id == row.id)
            .values(
                status_code=(TaskStatus.FAILED if dead else TaskStatus.QUEUED).value,
                lease_owner=None,
                leased_until=None,
                expiry_count=row.expiry_count + 1,
                last_error=error,
                finished_at=now if dead else None,
                updated_at=now,
            )
        )
        close_runs(connection, row.id, error, now)
        if dead:
            settle_task(connection, row.plan_id, row.slice_id, TaskStatus.FAILED, now)

    def waiting(self, source: str | None = None) -> timedelta | None:
        """How long until a lease or a scheduled task may come free; none when nothing is under way."""
        leased = [status.value for status in LEASED_TASKS]
        with self._database.read() as connection:
            now = self._database.now(connection)
            due = [
                moment
                for partition in _active_partitions(connection, source)
                for moment in (
                    _earliest(connection, partition, ing_task.c.leased_until, leased),
                    _earliest(connection, partition, ing_task.c.scheduled_at, [TaskStatus.QUEUED.value]),
                )
                if moment is not None
            ]
        return max(min(due) - now, timedelta(0)) if due else None


def _active_partitions(connection: sa.Connection, source: str | None) -> list[Partition]:
    table = ing_partition_control
    query = sa.select(table.c.provenance_code, table.c.endpoint_name, table.c.operation_code).where(
        table.c.control_code == ControlState.ACTIVE.value
    )
    if source:
        query = query.where(table.c.provenance_code == source)
    return [Partition(code, endpoint, Operation(operation)) for code, endpoint, operation in connection.execute(query)]


def _earliest(
    connection: sa.Connection, partition: Partition, column: sa.Column[datetime], states: list[str]
) -> datetime | None:
    mine = [ing_task.c[name] == value for name, value in partition_values(partition).items()]
    return connection.execute(sa.select(sa.func.min(column)).where(ing_task.c.status_code.in_(states), *mine)).scalar()


def _head(partition: Partition, now: datetime) -> sa.Select[Any]:
    """The partition's most urgent due task: one probe of idx_task_queue, no sort."""
    due = [ing_task.c.status_code == TaskStatus.QUEUED.value, ing_task.c.scheduled_at <= now]
    due += [ing_task.c[name] == value for name, value in partition_values(partition).items()]
    query = (
        sa.select(ing_task.c.id, ing_task.c.priority, ing_task.c.scheduled_at)
        .where(*due)
        .order_by(ing_task.c.priority, ing_task.c.scheduled_at, ing_task.c.id)
        .limit(1)
    )
    return locked(query, skip_locked=True)


def _load(connection: sa.Connection, task_id: int, ttl_seconds: int) -> Task:
    row = connection.execute(
        sa.select(
            ing_task,
            ing_plan_slice.c.slice_no,
            ing_plan_slice.c.expr_snapshot,
            ing_plan.c.provenance_config_snapshot,
        )
        .join(ing_plan, ing_plan.c.id == ing_task.c.plan_id)
        .join(ing_plan_slice, ing_plan_slice.c.id == ing_task.c.slice_id)
        .where(ing_task.c.id == task_id)
    ).one()
    spec = SpecSnapshot.from_json(row.provenance_config_snapshot)
    namespace = namespace_of(spec, row.namespace_key)
    watermark = sa.select(ing_cursor.c.normalized_instant).where(in_namespace(ing_cursor, namespace))
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
        params=row.params,
        range=range_of(row.params.get("range")) if spec.window else None,
        ids=values_of(row.expr_snapshot, ID_FIELD) if spec.window is None else (),
        watermark=connection.execute(watermark).scalar(),
    )
