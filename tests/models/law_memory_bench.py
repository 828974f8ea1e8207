"""The paging law's bench in memory: the product's runner on a queue and a ledger that are lists, for many examples.

What the stores promise is tested elsewhere, and the law is held on them too, with fewer examples.
"""

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from threading import Event, Lock
from typing import Any, cast

from ingest_core.cursor.ports import CursorStore
from ingest_core.execution.ports import Batch, Run, RunOutcome, TaskQueue, WorkControl
from ingest_core.execution.run_task import TaskRunner
from ingest_core.model.checkpoint import Checkpoint
from ingest_core.model.codes import TaskStatus
from ingest_core.model.errors import PagingLoop
from ingest_core.model.lease import Lease
from ingest_core.model.namespace import Namespace, harvest_namespace
from ingest_core.model.partition import Partition, partition_of
from ingest_core.model.record import BadId, Counts, PageOutcome, Record, Rejected, Witnesses
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.task import FlowRun, Lineage, Task
from ingest_core.model.window import Window
from ingest_core.planning.estimate import StoredEstimates
from ingest_core.planning.sizing import budget_of, constant_estimate, sizing_of
from ingest_core.planning.strategies.time_slices import TimeCutter
from ingest_core.store.ledger.checkpoints import checkpoint_json, checkpoint_of
from tests.models.habit_pages import BEGIN, Killed
from tests.models.habit_provider import HabitProvider
from tests.models.habits import Habits, Source, Stop, unit_seconds
from tests.models.law_sql_bench import LEASE_SECONDS, hurried, spec_of
from tests.models.paging_law import Ended
from tests.support.upstream import ScriptedGate

NOON = datetime.fromisoformat("2024-01-01T12:00:00+00:00")


class TickingClock:
    """A Clock that is a millisecond later each time."""

    def __init__(self) -> None:
        self._ticks = count()
        self._lock = Lock()

    def now(self) -> datetime:
        """Never the same moment twice."""
        with self._lock:
            return NOON + timedelta(milliseconds=next(self._ticks))


@dataclass
class Memory:
    """What the stores would hold."""

    spec: SpecSnapshot
    clock: TickingClock = field(default_factory=TickingClock)
    tasks: list[dict[str, Any]] = field(default_factory=list)
    runs: list[dict[str, Any]] = field(default_factory=list)
    batches: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    items: dict[str, tuple[str, datetime]] = field(default_factory=dict)
    quarantine: list[dict[str, Any]] = field(default_factory=list)
    to_cut: deque[Window] = field(default_factory=deque)
    asked: set[tuple[int, str]] = field(default_factory=set)
    dies_at_end: bool = False
    fused: bool = False
    hurried: bool = False

    def add_task(self, window: Window) -> None:
        """A task that is due."""
        row = {"id": len(self.tasks) + 1, "window_from": window.start, "window_to": window.end, "last_error": None}
        self.tasks.append(row | {"status_code": "QUEUED", "checkpoint": None, "attempts": 0})

    def claim(self) -> Task | None:
        """The first task that is queued."""
        row = next((one for one in self.tasks if one["status_code"] == "QUEUED"), None)
        if row is None or self.fused:
            return None
        row["status_code"] = "EXECUTING"
        row["attempts"] += 1
        spec = self.spec
        task = Task(
            lease=Lease(row["id"], "ann", row["attempts"], LEASE_SECONDS),
            lineage=Lineage(1, 1, row["id"], row["id"]),
            partition=partition_of(spec),
            namespace=harvest_namespace(spec),
            spec=spec,
            window=Window(row["window_from"], row["window_to"]),
            slice_no=row["id"],
            expr_hash="expr",
            checkpoint=checkpoint_of(row["checkpoint"]),
            attempt_no=row["attempts"],
            budget=budget_of(spec, constant_estimate(spec)),
            slice_count=len(self.tasks),
        )
        return hurried(task) if self.hurried else task

    def cut(self) -> bool:
        """Cut what waits to be cut in two; whether anything was."""
        cutter = TimeCutter(self.spec.time, sizing_of(self.spec), StoredEstimates(constant_estimate(self.spec)))
        found = False
        while self.to_cut:
            halves = cutter.halves(self.to_cut.popleft())
            for half in halves if len(halves) > 1 else []:
                self.add_task(half)
                found = True
        return found


class MemoryQueue:
    """The part of a TaskQueue that a runner uses."""

    def renew(self, lease: Lease) -> None:
        """It is kept."""


class MemoryCursors:
    """The part of a CursorStore that a runner uses."""

    def advance(self, namespace: Namespace) -> None:
        """Computed when it is read."""


