"""Execution without a database: a provider that changes while it is read, and what must be stored of it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from ingest_core.execution.expiry import Expiry, LostWorker, decide_expiry
from ingest_core.model.checkpoint import Checkpoint
from ingest_core.model.codes import LEASED_TASKS, LIVE_TASKS, BatchStatus, Operation, PlanStatus, RunStatus, TaskStatus
from ingest_core.model.id_range import IdRange
from ingest_core.model.lease import Lease
from ingest_core.model.record import Counts, PageOutcome
from ingest_core.model.window import Window
from tests.support.pages import page as page_of
from tests.support.pages import record, rejected

PAGE_SIZE = 2
NUMBERS = range(9)
"""The provider's second field; a range of a window is told by it."""

UNNUMBERED = 4
"""The record that lacks the second field: no range finds it, only the whole window or the part without the field."""

UNSET = -1
"""Stands for records without the second field where ground is counted."""

TWICE, BROKEN = 0, 1
"""Of the records: one that its page repeats, and one that cannot be used."""

INSTANT = timedelta(minutes=15)
"""The ground is counted in these: nothing in a walk begins or ends between two."""


@dataclass(frozen=True, order=True)
class Version:
    """A record as it was at one time."""

    changed_at: datetime
    number: int
    revision: int

    @property
    def provider_id(self) -> str:
        """Whose version it is."""
        return f"r{self.number}"

    @property
    def payload(self) -> str:
        """What the provider says of it."""
        return f'{{"id": "{self.provider_id}", "revision": {self.revision}}}'


class Provider:
    """The truth: records that appear, change and come late, in pages by time."""

    def __init__(self) -> None:
        self.truth: dict[int, Version] = {}

    def change(self, number: int, at: datetime) -> None:
        """A record appears or changes; a provider's stamps of one record only go up."""
        known = self.truth.get(number)
        if known is None or at > known.changed_at:
            self.truth[number] = Version(at, number, known.revision + 1 if known else 1)

    def count(self, window: Window) -> int:
        """How many records are in a window now."""
        return sum(window.start <= one.changed_at < window.end for one in self.truth.values())

    def read(self, window: Window, part: IdRange | None, token: str | None) -> tuple[PageOutcome, str | None]:
        """The page after `token` as it is now, and the next token if there is more."""
        wanted = sorted(
            one
            for one in self.truth.values()
            if window.start <= one.changed_at < window.end
            and _within(_field_of(one.number), part)
            and _place(one) > (token or "")
        )
        shown = wanted[:PAGE_SIZE]
        usable = [one for one in shown if one.number != BROKEN]
        usable += [one for one in shown if one.number == TWICE]
        broken = [rejected(one.provider_id) for one in shown if one.number == BROKEN]
        records = [record(one.provider_id, one.changed_at, one.payload) for one in usable]
        following = _place(shown[-1]) if len(wanted) > PAGE_SIZE else None
        return page_of(*records, rejected=broken), following


def _place(one: Version) -> str:
    return f"{one.changed_at.isoformat()} {one.number:02}"


def _field_of(number: int) -> int:
    return UNSET if number == UNNUMBERED else number


def _within(number: int, part: IdRange | None) -> bool:
    if part is None:
        return True
    if number == UNSET or part.is_unset:
        return number == UNSET and part.is_unset
    return (part.start is None or part.start <= number) and (part.end is None or number <= part.end)


NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass
class TaskModel:
    """A task as it must be stored."""

    plan_id: int
    operation: Operation
    namespace: str
    window: Window
    range: IdRange | None
    due: datetime
    status: TaskStatus = TaskStatus.QUEUED
    owner: str | None = None
    fence: int = 0
    expires: datetime | None = None
    expiries: int = 0
    blamed: int = 0
    lost_owner: str | None = None
    lost_at: datetime = NEVER
    attempts: int = 0
    checkpoint: Checkpoint = field(default_factory=Checkpoint)

    @property
    def leased(self) -> bool:
        """Whether somebody holds it, perhaps no longer in time."""
        return self.status in LEASED_TASKS

    def expiry(self, task_id: int) -> Expiry:
        """Its lease that has expired now."""
        return Expiry(task_id, self.owner or "", self.expiries, self.blamed, self.lost_at, self.lost_owner)

    def cells(self, window: Window | None = None) -> Iterator[tuple[datetime, int]]:
        """Its ground, or of a window of it: every instant with every number."""
        window = window or self.window
        at = window.start
        while at < window.end:
            yield from ((at, number) for number in (*NUMBERS, UNSET) if _within(number, self.range))
            at += INSTANT

    def free(self, status: TaskStatus) -> None:
        """Nobody holds it any more."""
        self.status, self.owner, self.expires = status, None, None


