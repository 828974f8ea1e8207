"""The queue: leases with a fence, on the database's time."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from ingest_core.execution.expiry import STORM_SPAN, Expiry, ExpiryDecision, LostWorker, decide_expiry, expiry_message
from ingest_core.model.clock import CLOCK_SLACK
from ingest_core.model.codes import LEASED_TASKS, LIVE_TASKS, ControlState, Operation, TaskStatus
from ingest_core.model.lease import Lease, flow_owner
from ingest_core.model.partition import Due, Partition, Resting, SlotCaps
from ingest_core.model.task import Task
from ingest_core.store.engine.database import Database
from ingest_core.store.engine.dialect import locked
from ingest_core.store.ledger.lease import fenced_update
from ingest_core.store.ledger.settle import close_runs, settle_task
from ingest_core.store.ledger.transitions import move_one
from ingest_core.store.queue.claims import (
    NONE_EXCLUDED,
    Caps,
    ClaimTurn,
    ExcludedSources,
    active_partitions,
    due_work,
    no_caps,
    take_due,
    take_tasks,
)
from ingest_core.store.queue.task_loader import TaskLoader
from ingest_core.store.schema.columns import in_partition
from ingest_core.store.schema.tables import ing_partition_control, ing_task, ing_task_run

MAX_CLAIM = 1000
"""More tasks than that are not leased at once."""

_REAP_CHUNK = 500
_LEASED = [status.value for status in LEASED_TASKS]
_LIVE = [status.value for status in LIVE_TASKS]
_FREE = {"lease_owner": None, "leased_until": None}
_EXPIRED = {"code": "LEASE_EXPIRED", "message": "the lease expired"}
_ABANDONED = {"code": "FLOW_RUN_ENDED", "message": "its flow run ended without it"}


class SqlTaskQueue:
    """A TaskQueue; `turn` counts claims, since some begin at the least urgent end; `caps` limits leases."""

    def __init__(self, database: Database, turn: ClaimTurn | None = None, caps: Caps = no_caps) -> None:
        self._database = database
        self._turn = turn or ClaimTurn.anywhere()
        self._caps = caps
        self._loader = TaskLoader()

    def claim(
        self, owner: str, ttl_seconds: int, source: str | None = None, excluding: ExcludedSources = NONE_EXCLUDED
    ) -> Task | None:
        """The most urgent task that is due, leased to `owner`; none when there is none."""
        return next(iter(self.claim_many(owner, ttl_seconds, 1, source, excluding)), None)

    def claim_many(
        self,
        owner: str,
        ttl_seconds: int,
        most: int,
        source: str | None = None,
        excluding: ExcludedSources = NONE_EXCLUDED,
    ) -> list[Task]:
        """Up to `most` tasks that are due, the most urgent first, all leased to `owner`."""
        least_urgent = self._turn.comes_now()
        most = min(most, MAX_CLAIM)

        def work(connection: sa.Connection) -> list[Task]:
            now = self._database.now(connection)
            ids = take_tasks(connection, now, most, source, self._caps, excluding, least_urgent=least_urgent)
            return self._lease(connection, ids, owner, ttl_seconds, now)

        return self._database.transact(work)

    def due(self, source: str | None = None, excluding: ExcludedSources = NONE_EXCLUDED) -> list[Due]:
        """Which partitions have due tasks, in the order in which to serve them; nothing is leased."""
        least_urgent = self._turn.comes_now()
        with self._database.read() as connection:
            now = self._database.now(connection)
            return due_work(connection, now, source, excluding, least_urgent=least_urgent)

    def claim_due(self, owner: str, ttl_seconds: int, due: Due, caps: SlotCaps | None = None) -> Task | None:
        """One of these tasks, leased to `owner`; None when others were quicker, or the cap is reached."""

        def work(connection: sa.Connection) -> list[Task]:
            now = self._database.now(connection)
            ids = take_due(connection, now, due, self._caps, caps)
            return self._lease(connection, ids, owner, ttl_seconds, now)

        return next(iter(self._database.transact(work)), None)

    def _lease(
        self, connection: sa.Connection, ids: list[int], owner: str, ttl_seconds: int, now: datetime
    ) -> list[Task]:
        """Lease tasks that are locked, and load them."""
        if not ids:
            return []
        connection.execute(
            sa.update(ing_task)
            .where(ing_task.c.id.in_(ids))
            .values(
                status_code=TaskStatus.DISPATCHED.value,
                lease_owner=owner,
                leased_until=self._database.now_sql(timedelta(seconds=ttl_seconds)),
                fence_no=ing_task.c.fence_no + 1,
                updated_at=now,
            )
        )
        return self._loader.load(connection, ids, ttl_seconds, now)

    def renew(self, lease: Lease) -> None:
        """Keep the lease; LeaseLost when it is another's."""
        self._database.transact(lambda connection: fenced_update(self._database, connection, lease))

    def release(self, lease: Lease) -> None:
        """Give a task back that was not begun; LeaseLost when it is another's."""

        def work(connection: sa.Connection) -> None:
            fenced_update(self._database, connection, lease)
            now = self._database.now(connection)
            close_runs(connection, lease.task_id, {"code": "RELEASED", "message": "its worker gave it back"}, now)
            move_one(connection, ing_task, lease.task_id, TaskStatus.QUEUED, **_FREE)

        self._database.transact(work)

    def give_back_expired(self) -> int:
        """Queue again what dead workers held; how many."""

        def work(connection: sa.Connection) -> int:
            now = self._database.now(connection)
            return len(self._give_back(connection, ing_task.c.leased_until < now, now, _EXPIRED))

        return self._database.transact(work)

    def repair_clock(self) -> int:
        """Let the delays of tasks that a clock ahead of now has leased or put off begin now; how many."""

        def work(connection: sa.Connection) -> int:
            now = self._database.now(connection)
            misdated = ing_task.c.updated_at > now + CLOCK_SLACK
            query = sa.select(ing_task).where(ing_task.c.status_code.in_(_LIVE), misdated)
            rows = connection.execute(locked(query.order_by(ing_task.c.id).limit(_REAP_CHUNK), skip_locked=True)).all()
            for row in rows:
                _begin_now(connection, row, now)
            return len(rows)

        total = 0
        while changed := self._database.transact(work):
            total += changed
        return total

    def give_back_held(self, flow_run_id: str) -> list[Due]:
        """Queue again what the processes of a flow run still hold, now that they are gone; which."""
        held = ing_task.c.lease_owner.startswith(flow_owner(flow_run_id, ""), autoescape=True)

        def work(connection: sa.Connection) -> list[Due]:
            return self._give_back(connection, held, self._database.now(connection), _ABANDONED)

        return self._database.transact(work)

    def left_by(self, flow_run_id: str) -> list[Due]:
        """Tasks that a flow run has begun and that are due to be worked again, the most urgent first."""
        begun = sa.select(ing_task_run.c.task_id).where(ing_task_run.c.flow_run_id == flow_run_id)
        waits = sa.and_(ing_task.c.status_code == TaskStatus.QUEUED.value, ing_task.c.id.in_(begun))
        query = sa.select(ing_task).where(waits).order_by(ing_task.c.priority, ing_task.c.scheduled_at, ing_task.c.id)
        with self._database.read() as connection:
            due = query.where(ing_task.c.scheduled_at <= self._database.now(connection))
            return [_due(row) for row in connection.execute(due)]

    def resting(self, source: str | None = None) -> list[Resting]:
        """The partitions with tasks that an operator paused or a fuse stopped."""
        table, queued = ing_partition_control, ing_task.c.status_code == TaskStatus.QUEUED.value
        stopped = sa.select(table).where(table.c.control_code != ControlState.ACTIVE.value)
        if source:
            stopped = stopped.where(table.c.provenance_code == source)
        with self._database.read() as connection:
            found = []
            for row in connection.execute(stopped.order_by(table.c.id)).all():
                partition = Partition(row.provenance_code, row.endpoint_name, Operation(row.operation_code))
                waits = sa.select(sa.func.count()).where(queued, in_partition(ing_task, partition))
                if number := connection.execute(waits).scalar_one():
                    found.append(Resting(partition, ControlState(row.control_code), row.reason, number))
            return found

    def _give_back(
        self, connection: sa.Connection, which: sa.ColumnElement[bool], now: datetime, error: dict[str, str]
    ) -> list[Due]:
        query = sa.select(ing_task).where(ing_task.c.status_code.in_(_LEASED), which)
        rows = connection.execute(locked(query.order_by(ing_task.c.id).limit(_REAP_CHUNK), skip_locked=True)).all()
        lost = _lost_workers(connection, rows, now) if rows else []
        for row in rows:
            self._give_back_one(connection, row, decide_expiry(_expiry(row), lost, now), now, error)
        return [_due(row) for row in rows]

    def _give_back_one(
        self, connection: sa.Connection, row: sa.Row[Any], verdict: ExpiryDecision, now: datetime, error: dict[str, str]
    ) -> None:
        """Queue a task again, later each time; one that takes its worker along must not do so for ever."""
        error = {**error, "message": expiry_message(error["message"], verdict)}
        later = {"scheduled_at": now + verdict.delay} if verdict.delay else {}
        move_one(
            connection,
            ing_task,
            row.id,
            TaskStatus.FAILED if verdict.failed else TaskStatus.QUEUED,
            **_FREE,
            **later,
            expiry_count=verdict.count,
            blamed_count=verdict.blamed,
            expired_at=now,
            expired_owner=row.lease_owner,
            last_error=error,
            finished_at=now if verdict.failed else None,
            updated_at=now,
        )
        close_runs(connection, row.id, error, now)
        if verdict.failed:
            settle_task(connection, row.plan_id, row.slice_id, TaskStatus.FAILED, now)

    def waiting(self, source: str | None = None, excluding: ExcludedSources = NONE_EXCLUDED) -> timedelta | None:
        """How long until a lease or a scheduled task may come free; none when nothing is under way."""
        with self._database.read() as connection:
            now = self._database.now(connection)
            due: list[datetime] = []
            for partition, closed_until in active_partitions(connection, source):
                if partition.provenance_code in excluding:
                    continue
                mine = in_partition(ing_task, partition)
                expires = _earliest(connection, mine, ing_task.c.leased_until, _LEASED)
                starts = _earliest(connection, mine, ing_task.c.scheduled_at, [TaskStatus.QUEUED.value])
                opens = starts and max(starts, closed_until or starts)
                due += filter(None, (expires, opens))
        return max(min(due) - now, timedelta(0)) if due else None


