"""A shift's decisions: whose turn it is, in whose slot, side by side, and when it is over."""

from collections.abc import Collection, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Event
from typing import Any, cast

import pytest

from ingest_core.execution import shift as shift_module
from ingest_core.execution.outcomes import RunSummary
from ingest_core.execution.ports import TaskQueue
from ingest_core.execution.report import ExecuteReport
from ingest_core.execution.shift import (
    LOST_CLAIMS,
    POLL_SECONDS,
    REFUSED_SECONDS,
    STRETCH_SECONDS,
    Bounds,
    Shift,
    order_due,
)
from ingest_core.model.codes import Operation, TaskStatus
from ingest_core.model.errors import Unreachable
from ingest_core.model.lease import Lease
from ingest_core.model.partition import Due, Partition, SlotCaps
from ingest_core.model.task import Task

BOOKS = Partition("books", "list", Operation.HARVEST)
TAPES = Partition("tapes", "list", Operation.HARVEST)
OLD_BOOKS = Partition("books", "list", Operation.BACKFILL)
CAPS = SlotCaps(2, 8)


@dataclass(frozen=True)
class Job:
    """As much of a task as a shift looks at."""

    lease: Lease
    partition: Partition


@dataclass
class Room:
    """A queue, slots, a clock and hands, all in memory: what happens is written down in order."""

    jobs: dict[int, tuple[Partition, int]] = field(default_factory=dict)
    """What is queued: its partition and priority, by its id."""
    caps: dict[Partition, int] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)
    now: float = 0.0
    stop: Event = field(default_factory=Event)
    turns: list[Partition] = field(default_factory=list)
    held: list[Partition] = field(default_factory=list)
    hands: dict[int, "Future[RunSummary]"] = field(default_factory=dict)
    most_in_hand: int = 0
    counted: list[SlotCaps | None] = field(default_factory=list)
    """What claims were to stay within."""
    deaf: bool = False

    def queue_up(self, partition: Partition, *ids: int, priority: int = 3) -> None:
        self.jobs |= dict.fromkeys(ids, (partition, priority))

    # The queue.

    def give_back_expired(self) -> int:
        return 0

    def due(self, source: str | None = None, excluding: Collection[str] = ()) -> list[Due]:
        self.told.append("look")
        heads: dict[Partition, int] = {}
        for partition, priority in self.jobs.values():
            if partition.provenance_code not in excluding and source in (None, partition.provenance_code):
                heads[partition] = min(priority, heads.get(partition, 9))
        levels = list(heads.values())
        order = sorted(heads.items(), key=lambda head: (head[1], self._turn(head[0])))
        return [Due(one, priority, shared=levels.count(priority) > 1) for one, priority in order]

    def _turn(self, partition: Partition) -> int:
        return max((number for number, one in enumerate(self.turns) if one == partition), default=-1)

    def claim_due(self, owner: str, ttl_seconds: int, due: Due, caps: SlotCaps | None = None) -> Task | None:
        self.counted.append(caps)
        fitting = [
            number
            for number, (partition, priority) in sorted(self.jobs.items())
            if (number == due.task_id if due.task_id else (partition, priority) == (due.partition, due.priority))
        ]
        return self._claimed(fitting[0], owner, ttl_seconds) if fitting else None

    def claim(
        self, owner: str, ttl_seconds: int, source: str | None = None, excluding: Collection[str] = ()
    ) -> Task | None:
        found = self.due(source, excluding)
        return self.claim_due(owner, ttl_seconds, found[0]) if found else None

    def _claimed(self, number: int, owner: str, ttl_seconds: int) -> Task:
        partition, _priority = self.jobs.pop(number)
        self.turns.append(partition)
        return cast(Task, Job(Lease(number, owner, 1, ttl_seconds), partition))

    def waiting(self, source: str | None = None, excluding: Collection[str] = ()) -> timedelta | None:
        return None

    # The slots.

    def take(self, partition: Partition) -> "Held | None":
        if self.deaf:
            raise Unreachable("PREFECT_UNREACHABLE", "no answer")
        if self.held.count(partition) >= self.caps.get(partition, 99):
            self.told.append(f"{partition} is full")
            return None
        self.held.append(partition)
        self.told.append(f"take {partition.provenance_code}")
        return Held(self, partition)

    # The hands.

    def submit(self, task: Task) -> "Future[RunSummary]":
        self.told.append(f"work {task.lease.task_id}")
        self.hands[task.lease.task_id] = Future()
        self.most_in_hand = max(self.most_in_hand, len(self.hands))
        assert task.partition in self.held or not self.held, "a task is worked without a slot"
        return self.hands[task.lease.task_id]

    def end(self, number: int, status: TaskStatus = TaskStatus.SUCCEEDED, **more: Any) -> None:
        self.hands.pop(number).set_result(RunSummary(number, status, **more))


