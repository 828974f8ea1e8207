"""Triggers, and the transactions that plan."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import sqlalchemy as sa

from ingest_core.model.codes import ResliceStatus
from ingest_core.model.errors import BadInput
from ingest_core.model.partition import Partition
from ingest_core.model.spec import SpecSnapshot
from ingest_core.planning.estimate import Estimate, WindowPart
from ingest_core.planning.ports import PlanTransaction
from ingest_core.planning.request import PlanRequest, Trigger
from ingest_core.store.engine.database import Database
from ingest_core.store.ledger.estimates import insert_estimates
from ingest_core.store.plans.transaction import SqlPlanTransaction
from ingest_core.store.schema.columns import in_partition, inserted_id, partition_values
from ingest_core.store.schema.tables import ing_reslice_request, ing_schedule_instance, ing_task

T = TypeVar("T")


class SqlPlanStore:
    """A PlanStore."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record_trigger(self, trigger: Trigger, request: PlanRequest, partition: Partition) -> int:
        """The trigger's row, made once; BadInput when its key was used for another request."""
        return self._database.transact(lambda connection: self._record(connection, trigger, request, partition))

    def _record(self, connection: sa.Connection, trigger: Trigger, request: PlanRequest, partition: Partition) -> int:
        table = ing_schedule_instance
        known = connection.execute(
            sa.select(table.c.id, table.c.trigger_params).where(
                table.c.scheduler_code == trigger.scheduler.value, table.c.scheduler_log_id == trigger.key
            )
        ).first()
        if known:
            if known.trigger_params != request.json():
                raise BadInput(
                    "TRIGGER_REUSED",
                    f"trigger key {trigger.key!r} was used for another request: {known.trigger_params}",
                    where="trigger",
                    remedy="give each request a trigger key of its own",
                )
            return int(known.id)
        now = self._database.now(connection)
        values = {
            "scheduler_code": trigger.scheduler.value,
            "scheduler_job_id": trigger.job_id,
            "scheduler_log_id": trigger.key,
            "trigger_type_code": trigger.type.value,
            "triggered_at": now,
            "trigger_params": request.json(),
            "created_at": now,
            "updated_at": now,
            **partition_values(partition),
        }
        return inserted_id(connection.execute(sa.insert(table).values(values)))

    def note_trigger(self, instance_id: int, remarks: dict[str, Any]) -> None:
        """Write down what became of a trigger; not on one that has a plan, whose query is noted there with it."""
        table = ing_schedule_instance
        unplanned = (table.c.id == instance_id, table.c.expr_proto_hash.is_(None))
        with self._database.write() as connection:
            values = {"record_remarks": remarks, "updated_at": self._database.now_sql()}
            connection.execute(sa.update(table).where(*unplanned).values(values))

    def save_estimates(self, spec: SpecSnapshot, found: Mapping[WindowPart, Estimate]) -> None:
        """Keep what the provider said."""
        if found:
            self._database.transact(lambda connection: insert_estimates(self._database, connection, spec, found))

    def open_reslices(self, partition: Partition | None, most: int) -> list[int]:
        """The requests that wait, oldest first."""
        request = ing_reslice_request
        query = sa.select(request.c.id).where(request.c.status_code == ResliceStatus.OPEN.value)
        if partition:
            query = query.join(ing_task, ing_task.c.id == request.c.task_id).where(in_partition(ing_task, partition))
        with self._database.read() as connection:
            return list(connection.execute(query.order_by(request.c.id).limit(most)).scalars())

    def transact(self, work: Callable[[PlanTransaction], T]) -> T:
        """Run `work` in one transaction, again when another was in the way."""
        return self._database.transact(
            lambda connection: work(SqlPlanTransaction(self._database, connection, lock=True))
        )

    @contextmanager
    def look(self) -> Iterator[PlanTransaction]:
        """A transaction that writes nothing."""
        with self._database.read() as connection:
            yield SqlPlanTransaction(self._database, connection, lock=False)