def _begin_now(connection: sa.Connection, row: sa.Row[Any], now: datetime) -> None:
    """A lease or a wait lasts as long as it was meant to, but from now on; a live worker renews its lease as ever."""
    ahead: timedelta = row.updated_at - now
    values: dict[str, Any] = {"updated_at": now}
    if row.scheduled_at > now:
        values["scheduled_at"] = row.scheduled_at - ahead
    if row.leased_until is not None:
        values["leased_until"] = row.leased_until - ahead
    connection.execute(sa.update(ing_task).where(ing_task.c.id == row.id).values(values))


def _expiry(row: sa.Row[Any]) -> Expiry:
    return Expiry(row.id, row.lease_owner or "", row.expiry_count, row.blamed_count, row.expired_at, row.expired_owner)


def _lost_workers(connection: sa.Connection, rows: Sequence[sa.Row[Any]], now: datetime) -> list[LostWorker]:
    """The workers whose leases are given back now, and those found lost lately."""
    table = ing_task
    lately = sa.select(table.c.expired_owner, sa.func.max(table.c.expired_at).label("at"))
    lately = lately.where(table.c.expired_at > now - STORM_SPAN).group_by(table.c.expired_owner)
    found = [LostWorker(row.expired_owner, row.at) for row in connection.execute(lately)]
    return [*found, *(LostWorker(owner, now) for owner in {row.lease_owner or "" for row in rows})]


def _due(row: sa.Row[Any]) -> Due:
    partition = Partition(row.provenance_code, row.endpoint_name, Operation(row.operation_code))
    return Due(partition, row.priority, row.id)


def _earliest(
    connection: sa.Connection, mine: sa.ColumnElement[bool], column: sa.Column[datetime], states: list[str]
) -> datetime | None:
    return connection.execute(sa.select(sa.func.min(column)).where(ing_task.c.status_code.in_(states), mine)).scalar()
