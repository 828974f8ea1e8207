"""Triggers, plans, slices and tasks."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from typing import Any, TypeVar

import sqlalchemy as sa

from ingest_core.model.codes import (
    LIVE_TASKS,
    ControlState,
    EventType,
    PlanStatus,
    SliceStatus,
    SliceStrategy,
    TaskStatus,
)
from ingest_core.model.errors import BadInput
from ingest_core.model.instant import format_instant
from ingest_core.model.window import Window
from ingest_core.model.work import Coverage, CursorState, Namespace, Partition
from ingest_core.planning.needs import Ground
from ingest_core.planning.ports import PlanHead, PlanTransaction, StoredPlan
from ingest_core.planning.request import PlanRequest, Trigger
from ingest_core.planning.slicing import SliceDraft
from ingest_core.store.columns import in_namespace, namespace_values, partition_values
from ingest_core.store.cursor_store import append_event
from ingest_core.store.database import Database
from ingest_core.store.dialect import locked
from ingest_core.store.tables import (
    ing_cursor,
    ing_cursor_event,
    ing_partition_control,
    ing_plan,
    ing_plan_slice,
    ing_schedule_instance,
    ing_task,
)

T = TypeVar("T")
_CHUNK = 500


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
        return _inserted_id(connection.execute(sa.insert(table).values(values)))

    def note_trigger(self, instance_id: int, remarks: dict[str, Any]) -> None:
        """Write down what became of a trigger."""
        table = ing_schedule_instance
        with self._database.write() as connection:
            values = {"record_remarks": remarks, "updated_at": self._database.now_sql()}
            connection.execute(sa.update(table).where(table.c.id == instance_id).values(values))

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


class SqlPlanTransaction:
    """A PlanTransaction."""

    def __init__(self, database: Database, connection: sa.Connection, *, lock: bool) -> None:
        self._database = database
        self._connection = connection
        self._lock = lock

    def find_plan(self, plan_key: str) -> StoredPlan | None:
        """The plan of that key, if it exists."""
        row = self._connection.execute(sa.select(ing_plan).where(ing_plan.c.plan_key == plan_key)).first()
        if row is None:
            return None
        slices = self._count(ing_plan_slice, row.id)
        tasks = self._count(ing_task, row.id)
        remarks = row.record_remarks
        return StoredPlan(row.id, plan_key, row.status_code, row.window_from, row.window_to, slices, tasks, remarks)

    def _count(self, table: sa.Table, plan_id: int) -> int:
        query = sa.select(sa.func.count()).select_from(table).where(table.c.plan_id == plan_id)
        return int(self._connection.execute(query).scalar_one())

    def lock_cursor(self, namespace: Namespace) -> CursorState | None:
        """The namespace's watermark, locked until the transaction ends."""
        cursor = ing_cursor
        query = sa.select(cursor.c.normalized_instant, cursor.c.anchor_instant, cursor.c.settled_instant).where(
            in_namespace(cursor, namespace)
        )
        row = self._connection.execute(locked(query) if self._lock else query).first()
        return CursorState(row.normalized_instant, row.anchor_instant, row.settled_instant) if row else None

    def predecessor(self, namespace: Namespace) -> datetime | None:
        """The watermark of the Registry's query before this one, if there was one; a trigger's own query is none."""
        cursor, instance = ing_cursor, ing_schedule_instance
        query = (
            sa.select(cursor.c.normalized_instant, instance.c.trigger_params)
            .join(instance, instance.c.id == cursor.c.schedule_instance_id)
            .where(
                cursor.c.provenance_code == namespace.partition.provenance_code,
                cursor.c.endpoint_name == namespace.partition.endpoint_name,
                cursor.c.operation_code == namespace.partition.operation_code.value,
                cursor.c.cursor_key == namespace.cursor_key,
                cursor.c.namespace_key != namespace.key,
            )
            .order_by(cursor.c.updated_at.desc(), cursor.c.id.desc())
        )
        standing = (row for row in self._connection.execute(query) if not row.trigger_params.get("query"))
        return next((row.normalized_instant for row in standing), None)

    def ground(self, namespace: Namespace, window: Window) -> Ground:
        """What is known of the window."""
        event = ing_cursor_event
        read = self._connection.execute(
            sa.select(event.c.window_from, event.c.window_to, event.c.as_of).where(
                in_namespace(event, namespace),
                event.c.event_type == EventType.COVERAGE.value,
                event.c.window_to > window.start,
                event.c.window_from < window.end,
            )
        )
        live = self._connection.execute(
            sa.select(ing_task.c.window_from, ing_task.c.window_to).where(
                ing_task.c.namespace_key == namespace.key,
                ing_task.c.status_code.in_([status.value for status in LIVE_TASKS]),
                ing_task.c.window_to > window.start,
                ing_task.c.window_from < window.end,
                ing_task.c.provenance_code == namespace.partition.provenance_code,
                ing_task.c.operation_code == namespace.partition.operation_code.value,
            )
        )
        return Ground(
            coverage=[Coverage(Window(row.window_from, row.window_to), row.as_of) for row in read],
            live=[Window(row.window_from, row.window_to) for row in live],
        )

    def insert_plan(self, head: PlanHead, *, anchor: bool, drafts: Iterable[SliceDraft]) -> StoredPlan:
        """Plan, slices, tasks and, for a first plan, the anchor."""
        now = self._database.now(self._connection)
        plan_id = self._insert_head(head, now)
        self._note_query(head, now)
        self._note_settled(head)
        if anchor:
            self._anchor(head, plan_id, now)
        self._ensure_control(head.namespace.partition, now)
        count = 0
        remaining = iter(drafts)
        while chunk := list(islice(remaining, _CHUNK)):
            self._insert_chunk(head, plan_id, count, chunk, now)
            count += len(chunk)
        status = PlanStatus.READY if count else PlanStatus.SUCCEEDED
        self._connection.execute(sa.update(ing_plan).where(ing_plan.c.id == plan_id).values(status_code=status.value))
        return StoredPlan(plan_id, head.plan_key, status, head.start, head.end, count, count, head.remarks)

    def _insert_head(self, head: PlanHead, now: datetime) -> int:
        values = {
            "schedule_instance_id": head.instance_id,
            "plan_key": head.plan_key,
            "window_from": head.start,
            "window_to": head.end,
            "slice_strategy_code": SliceStrategy.TIME.value,
            "slice_params": head.slice_params,
            "expr_proto_hash": head.expr_proto_hash,
            "expr_proto_snapshot": head.expression,
            "provenance_config_snapshot": head.snapshot,
            "spec_fingerprint": head.fingerprint,
            "status_code": PlanStatus.SLICING.value,
            "record_remarks": head.remarks,
            "created_at": now,
            "updated_at": now,
            **partition_values(head.namespace.partition),
        }
        return _inserted_id(self._connection.execute(sa.insert(ing_plan).values(values)))

    def _note_query(self, head: PlanHead, now: datetime) -> None:
        table = ing_schedule_instance
        query = {"expr_proto_hash": head.expr_proto_hash, "expr_proto_snapshot": head.expression, "updated_at": now}
        self._connection.execute(sa.update(table).where(table.c.id == head.instance_id).values(query))

    def _note_settled(self, head: PlanHead) -> None:
        """Remember what the events say is settled, so that the next plan need not read them again."""
        if head.settled:
            mine = in_namespace(ing_cursor, head.namespace)
            self._connection.execute(sa.update(ing_cursor).where(mine).values(settled_instant=head.settled))

    def _anchor(self, head: PlanHead, plan_id: int, now: datetime) -> None:
        """The one write of the planner to cursors: where this namespace begins."""
        value = format_instant(head.start)
        append_event(
            self._connection,
            head.namespace,
            EventType.ANCHOR,
            Window(head.start, head.end),
            now=now,
            as_of=now,
            lineage={"schedule_instance_id": head.instance_id, "plan_id": plan_id},
            key_parts=("anchor",),
            new_instant=head.start,
        )
        self._connection.execute(
            sa.insert(ing_cursor).values(
                **namespace_values(head.namespace),
                cursor_type_code=head.namespace.cursor_type.value,
                direction_code=head.namespace.direction.value,
                cursor_value=value,
                normalized_instant=head.start,
                anchor_instant=head.start,
                schedule_instance_id=head.instance_id,
                plan_id=plan_id,
                created_at=now,
                updated_at=now,
            )
        )

    def _ensure_control(self, partition: Partition, now: datetime) -> None:
        table = ing_partition_control
        values = partition_values(partition)
        known = self._connection.execute(
            sa.select(table.c.id).where(*(table.c[name] == value for name, value in values.items()))
        ).first()
        if known is None:
            stamps = {"created_at": now, "updated_at": now}
            self._connection.execute(
                sa.insert(table).values(**values, control_code=ControlState.ACTIVE.value, **stamps)
            )

    def _insert_chunk(self, head: PlanHead, plan_id: int, offset: int, drafts: list[SliceDraft], now: datetime) -> None:
        common = {**partition_values(head.namespace.partition), "created_at": now, "updated_at": now}
        self._connection.execute(
            sa.insert(ing_plan_slice),
            [
                {
                    "plan_id": plan_id,
                    "slice_no": offset + number,
                    "slice_signature_hash": draft.signature_hash,
                    "slice_spec": draft.spec,
                    "expr_hash": draft.expr_hash,
                    "expr_snapshot": draft.expression,
                    "status_code": SliceStatus.READY.value,
                    **common,
                }
                for number, draft in enumerate(drafts, start=1)
            ],
        )
        rows = self._connection.execute(
            sa.select(ing_plan_slice.c.slice_signature_hash, ing_plan_slice.c.id).where(
                ing_plan_slice.c.plan_id == plan_id,
                ing_plan_slice.c.slice_signature_hash.in_([draft.signature_hash for draft in drafts]),
            )
        )
        ids = {row.slice_signature_hash: row.id for row in rows}
        self._connection.execute(
            sa.insert(ing_task),
            [
                {
                    "schedule_instance_id": head.instance_id,
                    "plan_id": plan_id,
                    "slice_id": ids[draft.signature_hash],
                    "namespace_key": head.namespace.key,
                    "params": draft.params,
                    "window_from": draft.window.start,
                    "window_to": draft.window.end,
                    "expr_hash": draft.expr_hash,
                    "idempotent_key": draft.idempotent_key,
                    "priority": draft.priority,
                    "scheduled_at": now,
                    "status_code": TaskStatus.QUEUED.value,
                    **common,
                }
                for draft in drafts
            ],
        )


def _inserted_id(result: sa.CursorResult[Any]) -> int:
    key = result.inserted_primary_key
    assert key is not None
    return int(key[0])
