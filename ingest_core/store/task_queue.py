"""The queue: leases with a fence, on the database's time."""

from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from ingest_core.model.codes import LEASED_TASKS, TaskStatus
from ingest_core.model.work import Lease, Task
from ingest_core.store.claims import Caps, ClaimTurn, active_partitions, no_caps, take_tasks
from ingest_core.store.columns import in_partition
from ingest_core.store.database import Database
from ingest_core.store.dialect import locked
from ingest_core.store.lease import fenced_update
from ingest_core.store.live_credentials import LiveCredentials
from ingest_core.store.settle import close_runs, settle_task
from ingest_core.store.tables import ing_task
from ingest_core.store.task_loader import load_tasks
from ingest_core.store.transitions import move_one

MAX_EXPIRIES = 5
"""So often may a task's lease expire without a committed page."""

MAX_CLAIM = 1000
"""More tasks than that are not leased at once."""

_REAP_CHUNK = 500
_LEASED = [status.value for status in LEASED_TASKS]
_FREE = {"lease_owner": None, "leased_until": None}


class SqlTaskQueue:
    """A TaskQueue; `turn` says which of its claims begin at the least urgent end, `caps` how many may be at work."""

    def __init__(self, database: Database, turn: ClaimTurn | None = None, caps: Caps = no_caps) -> None:
        self._database = database
        self._turn = turn or ClaimTurn.anywhere()
        self._caps = caps
        self._credentials = LiveCredentials()

    def claim(self, owner: str, ttl_seconds: int, source: str | None = None) -> Task | None:
        """The most urgent task that is due, leased to `owner`; none when there is none."""
        return next(iter(self.claim_many(owner, ttl_seconds, 1, source)), None)

    def claim_many(self, owner: str, ttl_seconds: int, most: int, source: str | None = None) -> list[Task]:
        """Up to so many tasks that are due, the most urgent first, all leased to `owner`."""
        least_urgent = self._turn.comes_now()
        most = min(most, MAX_CLAIM)

        def work(connection: sa.Connection) -> list[Task]:
            now = self._database.now(connection)
            ids = take_tasks(connection, now, most, source, self._caps, least_urgent=least_urgent)
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
            return load_tasks(connection, ids, ttl_seconds, now, self._credentials)

        return self._database.transact(work)

    def leased(self, lease: Lease) -> Task:
        """The task behind a lease; LeaseLost when it is another's."""

        def work(connection: sa.Connection) -> Task:
            fenced_update(self._database, connection, lease)
            now = self._database.now(connection)
            return load_tasks(connection, [lease.task_id], lease.ttl_seconds, now, self._credentials)[0]

        return self._database.transact(work)

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
        return self._database.transact(self._give_back)

    def _give_back(self, connection: sa.Connection) -> int:
        now = self._database.now(connection)
        query = (
            sa.select(ing_task.c.id, ing_task.c.plan_id, ing_task.c.slice_id, ing_task.c.expiry_count)
            .where(ing_task.c.status_code.in_(_LEASED), ing_task.c.leased_until < now)
            .order_by(ing_task.c.id)
            .limit(_REAP_CHUNK)
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
        move_one(
            connection,
            ing_task,
            row.id,
            TaskStatus.FAILED if dead else TaskStatus.QUEUED,
            **_FREE,
            expiry_count=row.expiry_count + 1,
            last_error=error,
            finished_at=now if dead else None,
            updated_at=now,
        )
        close_runs(connection, row.id, error, now)
        if dead:
            settle_task(connection, row.plan_id, row.slice_id, TaskStatus.FAILED, now)

    def waiting(self, source: str | None = None) -> timedelta | None:
        """How long until a lease or a scheduled task may come free; none when nothing is under way."""
        with self._database.read() as connection:
            now = self._database.now(connection)
            due = [
                moment
                for partition in active_partitions(connection, source)
                for column, states in ((ing_task.c.leased_until, _LEASED), (ing_task.c.scheduled_at, ["QUEUED"]))
                if (moment := _earliest(connection, in_partition(ing_task, partition), column, states)) is not None
            ]
        return max(min(due) - now, timedelta(0)) if due else None


def _earliest(
    connection: sa.Connection, mine: sa.ColumnElement[bool], column: sa.Column[datetime], states: list[str]
) -> datetime | None:
    return connection.execute(sa.select(sa.func.min(column)).where(ing_task.c.status_code.in_(states), mine)).scalar()
