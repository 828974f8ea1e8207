"""The queries behind reports: they read, and nothing waits for them."""

from collections import defaultdict
from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa

from ingest_core.model.codes import LEASED_TASKS, LIVE_TASKS, Operation, PlanStatus, SchedulerCode, TaskStatus
from ingest_core.model.partition import Partition
from ingest_core.model.progress import PartitionStatus, PlanOutcome, PlanProgress, TaskProgress
from ingest_core.model.record import Counts
from ingest_core.store.engine.database import Database
from ingest_core.store.ledger.settle import WEAK_ENDS
from ingest_core.store.schema.columns import PARTITION_COLUMNS
from ingest_core.store.schema.tables import (
    ing_item,
    ing_partition_control,
    ing_plan,
    ing_plan_slice,
    ing_schedule_instance,
    ing_task,
    ing_task_run,
    ing_task_run_batch,
)

_PAGE = 1000
_COUNTED = {
    "received": "retCount",
    "inserted": "inserted",
    "updated": "updated",
    "skipped": "skipped",
    "gone": "gone",
    "quarantined": "failed",
}
"""The counts of an attempt, and what its stored figures call them."""


class SqlWorkReports:
    """WorkReports: counts of tasks, leases, pages and records."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def status(self, source: str | None = None) -> list[PartitionStatus]:
        """Tasks by state for every partition."""
        table = ing_partition_control
        key = ("provenance_code", "endpoint_name", "operation_code")
        controls = sa.select(*(table.c[name] for name in key), table.c.control_code).order_by(
            *(table.c[n] for n in key)
        )
        tally = sa.select(*(ing_task.c[name] for name in key), ing_task.c.status_code, sa.func.count()).group_by(
            *(ing_task.c[name] for name in key), ing_task.c.status_code
        )
        if source:
            controls = controls.where(table.c.provenance_code == source)
            tally = tally.where(ing_task.c.provenance_code == source)
        counts: dict[tuple[str, ...], dict[str, int]] = defaultdict(lambda: dict.fromkeys(map(str, TaskStatus), 0))
        with self._database.read() as connection:
            for code, endpoint, operation, status, number in connection.execute(tally):
                counts[(code, endpoint, operation)][status] = number
            return [
                PartitionStatus(code, endpoint, operation, control, counts[(code, endpoint, operation)])
                for code, endpoint, operation, control in connection.execute(controls)
            ]

    def live_leases(self) -> dict[Partition, int]:
        """Number of unexpired leases of each partition."""
        key = [ing_task.c[name] for name in PARTITION_COLUMNS]
        leased = ing_task.c.status_code.in_([status.value for status in LEASED_TASKS])
        with self._database.read() as connection:
            live = sa.and_(leased, ing_task.c.leased_until > self._database.now(connection))
            found = connection.execute(sa.select(*key, sa.func.count()).where(live).group_by(*key))
            return {Partition(code, endpoint, Operation(name)): count for code, endpoint, name, count in found}

    def plan_outcomes(self, plan_ids: Collection[int]) -> list[PlanOutcome]:
        """What has become of those of these plans that Prefect flow runs made."""
        plan, trigger = ing_plan, ing_schedule_instance
        query = (
            sa.select(plan.c.id, plan.c.status_code, plan.c.record_remarks, trigger.c.scheduler_log_id)
            .join(trigger, plan.c.schedule_instance_id == trigger.c.id)
            .where(plan.c.id.in_(plan_ids), trigger.c.scheduler_code == SchedulerCode.PREFECT.value)
            .order_by(plan.c.id)
        )
        with self._database.read() as connection:
            return [
                PlanOutcome(
                    row.id,
                    row.scheduler_log_id,
                    PlanStatus(row.status_code),
                    _tasks_by_status(connection, row.id),
                    _counts_of(connection, row.id),
                    (row.record_remarks or {}).get(WEAK_ENDS, 0),
                )
                for row in connection.execute(query).all()
            ]

    def settled_plans(self, plan_ids: Collection[int]) -> set[int]:
        """Those of these plans of which nothing is under way any more."""
        live = ing_task.c.status_code.in_([status.value for status in LIVE_TASKS])
        query = sa.select(ing_task.c.plan_id).where(ing_task.c.plan_id.in_(plan_ids), live).distinct()
        with self._database.read() as connection:
            return set(plan_ids) - set(connection.execute(query).scalars())

    def partitions_with_work(self) -> set[Partition]:
        """The partitions that have tasks which are waiting or under way."""
        table = ing_partition_control
        unfinished = [TaskStatus.QUEUED.value, *(status.value for status in LEASED_TASKS)]
        mine = sa.and_(*(ing_task.c[name] == table.c[name] for name in PARTITION_COLUMNS))
        work = sa.exists().where(mine, ing_task.c.status_code.in_(unfinished))
        with self._database.read() as connection:
            found = connection.execute(sa.select(*(table.c[name] for name in PARTITION_COLUMNS)).where(work))
            return {Partition(code, endpoint, Operation(name)) for code, endpoint, name in found}

    def queued(self, source: str | None = None) -> int:
        """How many tasks wait."""
        query = sa.select(sa.func.count()).where(ing_task.c.status_code == TaskStatus.QUEUED.value)
        mine = query.where(ing_task.c.provenance_code == source) if source else query
        with self._database.read() as connection:
            return connection.execute(mine).scalar_one()

    def attempts_of(self, flow_run_id: str) -> int:
        """How many attempts at tasks a flow run has made."""
        query = sa.select(sa.func.count()).where(ing_task_run.c.flow_run_id == flow_run_id)
        with self._database.read() as connection:
            return connection.execute(query).scalar_one()

    def plan_progress(self, plan_id: int) -> PlanProgress:
        """How far a plan is."""
        live = (TaskStatus.QUEUED.value, TaskStatus.DISPATCHED.value, TaskStatus.EXECUTING.value)
        tasks = sa.select(sa.func.count(), sa.func.sum(sa.case((ing_task.c.status_code.in_(live), 0), else_=1))).where(
            ing_task.c.plan_id == plan_id
        )
        batch = ing_task_run_batch
        pages = sa.select(sa.func.count(), sa.func.sum(batch.c.record_count)).where(
            batch.c.plan_id == plan_id, batch.c.committed_at.is_not(None)
        )
        with self._database.read() as connection:
            total, ended = connection.execute(tasks).one()
            page_count, records = connection.execute(pages).one()
        return PlanProgress(int(total), int(ended or 0), int(page_count), int(records or 0))

    def task_progress(self, task_id: int) -> TaskProgress:
        """How far a task is."""
        batch, part = ing_task_run_batch, ing_plan_slice
        read = sa.select(sa.func.sum(batch.c.record_count)).where(
            batch.c.task_id == task_id, batch.c.committed_at.is_not(None)
        )
        spec = (
            sa.select(part.c.slice_spec)
            .join(ing_task, ing_task.c.slice_id == part.c.id)
            .where(ing_task.c.id == task_id)
        )
        with self._database.read() as connection:
            records, found = connection.execute(read).scalar(), connection.execute(spec).scalar()
        hints = (found or {}).get("hints") or {}
        return TaskProgress(int(records or 0), int(hints.get("estimatedRecords") or 0))

    def item_versions(self, source: str, start: datetime, end: datetime) -> dict[str, datetime]:
        """The records updated in `[start, end)` and the version stored of each."""
        query = sa.select(ing_item.c.provider_id, ing_item.c.source_updated_at).where(
            ing_item.c.provenance_code == source,
            ing_item.c.source_updated_at >= start,
            ing_item.c.source_updated_at < end,
        )
        with self._database.read() as connection:
            return {row.provider_id: row.source_updated_at for row in connection.execute(query)}


def _tasks_by_status(connection: sa.Connection, plan_id: int) -> dict[TaskStatus, int]:
    query = sa.select(ing_task.c.status_code, sa.func.count()).where(ing_task.c.plan_id == plan_id)
    found = connection.execute(query.group_by(ing_task.c.status_code))
    return {TaskStatus(code): int(number) for code, number in found}


def _counts_of(connection: sa.Connection, plan_id: int) -> Counts:
    """The sum over the plan's attempts; their own index is by task."""
    tasks = sa.select(ing_task.c.id).where(ing_task.c.plan_id == plan_id)
    query = sa.select(ing_task_run.c.stats).where(ing_task_run.c.task_id.in_(tasks), ing_task_run.c.stats.is_not(None))
    total = Counts()
    for stats in connection.execute(query.execution_options(yield_per=_PAGE)).scalars():
        total += Counts(**{name: (stats or {}).get(key, 0) for name, key in _COUNTED.items()})
    return total
