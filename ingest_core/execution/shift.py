"""One shift of an executor: which task comes next, in whose slot it is worked, and when it is over."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from datetime import timedelta
from threading import Event
from typing import Protocol

from ingest_core.execution.outcomes import RunSummary
from ingest_core.execution.ports import PartitionSlots, Slot, TaskQueue
from ingest_core.execution.report import ExecuteReport
from ingest_core.model.errors import Unreachable
from ingest_core.model.partition import Due, Partition
from ingest_core.model.task import Task

log = logging.getLogger(__name__)

NEAR = timedelta(minutes=5)
"""A wait for a lease or a scheduled task that is worth staying for."""

STRETCH_SECONDS = 20.0
"""How long a slot serves its partition before waiting partitions of the same priority may have it."""

REFUSED_SECONDS = 3.0
"""How long a full partition is not tried again."""

LOST_CLAIMS = 3
"""Failed claims in a row, although tasks are due, after which a partition counts as full."""

POLL_SECONDS = 2.0
"""Polling interval for new work."""

_SHORT_NAP = timedelta(milliseconds=300)
_NEVER = float("inf")


@dataclass(frozen=True)
class Bounds:
    """What an executor may take on, and how long it stays."""

    source: str | None = None
    max_tasks: int | None = None
    at_once: int = 1
    seconds: float | None = None
    """Time after which no task is started; started ones are finished."""
    until_idle: bool = False
    """Wait for leases and scheduled tasks that come free soon."""
    wait_for_work: bool = False
    """Stay for all of the time, whatever there is to do."""


Submit = Callable[[Task], "Future[RunSummary]"]
"""Has a task worked, perhaps beside others."""


class Watch(Protocol):
    """An observer of a shift."""

    def began(self, task: Task) -> None:
        """A task was claimed and is worked."""

    def ended(self, task: Task, summary: RunSummary) -> None:
        """An attempt has ended."""

    def looked(self, in_hand: int) -> None:
        """Called now and then with the number of tasks being executed."""


class NoWatch:
    """A Watch that does not care."""

    def began(self, task: Task) -> None:
        """A task was claimed and is worked."""

    def ended(self, task: Task, summary: RunSummary) -> None:
        """An attempt has ended."""

    def looked(self, in_hand: int) -> None:
        """Called now and then with the number of tasks being executed."""


@dataclass
class InFlight:
    """One of the tasks that are worked side by side, and the slot it is worked in."""

    partition: Partition
    slot: Slot | None
    since: float
    task: Task
    work: "Future[RunSummary]"


@dataclass
class IdleSlot:
    """A slot whose task has ended: the next task of its partition can have it."""

    partition: Partition
    slot: Slot | None
    since: float


def order_due(due: Sequence[Due], served: Mapping[Partition, float]) -> list[Due]:
    """Due work in the order to try it, where some partitions have an idle slot, each with the seconds it has served.

    They go on while nothing more urgent waits, and for a stretch even if others of the same urgency wait longer.
    """
    first = due[0].priority if due else 0
    going_on = [
        one for one in due if one.priority == first and served.get(one.partition, STRETCH_SECONDS) < STRETCH_SECONDS
    ]
    return going_on + [one for one in due if one not in going_on]


class Shift:
    """Claims tasks and has them worked, within its bounds; after a stop, tasks in flight end in good order."""

    def __init__(
        self,
        queue: TaskQueue,
        claimant: tuple[str, int],
        bounds: Bounds,
        submit: Submit,
        stop: Event,
        slots: PartitionSlots | None = None,
        first: Iterable[Due] = (),
        watch: Watch | None = None,
        report: ExecuteReport | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._queue = queue
        self._claimant = claimant
        self._bounds = bounds
        self._submit = submit
        self._stop = stop
        self._slots = slots
        self._first = list(first)
        self._watch = watch or NoWatch()
        self._clock = clock
        self._until = _NEVER if bounds.seconds is None else clock() + bounds.seconds
        self._begun = 0
        self._in_flight: list[InFlight] = []
        self._idle_slots: list[IdleSlot] = []
        self._refused: dict[Partition, float] = {}
        self._lost: Counter[Partition] = Counter()
        self._report = report or ExecuteReport()

    def work(self) -> ExecuteReport:
        """Work until the bounds are met, nothing is left to do, or a stop."""
        try:
            while True:
                self._collect()
                if self._may_begin() and self._begin():
                    continue
                self._give_spare_back()
                if not self._wait():
                    return self._report
        except BaseException:
            self._stop.set()  # tasks in flight go back to the queue
            raise
        finally:
            self._end()

    def _may_begin(self) -> bool:
        in_bounds = self._bounds.max_tasks is None or self._begun < self._bounds.max_tasks
        return in_bounds and not self._stop.is_set() and self._clock() < self._until

    def _begin(self) -> bool:
        """Claim a task and have it worked; False when there is none, or too many are in flight."""
        if len(self._in_flight) >= self._bounds.at_once:
            return False
        self._queue.give_back_expired()
        self._report.full = []
        return self._begin_first() or (self._begin_any() if self._slots is None else self._begin_due())

    def _begin_first(self) -> bool:
        """Begin one of the tasks that come before all others; one that cannot be claimed now comes with the others."""
        for due in list(self._first):
            idle = self._slot_in(due.partition)
            if idle is not None:
                self._first.remove(due)
                if self._begin_in(idle, due):
                    return True
        return False

    def _begin_any(self) -> bool:
        """Begin the most urgent task: there are no slots to heed."""
        owner, ttl_seconds = self._claimant
        task = self._queue.claim(owner, ttl_seconds, self._bounds.source, self._report.unreachable)
        if task is None:
            return False
        self._work(IdleSlot(task.partition, None, self._clock()), task)
        return True

    def _begin_due(self) -> bool:
        """Begin a task of the first partition that has a free slot."""
        now = self._clock()
        served = {idle.partition: now - idle.since for idle in self._idle_slots}
        found = self._queue.due(self._bounds.source, self._report.unreachable)
        self._lost = Counter({due.partition: self._lost[due.partition] for due in found})
        for due in order_due(found, served):
            idle = self._slot_in(due.partition)
            if idle is not None and self._begin_in(idle, due):
                return True
            self._report.full.append(due.partition)
        return False

    def _slot_in(self, partition: Partition) -> IdleSlot | None:
        """A slot of the partition: an idle one, or a new one; None while there is none."""
        found = next((idle for idle in self._idle_slots if idle.partition == partition), None)
        if found is not None:
            self._idle_slots.remove(found)
            return found
        if self._refused.get(partition, -_NEVER) > self._clock():
            return None
        if len(self._in_flight) + len(self._idle_slots) >= self._bounds.at_once:
            _release(self._idle_slots.pop(0).slot)
        slot = self._take(self._slots, partition) if self._slots is not None else None
        if slot is None and self._slots is not None:
            self._refused[partition] = self._clock() + REFUSED_SECONDS
            return None
        return IdleSlot(partition, slot, self._clock())

    def _take(self, slots: PartitionSlots, partition: Partition) -> Slot | None:
        """A slot, if one is free; None while the server does not answer."""
        try:
            return slots.take(partition)
        except Unreachable as error:
            log.warning("%s: no slot for now: %s", partition, error)
            self._lost[partition] += 1
            return None

    def _begin_in(self, idle: IdleSlot, due: Due) -> bool:
        """Claim one of these and run it in the slot, which is otherwise kept for other tasks of its partition."""
        try:
            task = self._queue.claim_due(*self._claimant, due, idle.slot.caps if idle.slot else None)
        except BaseException:
            _release(idle.slot)
            raise
        if task is None and due.task_id is not None:
            self._idle_slots.append(idle)  # that one task is another's, or must wait; the partition's others need not
        elif task is None:
            self._lost[due.partition] += 1
            self._refused[due.partition] = self._clock() + REFUSED_SECONDS
            _release(idle.slot)
        else:
            del self._lost[due.partition]
            self._work(idle, task)
        return task is not None

    def _work(self, idle: IdleSlot, task: Task) -> None:
        self._begun += 1
        self._watch.began(task)
        try:
            work = self._submit(task)
        except BaseException:
            _release(idle.slot)
            raise
        self._in_flight.append(InFlight(idle.partition, idle.slot, idle.since, task, work))

    def _collect(self) -> None:
        """Take in what has ended; its slot is idle, ready for the next task."""
        for running in [running for running in self._in_flight if running.work.done()]:
            self._in_flight.remove(running)
            if running.slot is not None and running.slot.lasts:
                self._idle_slots.append(IdleSlot(running.partition, running.slot, running.since))
            else:
                _release(running.slot)
            self._take_in(running)
        self._watch.looked(len(self._in_flight))

    def _take_in(self, running: InFlight) -> None:
        summary = running.work.result()
        self._report.add(running.task, summary)
        self._watch.ended(running.task, summary)

    def _wait(self) -> bool:
        """Wait until there may be something to do; False when there will be nothing."""
        if self._in_flight:
            wait([running.work for running in self._in_flight], POLL_SECONDS, FIRST_COMPLETED)
            return True
        return self._may_begin() and self._nap()

    def _nap(self) -> bool:
        """Sleep until something may come free; False when nothing will soon."""
        left = self._until - self._clock()
        if self._bounds.wait_for_work or self._first:
            self._stop.wait(max(min(POLL_SECONDS, left), 0))
            return True
        if any(
            0 < times < LOST_CLAIMS for times in self._lost.values()
        ):  # others were quicker, or the server did not answer
            self._stop.wait(max(min(REFUSED_SECONDS, left), 0))
            return True
        if not self._bounds.until_idle:
            return False
        free = self._queue.waiting(self._bounds.source, self._report.unreachable)
        if free is None or free > NEAR:
            return False
        # What is due and yet could not be claimed waits for others to end.
        nap = free + timedelta(milliseconds=50) if free else _SHORT_NAP
        self._stop.wait(max(min(nap.total_seconds(), POLL_SECONDS, left), 0))
        return True

    def _give_spare_back(self) -> None:
        """A slot without a task goes back at once."""
        while self._idle_slots:
            _release(self._idle_slots.pop().slot)

    def _end(self) -> None:
        """Wait for tasks in flight before their slots are released, whatever happened."""
        wait([running.work for running in self._in_flight])
        for running in self._in_flight:
            if running.work.exception() is None:
                self._take_in(running)
            _release(running.slot)
        self._in_flight.clear()
        self._give_spare_back()


def _release(slot: Slot | None) -> None:
    if slot is not None:
        slot.release()
