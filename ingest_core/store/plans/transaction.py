"""One planning transaction: what is known of a namespace, and what a plan adds."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any

import sqlalchemy as sa

from ingest_core.model.canonical import hash_of
from ingest_core.model.codes import (
    LIVE_TASKS,
    ControlState,
    CursorType,
    EventType,
    PlanStatus,
    ResliceStatus,
    TaskStatus,
)
from ingest_core.model.cursor import Coverage, CursorState
from ingest_core.model.namespace import Namespace
from ingest_core.model.partition import Partition
from ingest_core.model.record import Arrivals
from ingest_core.model.slice_codes import SignalCode, SignalState
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.window import Window
from ingest_core.planning.estimate import Estimate, History, WindowPart
from ingest_core.planning.needs import LONG_SETTLED
from ingest_core.planning.ports import Anchor, Control, PlanHead, Reslice, StoredPlan
from ingest_core.planning.request import MAX_CAMPAIGN_CHARS
from ingest_core.planning.slicing import SliceDraft
from ingest_core.store.cursors.events import COVERS, anchor_event, begun_at, coverage_of, covering_columns, genuine
from ingest_core.store.cursors.future import believed_value, stands_ahead
from ingest_core.store.cursors.rows import cursor_row, namespace_from
from ingest_core.store.engine.database import Database
from ingest_core.store.engine.dialect import insert_new, locked
from ingest_core.store.ledger.estimates import read_arrivals, read_estimates, read_history
from ingest_core.store.ledger.transitions import move_one
from ingest_core.store.plans import reslices
from ingest_core.store.plans.writer import CHUNK, PlanWriter
from ingest_core.store.schema.columns import in_namespace, in_partition, partition_values
from ingest_core.store.schema.tables import (
    ing_cursor,
    ing_cursor_event,
    ing_partition_control,
    ing_plan,
    ing_plan_slice,
    ing_reslice_request,
    ing_schedule_instance,
    ing_signal,
    ing_task,
)

_PAGE = 1000
"""Rows of a long answer that are held at once."""


class SqlPlanTransaction:
    """A PlanTransaction."""

    def __init__(self, database: Database, connection: sa.Connection, *, lock: bool) -> None:
        self._database = database
        self._connection = connection
        self._lock = lock

    def _stream(self, query: sa.Select[Any]) -> Iterator[sa.Row[Any]]:
        yield from self._connection.execute(query.execution_options(yield_per=_PAGE))

    def control(self, partition: Partition) -> Control:
        """The partition's control as it is now; ACTIVE where it has no row yet."""
        return self._stored_control(partition, lock=False) or Control()

    def lock_control(self, partition: Partition) -> Control:
        """The partition's control, locked until the transaction ends: plans of a partition are stored one by one.

        A row is inserted where there is none, because only a row can be locked.
        """
        stored = self._stored_control(partition, lock=True)
        if stored is not None:
            return stored
        now = self._database.now(self._connection)
        values = {**partition_values(partition), "created_at": now, "updated_at": now}
        first = sa.insert(ing_partition_control).values(**values, control_code=ControlState.ACTIVE.value)
        self._connection.execute(first)
        return Control()

    def _stored_control(self, partition: Partition, *, lock: bool) -> Control | None:
        table = ing_partition_control
        query = sa.select(table.c.control_code, table.c.reason).where(in_partition(table, partition))
        row = self._connection.execute(locked(query) if lock else query).first()
        return Control(ControlState(row.control_code), row.reason) if row else None

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
        return self._cursor_state(namespace, cursor_row(self._connection, namespace, lock=self._lock))

    def other_cursor(self, namespace: Namespace) -> CursorState | None:
        """Another namespace's watermark, as it is now; nothing is locked."""
        return self._cursor_state(namespace, cursor_row(self._connection, namespace))

    def _cursor_state(self, namespace: Namespace, row: sa.Row[Any] | None) -> CursorState | None:
        if row is None:
            return None
        now = self._database.now(self._connection)
        ahead = stands_ahead(row, now)
        begun = anchor_event(self._connection, namespace) if ahead else None
        return CursorState(
            value=believed_value(self._connection, namespace, row, now),
            anchor=begun_at(begun) if begun else row.anchor_instant,
            settled=None if ahead or (row.settled_instant and row.settled_instant > now) else row.settled_instant,
            bound_from=row.bound_from,
            bound_to=row.bound_to,
            lag_seconds=row.lag_seconds,
            lag_changed_at=min(row.lag_changed_at, now) if row.lag_changed_at else None,
            ahead=row.normalized_instant if ahead else None,
        )

    def _believed(self, namespace: Namespace, row: sa.Row[Any]) -> datetime:
        return believed_value(self._connection, namespace, row, self._database.now(self._connection))

    def predecessor(self, namespace: Namespace) -> datetime | None:
        """The watermark of the Registry's query before this one, if there was one; a trigger's own query is none."""
        cursor, instance = ing_cursor, ing_schedule_instance
        query = (
            sa.select(cursor, instance.c.trigger_params)
            .join(instance, instance.c.id == cursor.c.schedule_instance_id)
            .where(
                in_partition(cursor, namespace.partition),
                cursor.c.cursor_key == namespace.cursor_key,
                cursor.c.namespace_key != namespace.key,
            )
            .order_by(cursor.c.updated_at.desc(), cursor.c.id.desc())
        )
        registered = (row for row in self._connection.execute(query) if not row.trigger_params.get("query"))
        return next((self._believed(namespace_from(row), row) for row in registered), None)

    def arrivals(self, namespace: Namespace, since: datetime, clock_since: datetime) -> Arrivals:
        """What came on the days after `since`; how late the provider's clock was, on the days after `clock_since`."""
        now = self._database.now(self._connection)
        return read_arrivals(self._connection, namespace, since, clock_since, now)

    def coverage(self, namespace: Namespace, window: Window) -> Iterator[Coverage]:
        """What of the window was read and when, in order of time."""
        event = ing_cursor_event
        query = (
            sa.select(*covering_columns(CursorType.TIME))
            .where(
                in_namespace(event, namespace),
                COVERS,
                genuine(self._database.now(self._connection)),
                event.c.window_to > window.start,
                event.c.window_from < window.end,
            )
            .order_by(event.c.window_to)
        )
        for row in self._stream(query):
            settled = row.event_type == EventType.COMPACT.value  # or it would not have been compacted
            yield replace(coverage_of(row), as_of=LONG_SETTLED) if settled else coverage_of(row)

    def live(self, namespace: Namespace, window: Window) -> Iterator[Window]:
        """What of the window is in a live task, in order of time, or in an open re-slice request."""
        task, request = ing_task, ing_reslice_request
        mine = (
            task.c.namespace_key == namespace.key,
            task.c.provenance_code == namespace.partition.provenance_code,
            task.c.operation_code == namespace.partition.operation_code.value,
        )
        tasks = (
            sa.select(task.c.window_from, task.c.window_to)
            .where(
                *mine,
                task.c.status_code.in_([status.value for status in LIVE_TASKS]),
                task.c.window_to > window.start,
                task.c.window_from < window.end,
            )
            .order_by(task.c.window_from)
        )
        waiting = (
            sa.select(request.c.remaining_from, request.c.remaining_to)
            .join(task, task.c.id == request.c.task_id)
            .where(
                *mine,
                request.c.status_code == ResliceStatus.OPEN.value,
                request.c.remaining_to > window.start,
                request.c.remaining_from < window.end,
            )
        )
        # In this order: a task that ends with a request meanwhile is in one of the two.
        for query in (tasks, waiting):
            for start, end in self._stream(query):
                yield Window(start, end)

    def estimates(self, spec: SpecSnapshot, window: Window) -> dict[WindowPart, Estimate]:
        """What the provider has lately said of windows within this one."""
        return read_estimates(self._database, self._connection, spec, window)

    def history(self, spec: SpecSnapshot) -> History | None:
        """What the newest windows that were read held."""
        return read_history(self._connection, spec)

    def queued(self, partition: Partition | None, most: int) -> int:
        """How many tasks wait, of a partition or in all; no more than `most` are counted."""
        query = sa.select(sa.literal(1)).where(ing_task.c.status_code == TaskStatus.QUEUED.value)
        if partition:
            query = query.where(in_partition(ing_task, partition))
        counted = sa.select(sa.func.count()).select_from(query.limit(most).subquery())
        return int(self._connection.execute(counted).scalar_one())

    def add_signals(self, partition: Partition, campaign: str, ids: Iterable[str]) -> None:
        """Remember that these ids are to be refreshed; one that is remembered already stays as it is."""
        table, remaining = ing_signal, iter(ids)
        now = self._database.now(self._connection)
        common = {
            **partition_values(partition),
            "campaign": campaign if len(campaign) <= MAX_CAMPAIGN_CHARS else hash_of(campaign),
            "signal_code": SignalCode.REQUESTED.value,
            "state_code": SignalState.OPEN.value,
            "created_at": now,
            "updated_at": now,
        }
        while chunk := list(islice(remaining, CHUNK)):
            statement = insert_new(self._connection.dialect.name, table, "id")
            self._connection.execute(statement, [{**common, "provider_id": one} for one in chunk])

    def planned_signals(self, partition: Partition, ids: Iterable[str]) -> set[str]:
        """Which of these ids a live task is about to refresh."""
        planned: set[str] = set()
        remaining = iter(ids)
        while chunk := list(islice(remaining, CHUNK)):
            planned.update(self._signals(partition, SignalState.PLANNED, ing_signal.c.provider_id.in_(chunk)))
        return planned

    def open_signals(self, partition: Partition) -> Iterator[str]:
        """The ids that wait to be refreshed and are in no live task, each once, in order."""
        last = ""
        while page := self._signals(partition, SignalState.OPEN, ing_signal.c.provider_id > last):
            planned = self.planned_signals(partition, page)
            yield from (one for one in page if one not in planned)
            last = page[-1]

    def _signals(self, partition: Partition, state: SignalState, which: sa.ColumnElement[bool]) -> list[str]:
        table = ing_signal
        query = (
            sa.select(table.c.provider_id)
            .distinct()
            .where(
                table.c.provenance_code == partition.provenance_code,
                table.c.endpoint_name == partition.endpoint_name,
                table.c.state_code == state.value,
                which,
            )
            .order_by(table.c.provider_id)
            .limit(_PAGE)
        )
        return list(self._connection.execute(query).scalars())

    def insert_plan(self, head: PlanHead, anchor: Anchor | None, drafts: Iterable[SliceDraft]) -> int:
        """Plan, slices, tasks and, for a first plan, the anchor; the plan's id."""
        now = self._database.now(self._connection)
        writer = PlanWriter(self._connection, now, head.namespace, head.instance_id)
        plan_id = writer.head(head)
        if anchor:
            writer.anchor(anchor, plan_id)
        writer.slices(plan_id, drafts)
        return plan_id

    def finish_plan(
        self, plan_id: int, namespace: Namespace, status: PlanStatus, remarks: dict[str, Any], settled: datetime | None
    ) -> None:
        """What the plan came to, and what its namespace's events say is settled."""
        move_one(self._connection, ing_plan, plan_id, status, record_remarks=remarks)
        if settled:
            mine = in_namespace(ing_cursor, namespace)
            self._connection.execute(sa.update(ing_cursor).where(mine).values(settled_instant=settled))

    def note_lag(self, namespace: Namespace, seconds: int, now: datetime) -> None:
        """The lag that was learned, and when."""
        learned = {"lag_seconds": seconds, "lag_changed_at": now}
        self._connection.execute(sa.update(ing_cursor).where(in_namespace(ing_cursor, namespace)).values(learned))

    def lock_reslice(self, request_id: int) -> Reslice | None:
        """The request, locked; none when it is no longer open."""
        return reslices.read_open(self._connection, request_id, lock=self._lock)

    def insert_children(self, reslice: Reslice, drafts: Iterable[SliceDraft]) -> int:
        """Slices and tasks of the same plan; how many. The request is served."""
        return reslices.serve(self._connection, reslice, drafts, self._database.now(self._connection))

    def refuse_reslice(self, reslice: Reslice, reason: str) -> None:
        """The request cannot be served; the plan says why."""
        reslices.refuse(self._connection, reslice, reason, self._database.now(self._connection))
