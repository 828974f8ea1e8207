"""The outbox: who may send a message, in which order, and what a crash leaves."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa

from ingest_core.model.codes import OutboxStatus
from ingest_core.model.errors import BadInput
from ingest_core.outbox.ports import Failure, MessageRefused, PublisherUnavailable
from ingest_core.store.engine.database import Database
from ingest_core.store.outbox.messages import CHUNK, SqlOutbox
from ingest_core.store.schema.tables import ing_outbox_message
from tests.contract.test_query_plans import FULL_SCANS, SORTS, analyze
from tests.support.breaking import crash_at_every_step, together, while_uncommitted
from tests.support.outbox import MemoryPublisher, later, names, put, relay_of, states
from tests.support.tables import change, column, explain, rows
from tests.support.wiring import Stores

TTL = 60


@pytest.fixture
def outbox(database: Database) -> SqlOutbox:
    return SqlOutbox(database)


@pytest.fixture
def second(other: Database) -> SqlOutbox:
    """The same outbox as another relay sees it."""
    return SqlOutbox(other)


# Who may send it


def test_a_claim_takes_due_messages_in_order_up_to_a_limit(database: Database, outbox: SqlOutbox) -> None:
    put(database, "a1", "b1", "c1")
    put(database, "d1", next_attempt_at=database.now() + timedelta(minutes=1))
    put(database, "e1", status_code="SENT")
    put(database, "f1", status_code="DEAD")
    assert names(outbox.claim("ann", TTL, 2)) == ["a1", "b1"]
    assert names(outbox.claim("ann", TTL, 10)) == ["c1"]


def test_a_claimed_message_is_nobody_elses_until_its_lease_expires(
    database: Database, outbox: SqlOutbox, other: Database, second: SqlOutbox
) -> None:
    put(database, "a1")
    outbox.claim("ann", TTL, 10)
    assert second.claim("bob", TTL, 10) == []
    other.clock_shift = later(TTL + 1)
    assert names(second.claim("bob", TTL, 10)) == ["a1"]


def test_a_message_waits_while_an_earlier_one_of_its_key_is_on_its_way(
    database: Database, outbox: SqlOutbox, second: SqlOutbox
) -> None:
    put(database, "a1", "a2", "b1")
    (first, _) = claimed = outbox.claim("ann", TTL, 10)
    assert names(claimed) == ["a1", "b1"]
    assert second.claim("bob", TTL, 10) == []
    outbox.mark_failed("ann", [Failure(first, timedelta(minutes=1), dead=False, error="no")])
    assert second.claim("bob", TTL, 10) == []


@pytest.mark.parametrize("end", ["SENT", "DEAD"])
def test_a_message_that_arrived_or_is_dead_lets_the_next_of_its_key_go(
    database: Database, outbox: SqlOutbox, end: str
) -> None:
    put(database, "a1", "a2", "a3")
    claimed = outbox.claim("ann", TTL, 10)
    if end == "SENT":
        outbox.mark_sent("ann", claimed)
    else:
        outbox.mark_failed("ann", [Failure(claimed[0], timedelta(0), dead=True, error="no")])
    assert names(outbox.claim("ann", TTL, 10)) == ["a2"]
    assert states(database) == {"a1": end, "a2": "PENDING", "a3": "PENDING"}


def test_a_claim_looks_past_messages_that_wait_for_earlier_ones(database: Database, outbox: SqlOutbox) -> None:
    put(database, "a1", next_attempt_at=database.now() + timedelta(minutes=1))
    put(database, *(f"a{number}" for number in range(2, 12)))
    put(database, "b1", "c1", "b2", "d1")
    assert names(outbox.claim("ann", TTL, 2)) == ["b1", "c1"]
    assert names(outbox.claim("ann", TTL, 2)) == ["d1"]


def test_two_claims_at_once_share_no_message(database: Database, outbox: SqlOutbox, second: SqlOutbox) -> None:
    put(database, *(f"{letter}{number}" for letter in "abcdefgh" for number in (1, 2)))
    claims = [*while_uncommitted(database, partial(outbox.claim, "ann", TTL, 4), partial(second.claim, "bob", TTL, 10))]
    taken = [name for claim in claims for name in names(claim)]
    assert sorted(taken) == [f"{letter}1" for letter in "abcdefgh"]


def test_who_lost_the_lease_marks_nothing(
    database: Database, outbox: SqlOutbox, other: Database, second: SqlOutbox
) -> None:
    put(database, "a1", "b1")
    slow = outbox.claim("ann", TTL, 10)
    other.clock_shift = later(TTL + 1)
    (taken,) = second.claim("bob", TTL, 1)
    assert names(outbox.renew("ann", TTL, slow)) == ["b1"]
    outbox.mark_failed("ann", [Failure(taken, timedelta(0), dead=True, error="no")])
    outbox.release("ann", slow)
    assert outbox.mark_sent("ann", [taken]) == 0
    assert states(database) == {"a1": "PENDING", "b1": "PENDING"}
    assert second.mark_sent("bob", [taken]) == 1


def test_renewing_keeps_the_lease(database: Database, outbox: SqlOutbox, other: Database, second: SqlOutbox) -> None:
    put(database, "a1")
    held = outbox.claim("ann", TTL, 10)
    database.clock_shift = later(TTL - 1)
    assert outbox.renew("ann", TTL, held) == held
    other.clock_shift = later(TTL + 30)
    assert second.claim("bob", TTL, 10) == []


def test_what_was_not_tried_is_free_again_at_once(database: Database, outbox: SqlOutbox, second: SqlOutbox) -> None:
    put(database, "a1")
    outbox.release("ann", outbox.claim("ann", TTL, 10))
    (message,) = second.claim("bob", TTL, 10)
    assert message.attempts == 0


def test_a_failed_message_waits_counts_and_says_why(
    database: Database, outbox: SqlOutbox, other: Database, second: SqlOutbox
) -> None:
    put(database, "a1")
    (message,) = outbox.claim("ann", TTL, 10)
    outbox.mark_failed("ann", [Failure(message, timedelta(seconds=30), dead=False, error="they said no")])
    assert outbox.claim("ann", TTL, 10) == []
    (entry,) = outbox.messages()
    assert (entry.status, entry.attempts, entry.last_error) == ("PENDING", 1, "they said no")
    other.clock_shift = later(31)
    (again,) = second.claim("bob", TTL, 10)
    assert (again.attempts, again.dedup_key) == (1, message.dedup_key)


def test_waiting_says_when_a_message_may_come_free(database: Database, outbox: SqlOutbox) -> None:
    assert outbox.waiting() is None
    put(database, "a1")
    assert outbox.waiting() == timedelta(0)
    outbox.claim("ann", TTL, 10)
    wait = outbox.waiting()
    assert wait is not None
    assert timedelta(seconds=TTL - 5) < wait <= timedelta(seconds=TTL)
    put(database, "b1", next_attempt_at=database.now() + timedelta(seconds=20))
    wait = outbox.waiting()
    assert wait is not None
    assert timedelta(seconds=15) < wait <= timedelta(seconds=20)
    change(database, ing_outbox_message, status_code="SENT")
    assert outbox.waiting() is None


# Relaying


def test_two_relays_at_once_send_each_message_once_and_each_key_in_order(
    database: Database, outbox: SqlOutbox, second: SqlOutbox
) -> None:
    put(database, *(f"{letter}{number}" for number in (1, 2, 3) for letter in "abcdefghijkl"))
    publisher = MemoryPublisher()
    relays = [relay_of(outbox, publisher, "ann"), relay_of(second, publisher, "bob")]
    together(*(partial(relay.relay, until_empty=True) for relay in relays))
    sent = names(publisher.sent)
    assert len(sent) == 36 == len(set(sent))
    for letter in "abcdefghijkl":
        assert [name for name in sent if name[0] == letter] == [f"{letter}1", f"{letter}2", f"{letter}3"]
    assert set(states(database).values()) == {"SENT"}


def test_a_crash_after_sending_sends_again_with_the_same_key(
    database: Database, outbox: SqlOutbox, other: Database, second: SqlOutbox
) -> None:
    put(database, "a1", "a2")
    publisher = MemoryPublisher()

    class Crash(BaseException):
        pass

    class Dying(SqlOutbox):
        def mark_sent(self, *_: Any) -> int:
            raise Crash

    with pytest.raises(Crash):
        relay_of(Dying(database), publisher).relay()
    assert set(states(database).values()) == {"PENDING"}
    other.clock_shift = later(TTL + 1)
    relay_of(second, publisher, "bob").relay()
    assert names(publisher.sent) == ["a1", "a1", "a2"]
    assert publisher.sent[0].dedup_key == publisher.sent[1].dedup_key


def test_relaying_survives_a_crash_at_every_step(database: Database, outbox: SqlOutbox, other: Database) -> None:
    put(database, "a1", "a2", "b1")
    publisher = MemoryPublisher()

    def time_passes() -> None:
        database.clock_shift += later(TTL + 1)

    crash_at_every_step(database, lambda: relay_of(outbox, publisher).relay(), time_passes)
    sent = names(publisher.sent)
    assert set(sent) == {"a1", "a2", "b1"}
    assert max(index for index, name in enumerate(sent) if name == "a1") < sent.index("a2")
    assert set(states(database).values()) == {"SENT"}


def test_one_refused_message_is_found_among_many_and_the_rest_arrives(database: Database, outbox: SqlOutbox) -> None:
    put(database, *(f"{letter}1" for letter in "abcdefg"), "d2")

    def refuse(messages: Any) -> None:
        if "d1" in names(messages):
            raise MessageRefused("d1 is wrong: mail jane@example.org")

    report = relay_of(outbox, MemoryPublisher(fault=refuse)).relay()
    assert (report.sent, report.failed, report.dead, report.pending) == (6, 1, 0, 2)
    (entry,) = [entry for entry in outbox.messages() if entry.attempts and entry.status == "PENDING"]
    assert entry.last_error == "d1 is wrong: mail ***"


def test_a_publisher_that_is_away_costs_few_attempts_and_kills_nothing(database: Database, outbox: SqlOutbox) -> None:
    put(database, "a1", "b1")

    def away(_messages: Any) -> None:
        raise PublisherUnavailable("no route", retry_after=timedelta(seconds=90))

    report = relay_of(outbox, MemoryPublisher(fault=away)).relay()
    assert (report.sent, report.failed, report.unavailable) == (0, 2, True)
    due = column(database, ing_outbox_message, "next_attempt_at")
    assert all(timedelta(seconds=85) < moment - database.now() <= timedelta(seconds=90) for moment in due)


# What people do with it


def test_messages_are_listed_newest_first_without_what_they_tell(database: Database, outbox: SqlOutbox) -> None:
    put(database, "a1", "b1")
    put(database, "c1", status_code="DEAD")
    outbox.mark_sent("ann", outbox.claim("ann", TTL, 1))
    assert [entry.provider_id for entry in outbox.messages()] == ["c", "b", "a"]
    assert [entry.provider_id for entry in outbox.messages(OutboxStatus.PENDING)] == ["b"]
    assert [entry.provider_id for entry in outbox.messages(limit=1)] == ["c"]
    assert outbox.tally() == {"DEAD": 1, "PENDING": 1, "SENT": 1}
    assert outbox.tally(OutboxStatus.DEAD) == {"DEAD": 1}
    (sent,) = outbox.messages(OutboxStatus.SENT)
    assert set(sent.json()) == {
        *("id", "topic", "provider_id", "event_type", "status", "attempts"),
        *("created_at", "next_attempt_at", "sent_at", "last_error"),
    }
    assert sent.sent_at is not None


def test_the_dead_come_back_with_all_their_attempts(database: Database, outbox: SqlOutbox) -> None:
    put(database, "a1", "b1", status_code="DEAD", attempts=10)
    put(database, "c1", status_code="SENT")
    assert outbox.retry_dead() == 2
    assert [(message.attempts, name) for message in outbox.claim("ann", TTL, 10) for name in names([message])] == [
        (0, "a1"),
        (0, "b1"),
    ]
    assert outbox.retry_dead() == 0


def test_single_messages_are_retried_and_one_that_was_sent_is_refused(database: Database, outbox: SqlOutbox) -> None:
    put(database, "a1", status_code="DEAD", attempts=10)
    put(database, "b1", next_attempt_at=database.now() + timedelta(hours=1), attempts=3)
    put(database, "c1", status_code="SENT")
    dead, waiting, sent = (row["id"] for row in rows(database, ing_outbox_message))
    assert outbox.retry([dead, waiting]) == 2
    assert len(outbox.claim("ann", TTL, 10)) == 2
    with pytest.raises(BadInput, match=f"message {sent}: was sent"):
        outbox.retry([dead, sent])
    with pytest.raises(BadInput, match=f"message {sent + 1}: is not there"):
        outbox.retry([sent + 1])


def test_only_messages_sent_long_ago_are_pruned(database: Database, outbox: SqlOutbox) -> None:
    now = database.now()
    long_ago, lately = now - timedelta(days=31), now - timedelta(days=29)
    put(database, "a1", "b1", status_code="SENT", sent_at=long_ago)
    put(database, "c1", status_code="SENT", sent_at=lately)
    put(database, "d1", status_code="DEAD", created_at=long_ago)
    put(database, "e1", created_at=long_ago)
    assert outbox.prune(timedelta(days=30)) == 2
    assert set(states(database)) == {"c1", "d1", "e1"}


# How they are found


def fill(stores: Stores, pending: int, sent: int) -> None:
    """An outbox that has run for a while."""
    now = stores.database.now()
    values = [
        {
            "dedup_key": f"message {number}",
            "ordering_key": f"key {number % (sent // 2)}",
            "topic": "books.list",
            "payload": {"provider_id": "a", "event_type": "INSERTED", "name": str(number)},
            "status_code": "SENT" if number < sent else "PENDING",
            "created_at": now,
            "next_attempt_at": now,
            "sent_at": now - timedelta(days=number % 60) if number < sent else None,
        }
        for number in range(sent + pending)
    ]
    with stores.database.write() as connection:
        for start in range(0, len(values), CHUNK):
            connection.execute(sa.insert(ing_outbox_message), values[start : start + CHUNK])
    analyze(stores, ing_outbox_message)
    if stores.database.dialect_name == "postgresql":  # what earlier tests left would weigh on its choice
        with stores.database.engine.connect() as connection:
            autocommit = connection.execution_options(isolation_level="AUTOCOMMIT")
            autocommit.exec_driver_sql(f"VACUUM ANALYZE {ing_outbox_message.name}")


def reads_indexes_alone(plan: str) -> bool:
    """Whether nothing is sorted and no table is read whole; a bounded window is no table."""
    stored = "\n".join(line for line in plan.splitlines() if "<derived" not in line and "SCAN look" not in line)
    return not any(word in stored for word in (*SORTS, *FULL_SCANS))


@pytest.mark.parametrize(("pending", "sent"), [(50, 5000), (4000, 1000)], ids=["nearly empty", "behind"])
def test_claiming_reads_its_indexes_and_sorts_nothing(
    stores: Stores, outbox: SqlOutbox, pending: int, sent: int
) -> None:
    fill(stores, pending, sent)
    looks = explain(stores.database, lambda: outbox.claim("ann", TTL, 100), "ORDER BY ing_outbox_message.next")
    for plan in looks:
        assert "idx_outbox_due" in plan
        assert "idx_outbox_order" in plan
        assert reads_indexes_alone(plan), plan


def test_waiting_pruning_and_listing_read_their_indexes(stores: Stores, outbox: SqlOutbox) -> None:
    fill(stores, 5, 5000)  # with many waiting, reading on until the first one would be quick too
    for work in (
        outbox.waiting,
        lambda: outbox.prune(timedelta(days=59, hours=1)),
        lambda: outbox.messages(OutboxStatus.SENT, 10),
        lambda: outbox.messages(OutboxStatus.DEAD, 10),
        outbox.retry_dead,
    ):
        for plan in explain(stores.database, work, "FROM ing_outbox_message"):
            assert "idx_outbox_" in plan, plan
            assert reads_indexes_alone(plan), plan