@dataclass
class CursorModel:
    """A watermark: where it began, where it was last seen, and all that was read."""

    anchor: datetime
    descending: bool
    seen: datetime
    read: set[tuple[datetime, int]] = field(default_factory=set)

    def frontier(self) -> datetime:
        """The first instant from the anchor on of which anything was not read."""
        at, step = (self.anchor - INSTANT, -INSTANT) if self.descending else (self.anchor, INSTANT)
        while all((at, number) in self.read for number in (*NUMBERS, UNSET)):
            at += step
        return at + INSTANT if self.descending else at

    def at_most(self, value: datetime) -> bool:
        """Whether a watermark has not passed what was not read."""
        return value >= self.frontier() if self.descending else value <= self.frontier()

    def not_behind(self, value: datetime) -> bool:
        """Whether a watermark has not gone back since it was last seen."""
        return value <= self.seen if self.descending else value >= self.seen


@dataclass
class Oracle:
    """What must be stored, told only what the workers did and what the calls answered."""

    tasks: dict[int, TaskModel] = field(default_factory=dict)
    runs: dict[int, tuple[int, RunStatus]] = field(default_factory=dict)
    batches: dict[int, tuple[int, BatchStatus, Counts | None]] = field(default_factory=dict)
    items: dict[str, tuple[datetime, str]] = field(default_factory=dict)
    cursors: dict[str, CursorModel] = field(default_factory=dict)
    requests: dict[int, bool] = field(default_factory=dict)
    """By the task that asked: whether its children do what it left."""
    rest: dict[int, Window] = field(default_factory=dict)
    """What such a task left."""
    covered: set[tuple[int, Window]] = field(default_factory=set)
    cancelled_plans: set[int] = field(default_factory=set)
    paused: set[Operation] = field(default_factory=set)

    def holds(self, lease: Lease) -> bool:
        """Whether a lease is the task's own, though it may be late."""
        task = self.tasks[lease.task_id]
        return task.leased and (task.owner, task.fence) == (lease.owner, lease.fence_no)

    def due(self, now: datetime) -> set[int]:
        """What may be claimed."""
        waiting = {key: task for key, task in self.tasks.items() if task.status == TaskStatus.QUEUED}
        return {key for key, task in waiting.items() if task.due <= now and task.operation not in self.paused}

    def expired(self, now: datetime) -> set[int]:
        """What dead workers hold."""
        return {key for key, task in self.tasks.items() if task.expires is not None and task.expires <= now}

    def claimed(self, lease: Lease, now: datetime) -> None:
        """A worker has it now."""
        task = self.tasks[lease.task_id]
        task.status, task.owner, task.fence = TaskStatus.DISPATCHED, lease.owner, task.fence + 1
        assert lease.fence_no == task.fence
        self.renewed(lease, now)

    def renewed(self, lease: Lease, now: datetime) -> None:
        """Its holder has shown a sign of life."""
        self.tasks[lease.task_id].expires = now + timedelta(seconds=lease.ttl_seconds)

    def gave_back(self, now: datetime) -> None:
        """What had expired is queued again, or given up."""
        expired = self.expired(now)
        lost = [LostWorker(task.lost_owner, task.lost_at) for task in self.tasks.values() if task.lost_owner]
        lost += [LostWorker(self.tasks[key].owner or "", now) for key in expired]
        for key, verdict in [(key, decide_expiry(self.tasks[key].expiry(key), lost, now)) for key in expired]:
            task = self.tasks[key]
            task.expiries, task.blamed = verdict.count, verdict.blamed
            task.lost_owner, task.lost_at = task.owner, now
            task.due = now + verdict.delay if verdict.delay else task.due
            task.free(TaskStatus.FAILED if verdict.failed else TaskStatus.QUEUED)
            self.closed(key)

    def closed(
        self, task_id: int, ended: RunStatus = RunStatus.FAILED, pages: BatchStatus = BatchStatus.FAILED
    ) -> None:
        """Attempts and pages of a task that were open have ended."""
        self.runs = {
            key: (mine, ended if mine == task_id and status == RunStatus.RUNNING else status)
            for key, (mine, status) in self.runs.items()
        }
        for key, (mine, status, counts) in self.batches.items():
            if mine == task_id and status == BatchStatus.RUNNING:
                self.batches[key] = (mine, pages, counts)

    def begun(self, lease: Lease, run_id: int) -> None:
        """An attempt is open, and no other."""
        self.closed(lease.task_id)
        task = self.tasks[lease.task_id]
        task.status, task.attempts = TaskStatus.EXECUTING, task.attempts + 1
        self.runs[run_id] = (lease.task_id, RunStatus.RUNNING)

    def committed(self, task_id: int, batch_id: int, page: PageOutcome, checkpoint: Checkpoint) -> Counts:
        """A page is in, and what must have been counted; a page that was in already changes nothing."""
        _, status, counts = self.batches[batch_id]
        if status == BatchStatus.SUCCEEDED:
            assert counts is not None
            return counts
        counts = self._stored(page)
        self.batches[batch_id] = (task_id, BatchStatus.SUCCEEDED, counts)
        task = self.tasks[task_id]
        task.checkpoint, task.expiries, task.blamed = checkpoint, 0, 0
        return counts

    def _stored(self, page: PageOutcome) -> Counts:
        inserted = updated = older = equal = 0
        for one in page.records:
            known = self.items.get(one.provider_id)
            inserted += known is None
            updated += known is not None and known[0] < one.updated_at
            older += known is not None and known[0] > one.updated_at
            equal += known is not None and known[0] == one.updated_at
            if known is None or known[0] < one.updated_at:
                self.items[one.provider_id] = (one.updated_at, one.payload)
        received, broken = len(page.records) + len(page.rejected), len(page.rejected)
        return Counts(received, inserted, updated, older + equal, broken, older=older, equal=equal)

    def read(self, task_id: int, window: Window) -> None:
        """A slice was read to its end, or so far."""
        task = self.tasks[task_id]
        self.cursors[task.namespace].read.update(task.cells(window))
        self.covered.add((task_id, window))

    def cancelled(self, task_ids: Iterable[int]) -> None:
        """Nobody wants these any more, and whoever holds one has lost it."""
        for key in task_ids:
            task = self.tasks[key]
            task.free(TaskStatus.CANCELLED)
            task.fence += 1
            self.closed(key, RunStatus.CANCELLED, BatchStatus.SKIPPED)

    def unfinished(self, uncut: set[int]) -> set[int]:
        """What may be tried again: what failed, and what ended PARTIAL and is in `uncut`, of plans not cancelled."""
        going = {key: task for key, task in self.tasks.items() if task.plan_id not in self.cancelled_plans}
        return {
            key
            for key, task in going.items()
            if task.status == TaskStatus.FAILED or (task.status == TaskStatus.PARTIAL and key in uncut)
        }

    def retried(self, task_ids: Iterable[int], now: datetime) -> None:
        """These are tried again from where they were."""
        for key in task_ids:
            task = self.tasks[key]
            task.status, task.due, task.expiries, task.blamed = TaskStatus.QUEUED, now, 0, 0
            task.checkpoint = task.checkpoint.retried(task.attempts)

    def live(self) -> list[TaskModel]:
        """What is still to be worked."""
        return [task for task in self.tasks.values() if task.status in LIVE_TASKS]

    def plan_status(self, plan_id: int, waiting: set[int]) -> PlanStatus:
        """What a plan with tasks is; the re-slice requests of `waiting` tasks are open."""
        if plan_id in self.cancelled_plans:
            return PlanStatus.CANCELLED
        mine = {key: task for key, task in self.tasks.items() if task.plan_id == plan_id}
        if any(task.status in LIVE_TASKS or key in waiting for key, task in mine.items()):
            return PlanStatus.READY
        recut = {key for key, served in self.requests.items() if served}
        return _ended({task.status for key, task in mine.items() if key not in recut})


def _ended(statuses: set[TaskStatus]) -> PlanStatus:
    if statuses <= {TaskStatus.SUCCEEDED}:
        return PlanStatus.SUCCEEDED
    if statuses & {TaskStatus.SUCCEEDED, TaskStatus.PARTIAL}:
        return PlanStatus.PARTIAL
    return PlanStatus.FAILED if TaskStatus.FAILED in statuses else PlanStatus.CANCELLED
