"""A worker that takes one step at a time: each is one call to a store, told to the oracle once it is done."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from threading import Event, Lock
from typing import Any

import sqlalchemy as sa

from ingest_core.execution.ports import Batch, Run, RunOutcome
from ingest_core.model.canonical import hash_of
from ingest_core.model.checkpoint import Checkpoint
from ingest_core.model.codes import BatchStatus, RunStatus, TaskStatus
from ingest_core.model.errors import LeaseLost
from ingest_core.model.lease import Lease
from ingest_core.model.namespace import Namespace
from ingest_core.model.record import Counts, PageOutcome
from ingest_core.model.slice_codes import ResliceReason
from ingest_core.model.task import FlowRun, Task
from ingest_core.model.window import Window, window_or_none
from ingest_core.store.engine.database import Database
from tests.models.execution_model import Oracle, Provider
from tests.support.breaking import DEADLINE_SECONDS, PATIENCE_SECONDS
from tests.support.planning_store import Desk

LEASE_SECONDS = 1800
LEASE = timedelta(seconds=LEASE_SECONDS)
ERROR = {"code": "WALK", "message": "the attempt ended"}


@dataclass(frozen=True)
class Step:
    """A call, what is true after it, and the lease it needs."""

    call: Callable[[], Any]
    settle: Callable[[Any], object]
    lease: Lease | None = None
    repeatable: bool = False
    """Whether it may be done twice under the same lease."""


LOST = object()
"""What a call gives whose lease is another's."""


def attempt(step: Step) -> Any:
    """What the call gives, or that the lease was lost."""
    try:
        return step.call()
    except LeaseLost:
        return LOST


@dataclass
class Asked:
    """A page that was asked for, and what came."""

    batch: Batch
    token: str | None
    page: PageOutcome | None = None
    following: str | None = None


@dataclass
class Held:
    """What a worker has in its memory, and a crash takes away."""

    task: Task
    checkpoint: Checkpoint
    run: Run | None = None
    asked: list[Asked] = field(default_factory=list)
    last_batch: int = 0
    broken: bool = False
    """Whether a page did not come: the attempt is to end."""