@dataclass
class Held:
    """A slot."""

    room: Room
    partition: Partition
    caps: SlotCaps = CAPS
    lasts: bool = True

    def release(self) -> None:
        self.room.held.remove(self.partition)
        self.room.told.append(f"release {self.partition.provenance_code}")


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Room:
    """All in memory; waiting ends the oldest task in hand, or lets time pass."""
    made = Room()

    def wait(works: Iterable["Future[RunSummary]"], timeout: float | None = None, *_: object) -> None:
        made.now += timeout or float(bool(works))
        for number in list(made.hands)[: None if timeout is None else 1]:
            made.end(number)

    def sleep(seconds: float) -> bool:
        made.now += seconds
        return made.stop.is_set()

    monkeypatch.setattr(shift_module, "wait", wait)
    monkeypatch.setattr(made.stop, "wait", sleep)
    return made


def work(room: Room, slots: bool = True, first: Iterable[Due] = (), **bounds: Any) -> ExecuteReport:
    """One shift."""
    queue = cast(TaskQueue, room)
    given = Bounds(**{"at_once": 1, **bounds})
    taken = room if slots else None
    made = Shift(queue, ("ann", 60), given, room.submit, room.stop, taken, first, clock=lambda: room.now)
    return made.work()


def test_one_slot_serves_consecutive_tasks_of_its_partition(room: Room) -> None:
    room.queue_up(BOOKS, 1, 2, 3)
    report = work(room)
    assert [word for word in room.told if word != "look"] == [
        "take books", "work 1", "work 2", "work 3", "release books",
    ]  # fmt: skip
    assert (report.succeeded, room.held) == (3, [])


def test_a_slot_that_others_may_have_been_given_serves_no_other_task(room: Room) -> None:
    room.queue_up(BOOKS, 1, 2)
    begin = room.take

    def take(partition: Partition) -> "Held | None":
        slot = begin(partition)
        assert slot
        slot.lasts = len(room.told) > 3
        return slot

    room.take = take  # type: ignore[method-assign]
    work(room)
    assert [word for word in room.told if word != "look"] == [
        "take books", "work 1", "release books", "take books", "work 2", "release books",
    ]  # fmt: skip


def test_a_claim_is_told_how_many_slots_there_are(room: Room) -> None:
    room.queue_up(BOOKS, 1)
    room.queue_up(TAPES, 9)
    work(room, first=[Due(TAPES, 3, 9)])
    assert room.counted == [CAPS] * 2


def test_a_slot_goes_to_others_of_the_same_urgency_after_a_stretch(room: Room) -> None:
    room.queue_up(BOOKS, *range(1, 30))
    room.queue_up(TAPES, *range(101, 130))
    work(room, max_tasks=24)
    served = [word for word in room.told if word.startswith("take")]
    stretch = int(STRETCH_SECONDS / POLL_SECONDS)
    assert served == ["take books", "take tapes", "take books"]
    assert room.told.index("take tapes") > room.told.index(f"work {stretch}")


