"""The relay's decisions, over an outbox in memory: what is sent together, what waits, what is given up."""

from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from threading import Event
from typing import Any

import pytest

from ingest_core.model.message import Message
from ingest_core.outbox.ports import Failure, MessageRefused, PublisherUnavailable
from ingest_core.outbox.relay import CLAIM_LIMIT, FAULTS_IN_A_ROW, Relay, parts_of
from ingest_core.outbox.retry import LONGEST_WAIT, MAX_ATTEMPTS, MAX_REFUSALS, is_last, wait_after
from tests.support.outbox import MemoryPublisher, message, relay_of


@dataclass
class MemoryOutbox:
    """An Outbox of messages that are all due, each of a key of its own."""

    waiting_messages: list[Message]
    sent: list[Message] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    released: list[Message] = field(default_factory=list)
    renewals: int = 0
    lost: set[int] = field(default_factory=set)
    wait: timedelta = timedelta(0)

    def claim(self, owner: str, ttl_seconds: int, limit: int) -> list[Message]:
        claimed, self.waiting_messages = self.waiting_messages[:limit], self.waiting_messages[limit:]
        return claimed

    def renew(self, owner: str, ttl_seconds: int, messages: Sequence[Message]) -> list[Message]:
        self.renewals += 1
        return [one for one in messages if one.sequence not in self.lost]

    def mark_sent(self, owner: str, messages: Sequence[Message]) -> int:
        arrived = [one for one in messages if one.sequence not in self.lost]
        self.sent += arrived
        return len(arrived)

    def mark_failed(self, owner: str, failures: Sequence[Failure]) -> None:
        self.failures += failures
        self.waiting_messages += [
            replace(one.message, attempts=one.message.attempts + 1) for one in failures if not one.dead
        ]

    def release(self, owner: str, messages: Sequence[Message]) -> None:
        self.released += messages
        self.waiting_messages += messages

    def pending(self) -> int:
        return len(self.waiting_messages)

    def waiting(self) -> timedelta | None:
        return self.wait if self.waiting_messages else None


def many(number: int, attempts: int = 0) -> list[Message]:
    return [message(f"r{one}", one, attempts) for one in range(1, number + 1)]


@dataclass
class Naps(Event):
    """A stop that is never set, and keeps how long it was waited for."""

    seconds: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def wait(self, timeout: float | None = None) -> bool:
        self.seconds.append(timeout or 0.0)
        return False


def test_new_messages_are_sent_together_and_those_that_failed_alone() -> None:
    new, failed = many(2), [message("x", 8, 1), message("y", 9, 3)]
    assert parts_of([new[0], failed[0], new[1], failed[1]]) == [new, [failed[0]], [failed[1]]]
    assert parts_of([]) == []


def test_waits_double_up_to_a_bound_and_are_not_shorter_than_asked() -> None:
    assert [wait_after(number).total_seconds() for number in (1, 2, 3, 10)] == [1, 2, 4, 512]
    assert wait_after(10_000) == LONGEST_WAIT
    assert wait_after(1, timedelta(hours=2)) == timedelta(hours=2)
    assert wait_after(5, timedelta(0)) == timedelta(seconds=16)


def test_a_refused_message_is_given_up_long_before_one_that_nobody_took() -> None:
    assert [is_last(number, refused=True) for number in (MAX_REFUSALS - 1, MAX_REFUSALS)] == [False, True]
    assert [is_last(number, refused=False) for number in (MAX_ATTEMPTS - 1, MAX_ATTEMPTS)] == [False, True]


def test_everything_due_is_sent_in_bounded_batches() -> None:
    outbox, publisher = MemoryOutbox(many(CLAIM_LIMIT * 2 + 1)), MemoryPublisher()
    report = relay_of(outbox, publisher).relay()
    assert [len(call) for call in publisher.calls] == [CLAIM_LIMIT, CLAIM_LIMIT, 1]
    assert (report.sent, report.failed, report.pending, report.unavailable) == (201, 0, 0, False)


def test_no_more_than_asked_for_is_handled() -> None:
    outbox = MemoryOutbox(many(10))
    report = relay_of(outbox, MemoryPublisher()).relay(3)
    assert (report.sent, report.pending) == (3, 7)


def test_halving_finds_every_message_at_fault() -> None:
    def refuse(messages: Sequence[Message]) -> None:
        if {one.sequence for one in messages} & {3, 7}:
            raise MessageRefused("no")

    outbox, publisher = MemoryOutbox(many(8)), MemoryPublisher(fault=refuse)
    report = relay_of(outbox, publisher).relay(8)
    assert sorted(failure.message.sequence for failure in outbox.failures) == [3, 7]
    assert (report.sent, report.failed) == (6, 2)
    assert [one.sequence for one in publisher.sent] == [1, 2, 4, 5, 6, 8]