class MemoryControl:
    """The part of a WorkControl that a runner uses."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def fuse(self, partition: Partition, version: int, reason: str) -> bool:
        """Nothing is worked any more."""
        self._memory.fused = True
        return True


class MemoryLedger:
    """A RunLedger."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def begin_run(self, task: Task, flow: FlowRun) -> Run:
        """Open an attempt."""
        runs = self._memory.runs
        runs.append({"id": len(runs) + 1, "task_id": task.lease.task_id, "stats": None})
        return Run(len(runs), task.attempt_no, task)

    def open_batch(self, run: Run, page_no: int, batch_no: int, token: str | None, before_hash: str) -> Batch:
        """Write down that a page is about to be asked for."""
        batches = self._memory.batches
        if (run.run_id, before_hash) in self._memory.asked:
            raise PagingLoop(f"page {page_no} was asked for in this run")
        self._memory.asked.add((run.run_id, before_hash))
        row: dict[str, Any] = {
            "run_id": run.run_id,
            "task_id": run.task.lease.task_id,
            "batch_no": batch_no,
            "page_no": page_no,
        }
        row |= {"before_hash": before_hash, "asked_at": self._memory.clock.now(), "id_hashes": None}
        batches.append(row)
        return Batch(len(batches), batch_no, page_no, row["asked_at"])

    def commit_page(self, run: Run, batch: Batch, page: PageOutcome, checkpoint: Checkpoint) -> Counts:
        """Records, quarantine, ledger and checkpoint together."""
        memory = self._memory
        memory.batches[batch.batch_id - 1]["id_hashes"] = page.id_hashes
        memory.tasks[run.task.lease.task_id - 1]["checkpoint"] = checkpoint_json(checkpoint)
        outcomes = [self._store(record) for record in page.records]
        for record in page.gone:
            memory.items[record.provider_id] = "GONE", record.at or batch.asked_at
        for one in (*page.rejected, *page.notes):
            row = {"provider_id": one.provider_id, "reason_code": one.reason.value, "fragment": one.fragment}
            memory.quarantine.append(row | {"task_id": run.task.lease.task_id})
        return Counts(
            received=len(page.records) + len(page.rejected) + page.outside + len(page.gone),
            inserted=outcomes.count("inserted"),
            updated=outcomes.count("updated"),
            skipped=outcomes.count("skipped") + page.outside,
            quarantined=len(page.rejected),
            gone=len(page.gone),
        )

    def _store(self, record: Record) -> str:
        items = self._memory.items
        known = items.get(record.provider_id)
        if known is not None and known[1] >= record.updated_at:
            return "skipped"
        items[record.provider_id] = "PRESENT", record.updated_at
        return "updated" if known else "inserted"

    def fail_batch(self, run: Run, batch: Batch, error: dict[str, Any]) -> None:
        """Close a page that did not come."""

    def seen_ids(self, task: Task, since: datetime, until: datetime | None = None) -> bytes:
        """The id hashes of every page of the task that is committed and was asked for in that time."""
        return b"".join(
            row["id_hashes"] or b""
            for row in self._memory.batches
            if row["task_id"] == task.lease.task_id
            and row["asked_at"] >= since
            and (until is None or row["asked_at"] < until)
        )

    def witnesses(self, task: Task, ids: list[str]) -> Witnesses:
        """There are no details."""
        return Witnesses()

    def bad_ids(self, task: Task, ids: list[str]) -> dict[str, BadId]:
        """There are no details."""
        return {}

    def known_bad(self, task: Task, rejected: list[Rejected]) -> int:
        """None were known."""
        return 0

    def finish(self, run: Run, outcome: RunOutcome) -> None:
        """End the attempt and settle the task and its coverage."""
        memory, task = self._memory, run.task
        if memory.dies_at_end:
            memory.dies_at_end = False
            raise Killed
        row = memory.tasks[task.lease.task_id - 1]
        row |= {"status_code": outcome.task_status.value, "last_error": outcome.error}
        if outcome.checkpoint is not None:
            row["checkpoint"] = checkpoint_json(outcome.checkpoint)
        memory.runs[run.run_id - 1]["stats"] = outcome.stats
        covered = task.window if outcome.task_status == TaskStatus.SUCCEEDED else outcome.covered
        if covered:
            event = {"task_id": task.lease.task_id, "window_from": covered.start, "window_to": covered.end}
            memory.events.append(event | {"as_of": outcome.as_of})
        if outcome.reslice:
            memory.to_cut.append(Window(covered.end if covered else task.window.start, task.window.end))


class MemoryBench:
    """A Bench without a database."""

    def plan(self, habits: Habits, source: Source) -> None:
        """Begin anew with one task for the whole window."""
        memory = Memory(spec_of(habits, source), hurried=source.hurried)
        memory.dies_at_end = habits.stop is not None and habits.stop[1] == Stop.KILLED_AT_END
        memory.add_task(Window(BEGIN, BEGIN + timedelta(seconds=habits.units * unit_seconds(habits))))
        self._memory, self._ledger = memory, MemoryLedger(memory)

    def work(self, provider: HabitProvider, stop: Event) -> bool:
        """Work the next task, or cut what waits to be cut; whether there was anything to do."""
        memory = self._memory
        task = memory.claim()
        if task is None:
            return memory.cut()
        queue, cursors = cast(TaskQueue, MemoryQueue()), cast(CursorStore, MemoryCursors())
        control = cast(WorkControl, MemoryControl(memory))
        try:
            TaskRunner(queue, self._ledger, cursors, control, ScriptedGate(), provider, memory.clock, stop).run(task)
        except Killed:
            memory.tasks[task.lease.task_id - 1] |= {"status_code": "QUEUED", "last_error": {"message": "killed"}}
        return True

    def read(self, ended: Ended) -> None:
        """What is stored."""
        memory = self._memory
        ended.tasks, ended.runs, ended.batches = memory.tasks, memory.runs, memory.batches
        ended.events, ended.quarantine = memory.events, memory.quarantine
        ended.items = {name: state for name, (state, _) in memory.items.items()}
        for event in sorted(memory.events, key=lambda one: one["window_from"]):
            if event["window_from"] <= ended.watermark:
                ended.watermark = max(ended.watermark, event["window_to"])