def test_a_slot_goes_at_once_to_what_is_more_urgent(room: Room) -> None:
    room.queue_up(BOOKS, 1, 2, priority=5)
    begin = room.submit

    def and_then(task: Task) -> "Future[RunSummary]":
        if task.lease.task_id == 1:
            room.queue_up(TAPES, 9, priority=2)
        return begin(task)

    room.submit = and_then  # type: ignore[method-assign]
    work(room)
    assert [word for word in room.told if word != "look"] == [
        "take books", "work 1", "release books", "take tapes", "work 9", "release tapes",
        "take books", "work 2", "release books",
    ]  # fmt: skip


def test_order_due_prefers_what_is_at_hand_among_equals_only() -> None:
    urgent, one, other = Due(TAPES, 2), Due(BOOKS, 3), Due(OLD_BOOKS, 3)
    assert order_due([one, other], {OLD_BOOKS: 1.0}) == [other, one]
    assert order_due([one, other], {OLD_BOOKS: STRETCH_SECONDS}) == [one, other]
    assert order_due([urgent, one, other], {OLD_BOOKS: 1.0}) == [urgent, one, other]
    assert order_due([], {OLD_BOOKS: 1.0}) == []


def test_no_more_than_so_many_are_worked_side_by_side(room: Room) -> None:
    room.queue_up(BOOKS, *range(1, 11))
    report = work(room, at_once=4)
    assert (report.succeeded, room.most_in_hand, room.held) == (10, 4, [])


def test_a_full_partition_is_passed_over_and_told(room: Room) -> None:
    room.queue_up(BOOKS, 1, 2)
    room.queue_up(TAPES, 9)
    room.caps = {BOOKS: 0}
    report = work(room)
    assert (report.succeeded, report.full, room.held) == (1, [BOOKS], [])
    assert sorted(room.jobs) == [1, 2]


def test_a_full_partition_is_not_asked_again_at_once(room: Room) -> None:
    room.queue_up(BOOKS, 1)
    room.caps = {BOOKS: 0}
    work(room, wait_for_work=True, seconds=10 * REFUSED_SECONDS)
    assert 5 <= room.told.count("books.list.harvest is full") <= 10
    assert room.told.count("look") > 10


def test_nothing_is_begun_after_its_time_and_what_was_begun_is_finished(room: Room) -> None:
    room.queue_up(BOOKS, *range(1, 100))
    report = work(room, at_once=3, seconds=5 * POLL_SECONDS)
    assert report.succeeded == 7
    assert (room.held, room.hands) == ([], {})


def test_no_more_tasks_are_begun_than_were_asked_for(room: Room) -> None:
    room.queue_up(BOOKS, *range(1, 100))
    report = work(room, at_once=4, max_tasks=6)
    assert (report.attempts, room.most_in_hand, len(room.jobs)) == (6, 4, 93)


def test_a_shift_that_waits_for_work_takes_it_up_as_it_appears(room: Room) -> None:
    look = room.due

    def later(source: str | None = None, excluding: Collection[str] = ()) -> list[Due]:
        if room.now >= 20 and not room.turns:
            room.queue_up(BOOKS, 1)
        return look(source, excluding)

    room.due = later  # type: ignore[method-assign]
    report = work(room, wait_for_work=True, seconds=60)
    assert (report.succeeded, room.now) == (1, 60)
    assert room.told.count("look") <= 60 / POLL_SECONDS + 2


def test_a_stop_lets_what_is_in_hand_end_and_begins_nothing(room: Room) -> None:
    room.queue_up(BOOKS, *range(1, 10))
    begin = room.submit

    def then_stop(task: Task) -> "Future[RunSummary]":
        if task.lease.task_id == 3:
            room.stop.set()
        return begin(task)

    room.submit = then_stop  # type: ignore[method-assign]
    report = work(room, at_once=4)
    assert (report.attempts, room.held, room.hands) == (3, [], {})


def test_what_a_retried_run_left_comes_first(room: Room) -> None:
    room.queue_up(BOOKS, 1, 2, priority=2)
    room.queue_up(TAPES, 7, 8, priority=7)
    first = [Due(TAPES, 7, 8), Due(TAPES, 7, 7), Due(TAPES, 7, 6)]
    work(room, first=first)
    assert [word for word in room.told if word.startswith("work")] == ["work 8", "work 7", "work 1", "work 2"]
    assert room.held == []