class Worker:
    """Works tasks as the run loop does: the next page is asked for before the last is written."""

    def __init__(self, name: str, desk: Desk, provider: Provider, oracle: Oracle, now: Callable[[], datetime]) -> None:
        self.name = name
        self.desk = desk
        self.provider = provider
        self.oracle = oracle
        self.now = now
        self.held: Held | None = None
        self.leased: list[Task] = []
        """What it has claimed besides, and works next."""
        self.behind: Namespace | None = None
        """Whose watermark it has yet to advance."""

    def crash(self) -> None:
        """Forget everything."""
        self.held = self.behind = None
        self.leased = []

    def drop(self, lease: Lease) -> None:
        """Forget what it had of a task that is another's."""
        self.leased = [task for task in self.leased if task.lease != lease]
        if self.held and self.held.task.lease == lease:
            self.held = None

    def next_step(self) -> Step:
        """What the run loop does next."""
        if self.behind:
            return self.advance(self.behind)
        held = self.held = self.held or self._next_held()
        if held is None:
            return self.claim()
        if held.run is None:
            return self._begin(held)
        if held.checkpoint.ended:
            return self.end(TaskStatus.SUCCEEDED)
        if held.broken:
            return self.end(TaskStatus.QUEUED, retry_in=LEASE)
        return self._page(held, held.run)

    def _page(self, held: Held, run: Run) -> Step:
        if not held.asked:
            return self._ask(held, run, held.checkpoint.page_no + 1, held.checkpoint.token)
        first = held.asked[0]
        if first.page is None:
            first.page, first.following = self.provider.read(run.task.window, run.task.range, first.token)
        if first.following and len(held.asked) == 1:
            return self._ask(held, run, first.batch.page_no + 1, first.following)
        return self._commit(held, run, first, first.page)

    def _next_held(self) -> Held | None:
        task = self.leased.pop(0) if self.leased else None
        return Held(task, task.checkpoint) if task else None

    def claim(self, most: int = 1) -> Step:
        """Take the most urgent tasks."""

        def settle(tasks: list[Task]) -> None:
            assert len(tasks) <= most
            for task in tasks:
                assert task.lease.task_id in self.oracle.due(self.now())
                assert task.checkpoint == self.oracle.tasks[task.lease.task_id].checkpoint
                self.oracle.claimed(task.lease, self.now())
            self.leased += tasks

        return Step(lambda: self.desk.queue.claim_many(self.name, LEASE_SECONDS, most), settle)

    def release(self) -> Step:
        """Give back what it has claimed last and not begun."""
        lease = self.leased[-1].lease

        def settle(_: None) -> None:
            self.oracle.closed(lease.task_id)
            self.oracle.tasks[lease.task_id].free(TaskStatus.QUEUED)
            self.drop(lease)

        return Step(lambda: self.desk.queue.release(lease), settle, lease)

    def _begin(self, held: Held) -> Step:
        def settle(run: Run) -> None:
            held.run = run
            self.oracle.begun(held.task.lease, run.run_id)

        return self._fenced(held, lambda: self.desk.ledger.begin_run(held.task, FlowRun()), settle)

    def _ask(self, held: Held, run: Run, page_no: int, token: str | None) -> Step:
        number = held.last_batch + 1

        def settle(batch: Batch) -> None:
            held.last_batch = number
            held.asked.append(Asked(batch, token))
            self.oracle.batches[batch.batch_id] = (run.task.lease.task_id, BatchStatus.RUNNING, None)

        digest = hash_of("before", token)
        return self._fenced(held, lambda: self.desk.ledger.open_batch(run, page_no, number, token, digest), settle)

    def _commit(self, held: Held, run: Run, asked: Asked, page: PageOutcome) -> Step:
        batch = asked.batch
        checkpoint = replace(
            held.checkpoint,
            page_no=batch.page_no,
            token=asked.following,
            token_at=batch.asked_at,
            as_of=held.checkpoint.as_of or batch.asked_at,
            ended=asked.following is None,
        )

        def settle(counts: Counts) -> None:
            told = self.oracle.committed(run.task.lease.task_id, batch.batch_id, page, checkpoint)
            assert replace(counts, late=0) == told
            if asked in held.asked:
                held.asked.remove(asked)
                held.checkpoint = checkpoint

        call = lambda: self.desk.ledger.commit_page(run, batch, page, checkpoint)  # noqa: E731 - a name for it
        return self._fenced(held, call, settle, repeatable=True)

    @property
    def idle(self) -> bool:
        """Whether it has nothing to do."""
        return not (self.held or self.leased or self.behind)

    @property
    def waits(self) -> bool:
        """Whether it waits for a page."""
        return self.held is not None and bool(self.held.asked) and not self.held.broken

    def fail_page(self) -> Step:
        """The last page that was asked for does not come; that may be told twice."""
        held = self.held
        assert held is not None
        assert held.run is not None
        run, asked = held.run, held.asked[-1]

        def settle(_: None) -> None:
            task_id, status, counts = self.oracle.batches[asked.batch.batch_id]
            ended = BatchStatus.FAILED if status == BatchStatus.RUNNING else status
            self.oracle.batches[asked.batch.batch_id] = (task_id, ended, counts)
            held.broken = True

        return self._fenced(held, lambda: self.desk.ledger.fail_batch(run, asked.batch, ERROR), settle, repeatable=True)

    def renew(self) -> Step:
        """Keep the lease."""
        held = self.held
        assert held is not None
        return self._fenced(held, lambda: self.desk.queue.renew(held.task.lease), lambda _: None, repeatable=True)

    def end(
        self,
        status: TaskStatus,
        *,
        retry_in: timedelta = timedelta(0),
        reslice: ResliceReason | None = None,
        anew: bool = False,
        ascending: bool = False,
    ) -> Step:
        """End the attempt so; if pages come in `ascending` time, what came so far is covered."""
        held = self.held
        assert held is not None
        assert held.run is not None
        run, task_id = held.run, held.task.lease.task_id
        good = status == TaskStatus.SUCCEEDED
        covered = so_far(held) if ascending else None
        restart = Checkpoint(restarts=held.checkpoint.restarts + 1) if anew else None
        outcome = RunOutcome(
            status,
            {"reqCount": 1, "retCount": 0, "distinctCount": 0},
            as_of=held.checkpoint.as_of if good or covered else None,
            error=None if good else ERROR,
            checkpoint=restart,
            retry_in=retry_in,
            reslice=reslice,
            covered=covered,
        )

        def settle(_: None) -> None:
            task = self.oracle.tasks[task_id]
            self.oracle.closed(task_id, RunStatus.FAILED if status == TaskStatus.QUEUED else RunStatus(status.value))
            task.free(status)
            task.checkpoint = restart or task.checkpoint
            task.due = self.now() + retry_in
            if good or covered:
                self.oracle.read(task_id, covered or task.window)
                self.behind = held.task.namespace
            if reslice and self.oracle.requests.setdefault(task_id, False) is False:
                self.oracle.rest.setdefault(
                    task_id, Window(covered.end if covered else task.window.start, task.window.end)
                )
            self.held = None

        return self._fenced(held, lambda: self.desk.ledger.finish(run, outcome), settle)

    def advance(self, namespace: Namespace) -> Step:
        """Let the watermark follow."""

        def settle(_: datetime | None) -> None:
            self.behind = None

        return Step(lambda: self.desk.cursors.advance(namespace), settle)

    def _fenced(
        self, held: Held, call: Callable[[], Any], settle: Callable[[Any], None], *, repeatable: bool = False
    ) -> Step:
        def settled(result: Any) -> None:
            self.oracle.renewed(held.task.lease, self.now())
            settle(result)

        return Step(call, settled, held.task.lease, repeatable)


def so_far(held: Held) -> Window | None:
    """The whole hours before the last record that came, if there are any."""
    task = held.task
    if task.range or not held.checkpoint.token:
        return None
    last = datetime.fromisoformat(held.checkpoint.token.split()[0]).replace(minute=0)
    return window_or_none(task.window.start, min(last, task.window.end))


def overlapped(database: Database, first: Step, second: Step) -> tuple[Any, Any]:
    """What two calls give, the second made while the first, on this database, is about to commit."""
    reached, release, only = Event(), Event(), Lock()

    def pause(_connection: sa.Connection) -> None:
        if only.acquire(blocking=False):
            reached.set()
            release.wait(DEADLINE_SECONDS)

    sa.event.listen(database.engine, "commit", pause)
    try:
        with ThreadPoolExecutor(2) as pool:
            one = pool.submit(attempt, first)
            while not reached.wait(0.002) and not one.done():
                pass
            two = pool.submit(attempt, second)
            wait([two], timeout=PATIENCE_SECONDS)
            release.set()
            return one.result(DEADLINE_SECONDS), two.result(DEADLINE_SECONDS)
    finally:
        release.set()
        sa.event.remove(database.engine, "commit", pause)