def test_after_some_faults_in_a_row_the_rest_is_given_back_untried() -> None:
    def away(_messages: Sequence[Message]) -> None:
        raise PublisherUnavailable("gone")

    outbox = MemoryOutbox(many(10, attempts=1))
    report = relay_of(outbox, MemoryPublisher(fault=away)).relay()
    assert (report.failed, len(outbox.released), report.unavailable) == (FAULTS_IN_A_ROW, 7, True)
    assert report.errors == ["gone"]


def test_a_publisher_that_asks_for_time_is_left_alone_at_once() -> None:
    def busy(_messages: Sequence[Message]) -> None:
        raise PublisherUnavailable("busy", timedelta(minutes=10))

    outbox = MemoryOutbox(many(10, attempts=1))
    report = relay_of(outbox, MemoryPublisher(fault=busy), stop=Naps()).relay(until_empty=True)
    assert (report.failed, report.unavailable) == (1, True)
    assert outbox.failures[0].wait == timedelta(minutes=10)


def test_one_message_that_breaks_the_publisher_does_not_hold_up_the_rest() -> None:
    def break_down(messages: Sequence[Message]) -> None:
        if any(one.sequence == 2 for one in messages):
            raise PublisherUnavailable("500")

    outbox = MemoryOutbox(many(5))
    relay_of(outbox, MemoryPublisher(fault=break_down), stop=Naps()).relay(40, until_empty=True)
    assert sorted(one.sequence for one in outbox.sent) == [1, 3, 4, 5]


def test_a_publisher_that_is_away_is_asked_ever_more_seldom_and_then_no_more() -> None:
    def away(_messages: Sequence[Message]) -> None:
        raise PublisherUnavailable("gone")

    naps = Naps()
    report = relay_of(MemoryOutbox(many(1)), MemoryPublisher(fault=away), stop=naps).relay(until_empty=True)
    assert report.unavailable
    waits = [seconds for seconds in naps.seconds if seconds >= 1]
    assert waits == sorted(waits)
    assert waits[-1] == 256


def test_others_errors_are_told_by_their_kind_alone() -> None:
    def fail(_messages: Sequence[Message]) -> None:
        raise ValueError("password is hunter2")

    report = relay_of(MemoryOutbox(many(1)), MemoryPublisher(fault=fail)).relay()
    assert report.errors == ["the publisher failed: ValueError"]


def test_a_message_refused_too_often_is_dead_and_counted() -> None:
    def refuse(_messages: Sequence[Message]) -> None:
        raise MessageRefused("no " + "x" * 1000)

    outbox = MemoryOutbox(many(1, attempts=MAX_REFUSALS - 1))
    report = relay_of(outbox, MemoryPublisher(fault=refuse)).relay()
    assert (report.dead, report.pending) == (1, 0)
    assert len(outbox.failures[0].error) <= 500


def test_leases_are_renewed_while_sending_takes_long_and_what_was_lost_is_not_sent() -> None:
    now = [0.0]
    outbox = MemoryOutbox(many(5, attempts=1), lost={4, 5})

    def slow(_messages: Sequence[Message]) -> None:
        now[0] += 11.0

    publisher = MemoryPublisher(fault=slow)
    report = relay_of(outbox, publisher, ttl_seconds=30, clock=lambda: now[0]).relay()
    assert outbox.renewals == 2
    assert [one.sequence for one in publisher.sent] == [1, 2, 3]
    assert (report.sent, report.lost) == (3, 0)


def test_what_another_took_over_while_it_was_sent_is_counted_as_lost() -> None:
    report = relay_of(MemoryOutbox(many(3), lost={2}), MemoryPublisher()).relay()
    assert (report.sent, report.lost) == (2, 1)


def test_who_is_asked_to_stop_gives_back_what_was_not_sent() -> None:
    stop = Event()
    outbox = MemoryOutbox(many(4, attempts=1))

    def ask(messages: Sequence[Message]) -> None:
        if messages[0].sequence == 2:
            stop.set()

    relay_of(outbox, MemoryPublisher(fault=ask), stop=stop).relay(until_empty=True)
    assert [one.sequence for one in outbox.sent] == [1, 2]
    assert [one.sequence for one in outbox.released] == [3, 4]


def test_the_publisher_is_closed_whatever_happens() -> None:
    closed = []

    @contextmanager
    def opened() -> Any:
        try:
            yield MemoryPublisher()
        finally:
            closed.append(True)

    class Broken(MemoryOutbox):
        def claim(self, *_: Any) -> list[Message]:
            raise RuntimeError("database gone")

    with pytest.raises(RuntimeError):
        Relay(Broken([]), opened, "ann", 60, Event()).relay()
    assert closed == [True]
