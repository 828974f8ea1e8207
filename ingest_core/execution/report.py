"""What an executor did, counted."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ingest_core.execution.outcomes import RunSummary
from ingest_core.model.codes import TaskStatus
from ingest_core.model.errors import Unreachable
from ingest_core.model.naming import slice_name
from ingest_core.model.partition import Partition, Resting
from ingest_core.model.record import Counts
from ingest_core.model.task import Task


@dataclass
class ExecuteReport:
    """What an executor did."""

    succeeded: int = 0
    partial: int = 0
    failed: int = 0
    requeued: int = 0
    lost: int = 0
    attempts: int = 0
    batches: int = 0
    requests: int = 0
    counts: Counts = field(default_factory=Counts)
    errors: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    """What ended FAILED, and why."""
    too_big: Counter[str] = field(default_factory=Counter)
    """How many slices of which partition ended PARTIAL, to be cut smaller."""
    unreachable: dict[str, str] = field(default_factory=dict)
    """Sources that could not be reached, and why: their tasks stay queued."""
    full: list[Partition] = field(default_factory=list)
    """Partitions whose tasks wait, although this executor had time for them: other workers hold all their slots."""
    weak_ends: int = 0
    """How many of the tasks that succeeded ended without a total that confirms it."""
    fused: int = 0
    """How many of the failures stopped their partition."""
    resting: list[Resting] = field(default_factory=list)
    """Partitions with tasks that wait for an operator to resume them."""
    held_up: bool = False
    """Whether what this run was to work first is among them."""

    def add(self, task: Task, summary: RunSummary) -> None:
        """Count one attempt in."""
        self.attempts += 1
        self.batches += summary.batches
        self.requests += summary.requests
        self.counts += summary.counts
        self.succeeded += summary.status == TaskStatus.SUCCEEDED
        self.partial += summary.status == TaskStatus.PARTIAL
        self.failed += summary.status == TaskStatus.FAILED
        self.requeued += summary.status == TaskStatus.QUEUED
        self.lost += summary.lost
        self.weak_ends += summary.weak_end
        self.fused += summary.fused
        if summary.error:
            self.errors.append(f"task {summary.task_id}: {summary.error}")
        if summary.status == TaskStatus.FAILED:
            self.failures.append(f"{slice_name(task)}: {summary.error}")
        if summary.status == TaskStatus.PARTIAL:
            self.too_big[str(task.partition)] += 1
        if summary.unreachable:
            self.unreachable[task.partition.provenance_code] = summary.error or "no connection"

    def raise_unreachable(self) -> None:
        """Say which source could not be reached; the queue keeps its tasks."""
        for source, why in self.unreachable.items():
            remedy = f"its tasks stay queued; check the network or PATRA_UPSTREAM_{source.upper()}"
            raise Unreachable("UPSTREAM_UNREACHABLE", why, where=f"source {source!r}", remedy=remedy)

    def json(self) -> dict[str, Any]:
        """The report under its interface's names."""
        return {
            "tasks": {"succeeded": self.succeeded, "partial": self.partial, "failed": self.failed},
            "requeued": self.requeued,
            "batches": self.batches,
            "requests": self.requests,
            "records": self.counts.json(),
            "weak_ends": self.weak_ends,
            "errors": self.errors,
        }
