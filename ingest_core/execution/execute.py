"""The executor's use case: claim and run tasks until there is nothing more to do."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Event
from typing import Any

from ingest_core.cursor.ports import CursorStore
from ingest_core.execution.outcomes import RunSummary
from ingest_core.execution.ports import TaskQueue
from ingest_core.execution.run_task import TaskRunner
from ingest_core.model.codes import TaskStatus
from ingest_core.model.errors import Unreachable
from ingest_core.model.record import Counts
from ingest_core.model.work import Task

NEAR = timedelta(minutes=5)
"""A wait for a lease or a scheduled task that is worth staying for."""

_SHORT_NAP = timedelta(milliseconds=300)
_LONGEST_NAP = timedelta(seconds=2)


@dataclass
class ExecuteReport:
    """What an executor did."""

    succeeded: int = 0
    partial: int = 0
    failed: int = 0
    requeued: int = 0
    attempts: int = 0
    batches: int = 0
    requests: int = 0
    counts: Counts = field(default_factory=Counts)
    errors: list[str] = field(default_factory=list)

    def add(self, summary: RunSummary) -> None:
        """Count one attempt in."""
        self.attempts += 1
        self.batches += summary.batches
        self.requests += summary.requests
        self.counts += summary.counts
        self.succeeded += summary.status == TaskStatus.SUCCEEDED
        self.partial += summary.status == TaskStatus.PARTIAL
        self.failed += summary.status == TaskStatus.FAILED
        self.requeued += summary.status == TaskStatus.QUEUED
        if summary.error:
            self.errors.append(f"task {summary.task_id}: {summary.error}")

    def json(self) -> dict[str, Any]:
        """The report under its interface's names."""
        return {
            "tasks": {"succeeded": self.succeeded, "partial": self.partial, "failed": self.failed},
            "requeued": self.requeued,
            "batches": self.batches,
            "requests": self.requests,
            "records": self.counts.json(),
            "errors": self.errors,
        }


class Executor:
    """Leases tasks one after the other and runs them."""

    def __init__(
        self,
        queue: TaskQueue,
        cursors: CursorStore,
        runner: TaskRunner,
        owner: str,
        lease_ttl_seconds: int,
        stop: Event,
    ) -> None:
        self._queue = queue
        self._cursors = cursors
        self.runner = runner
        self._owner = owner
        self._lease_ttl_seconds = lease_ttl_seconds
        self.stop = stop

    def execute(
        self,
        source: str | None = None,
        max_tasks: int | None = None,
        *,
        until_idle: bool = False,
        run: Callable[[Task], RunSummary] | None = None,
    ) -> ExecuteReport:
        """Run tasks until none is claimable; `until_idle` also waits for what is about to come free."""
        report = ExecuteReport()
        work = run or self.runner.run
        self._cursors.repair()
        while not self.stop.is_set() and (max_tasks is None or report.attempts < max_tasks):
            task = self.claim(source)
            if task:
                summary = work(task)
                report.add(summary)
                _stop_if_unreachable(task, summary)
            elif not (until_idle and self._nap(source)):
                break
        return report

    def claim(self, source: str | None = None) -> Task | None:
        """Give back what dead workers held, then take the most urgent task."""
        self._queue.give_back_expired()
        return self._queue.claim(self._owner, self._lease_ttl_seconds, source)

    def _nap(self, source: str | None) -> bool:
        """Sleep until something may come free; False when nothing will soon."""
        wait = self._queue.waiting(source)
        if wait is None or wait > NEAR:
            return False
        # What is due and yet could not be claimed waits for others to end.
        nap = wait + timedelta(milliseconds=50) if wait else _SHORT_NAP
        self.stop.wait(min(nap, _LONGEST_NAP).total_seconds())
        return True


def _stop_if_unreachable(task: Task, summary: RunSummary) -> None:
    """What cannot be reached for one task cannot be reached for the next: the queue keeps them all."""
    if summary.unreachable:
        source = task.partition.provenance_code
        raise Unreachable(
            "UPSTREAM_UNREACHABLE",
            summary.error or "no connection",
            where=f"source {source!r}",
            remedy=f"its tasks stay queued; check the network or PATRA_UPSTREAM_{source.upper()}",
        )