def test_what_comes_first_is_waited_for_while_its_partition_is_full(room: Room) -> None:
    room.queue_up(TAPES, 8)
    room.caps = {TAPES: 0}
    look = room.due

    def then_free(source: str | None = None, excluding: Collection[str] = ()) -> list[Due]:
        if room.now > 30:
            room.caps = {}
        return look(source, excluding)

    room.due = then_free  # type: ignore[method-assign]
    report = work(room, first=[Due(TAPES, 7, 8)], seconds=300)
    assert report.succeeded == 1


def test_a_source_that_cannot_be_reached_is_left_alone_and_others_go_on(room: Room) -> None:
    room.queue_up(BOOKS, 1, 2, 3)
    room.queue_up(TAPES, 8, 9)
    begin = room.submit

    def refused(task: Task) -> "Future[RunSummary]":
        done = begin(task)
        if task.partition == BOOKS:
            room.end(task.lease.task_id, TaskStatus.QUEUED, error="no route", unreachable=True)
        return done

    room.submit = refused  # type: ignore[method-assign]
    report = work(room)
    assert (report.succeeded, report.requeued, sorted(room.jobs)) == (2, 1, [2, 3])
    with pytest.raises(Unreachable, match=r"source 'books': no route \(its tasks stay queued"):
        report.raise_unreachable()


@pytest.mark.parametrize("slots", [True, False])
def test_an_error_ends_the_shift_after_what_is_in_hand_and_gives_every_slot_back(room: Room, slots: bool) -> None:
    room.queue_up(BOOKS, 1, 2, 3)
    begin = room.submit

    def broken(task: Task) -> "Future[RunSummary]":
        done = begin(task)
        if task.lease.task_id == 2:
            room.hands.pop(2).set_exception(Unreachable("DATABASE_UNREACHABLE", "gone"))
        return done

    room.submit = broken  # type: ignore[method-assign]
    with pytest.raises(Unreachable, match="gone"):
        work(room, slots, at_once=2)
    assert (room.held, room.hands, room.stop.is_set()) == ([], {}, True)


def test_a_named_task_that_cannot_be_claimed_keeps_nobody_from_its_partition(room: Room) -> None:
    room.queue_up(TAPES, 6, 7)
    report = work(room, first=[Due(TAPES, 7, number) for number in range(20, 40)])
    assert (report.succeeded, room.held, report.full) == (2, [], [])
    assert room.told.count("take tapes") == 1
    assert room.now < REFUSED_SECONDS * 3


@pytest.mark.parametrize("times", [1, LOST_CLAIMS - 1, LOST_CLAIMS])
def test_a_claim_that_others_won_is_tried_again_but_not_for_ever(room: Room, times: int) -> None:
    room.queue_up(BOOKS, 1)
    claims, lost = room.claim_due, iter([True] * times)

    def claim_due(owner: str, ttl_seconds: int, due: Due, caps: SlotCaps | None = None) -> Task | None:
        return None if next(lost, False) else claims(owner, ttl_seconds, due, caps)

    room.claim_due = claim_due  # type: ignore[method-assign]
    report = work(room)
    assert room.held == []
    worked = times < LOST_CLAIMS
    assert (report.succeeded, report.full) == ((1, []) if worked else (0, [BOOKS]))


def test_without_an_answer_about_slots_nothing_is_begun(room: Room) -> None:
    room.queue_up(BOOKS, 1)
    room.deaf = True
    report = work(room)
    assert (report.attempts, report.full, room.held) == (0, [BOOKS], [])


def test_without_slots_the_most_urgent_is_worked_one_after_the_other(room: Room) -> None:
    room.queue_up(BOOKS, 1, 2)
    room.queue_up(TAPES, 3, priority=1)
    report = work(room, slots=False)
    assert [word for word in room.told if word.startswith("work")] == ["work 3", "work 1", "work 2"]
    assert (report.succeeded, room.most_in_hand) == (3, 1)
