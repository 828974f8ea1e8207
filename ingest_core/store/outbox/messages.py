"""The outbox: messages relayed by status, each key in order, with leases on the database's time."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

import sqlalchemy as sa

from ingest_core.model.codes import OutboxStatus
from ingest_core.model.errors import BadInput
from ingest_core.model.message import Message, MessageEntry
from ingest_core.outbox.ports import Failure
from ingest_core.store.engine.database import Database
from ingest_core.store.engine.dialect import locked
from ingest_core.store.schema.tables import ing_outbox_message

CHUNK = 1000
"""Rows changed or deleted in one transaction."""

LONGEST_DELAY = timedelta(days=1)
"""No message is leased or put off for longer; a time beyond that was written by a clock that was ahead."""

_TABLE = ing_outbox_message
_PENDING, _SENT, _DEAD = (
    sa.literal(status.value, literal_execute=True)
    for status in (OutboxStatus.PENDING, OutboxStatus.SENT, OutboxStatus.DEAD)
)
"""As text in a statement: partial indexes do not match a parameter."""

ChangeRows = Callable[[sa.Connection, Sequence[int]], int]
_SHOWN = ("id", "topic", "status_code", "attempts", "created_at", "next_attempt_at", "sent_at", "last_error")


class SqlOutbox:
    """An Outbox, and what people do with it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def claim(self, owner: str, ttl_seconds: int, limit: int) -> list[Message]:
        """Messages that are due, the first of their ordering key, leased to `owner`."""

        def work(connection: sa.Connection) -> list[Message]:
            now = self._database.now(connection)
            messages = list(islice(_free_messages(connection, now, limit), limit))
            if not messages:
                self._make_misdated_due(connection, now)
                messages = list(islice(_free_messages(connection, now, limit), limit))
            if messages:
                until = self._database.now_sql(timedelta(seconds=ttl_seconds))
                mine = _TABLE.c.id.in_([message.sequence for message in messages])
                connection.execute(sa.update(_TABLE).where(mine).values(lease_owner=owner, leased_until=until))
            return messages

        return self._database.transact(work)

    def renew(self, owner: str, ttl_seconds: int, messages: Sequence[Message]) -> list[Message]:
        """Keep the leases; the messages that are still the owner's."""

        def work(connection: sa.Connection) -> list[Message]:
            held = _held(owner, messages)
            until = self._database.now_sql(timedelta(seconds=ttl_seconds))
            connection.execute(sa.update(_TABLE).where(*held).values(leased_until=until))
            ours = set(connection.execute(sa.select(_TABLE.c.id).where(*held)).scalars())
            return [message for message in messages if message.sequence in ours]

        return self._database.transact(work)

    def mark_sent(self, owner: str, messages: Sequence[Message]) -> int:
        """They have arrived; how many were still the owner's."""
        statement = (
            sa.update(_TABLE)
            .where(*_held(owner, messages))
            .values(
                status_code=OutboxStatus.SENT.value,
                attempts=_TABLE.c.attempts + 1,
                sent_at=self._database.now_sql(),
                lease_owner=None,
                leased_until=None,
                last_error=None,
            )
        )
        return self._database.transact(lambda connection: connection.execute(statement).rowcount)

    def mark_failed(self, owner: str, failures: Sequence[Failure]) -> None:
        """Count an attempt, and let each wait or be dead; what is no longer the owner's is left alone."""
        statement = (
            sa.update(_TABLE)
            .where(
                _TABLE.c.id == sa.bindparam("message_id"),
                _TABLE.c.lease_owner == owner,
                _TABLE.c.status_code == OutboxStatus.PENDING.value,
            )
            .values(
                status_code=sa.bindparam("status"),
                attempts=_TABLE.c.attempts + 1,
                next_attempt_at=sa.bindparam("due", type_=_TABLE.c.next_attempt_at.type),
                lease_owner=None,
                leased_until=None,
                last_error=sa.bindparam("error"),
            )
        )

        def work(connection: sa.Connection) -> None:
            now = self._database.now(connection)
            rows = [
                {
                    "message_id": failure.message.sequence,
                    "status": (OutboxStatus.DEAD if failure.dead else OutboxStatus.PENDING).value,
                    "due": now + min(failure.wait, LONGEST_DELAY),
                    "error": failure.error,
                }
                for failure in failures
            ]
            connection.execute(statement, rows)

        self._database.transact(work)

    def release(self, owner: str, messages: Sequence[Message]) -> None:
        """Give back what was not tried."""
        statement = sa.update(_TABLE).where(*_held(owner, messages)).values(lease_owner=None, leased_until=None)
        self._database.transact(lambda connection: connection.execute(statement))

    def pending(self) -> int:
        """How many wait to be sent."""
        with self._database.read() as connection:
            query = sa.select(sa.func.count()).select_from(_TABLE).where(_is_pending())
            return int(connection.execute(query).scalar_one())

    def waiting(self) -> timedelta | None:
        """How long until a message may come free; none when none is pending."""
        due, leased = _TABLE.c.next_attempt_at, _TABLE.c.leased_until
        with self._database.read() as connection:
            now = self._database.now(connection)
            if connection.execute(sa.select(_TABLE.c.id).where(_is_pending()).limit(1)).scalar() is None:
                return None
            later = sa.select(due).where(_is_pending(), due > now).order_by(due, _TABLE.c.id).limit(1)
            held = sa.select(leased).where(_is_pending(), due <= now).order_by(due, _TABLE.c.id).limit(CHUNK)
            moments = [*connection.execute(later).scalars(), *connection.execute(held).scalars()]
        return min((moment - now for moment in moments if moment is not None and moment > now), default=timedelta(0))

    def tally(self, status: OutboxStatus | None = None) -> dict[str, int]:
        """Number of messages by status."""
        code = _TABLE.c.status_code
        query = sa.select(code, sa.func.count()).group_by(code).order_by(code)
        with self._database.read() as connection:
            found = {name: int(number) for name, number in connection.execute(query)}
        return {name: number for name, number in found.items() if status is None or name == status.value}

    def messages(self, status: OutboxStatus | None = None, limit: int = CHUNK) -> list[MessageEntry]:
        """Messages without what they tell, newest first."""
        query = sa.select(*(_TABLE.c[name] for name in _SHOWN), _TABLE.c.payload)
        if status == OutboxStatus.SENT:
            query = query.order_by(_TABLE.c.sent_at.desc())
        if status is not None:
            query = query.where(_TABLE.c.status_code == sa.literal(status.value, literal_execute=True))
        query = query.order_by(_TABLE.c.id.desc())
        with self._database.read() as connection:
            return [_shown(row) for row in connection.execute(query.limit(limit)).mappings()]

    def retry(self, ids: Sequence[int]) -> int:
        """Make these due at once, with all their attempts; how many. One that was sent, or is none, is refused."""

        def work(connection: sa.Connection) -> int:
            query = sa.select(_TABLE.c.id, _TABLE.c.status_code).where(_TABLE.c.id.in_(ids)).order_by(_TABLE.c.id)
            found = {row.id: row.status_code for row in connection.execute(locked(query))}
            for wanted in ids:
                _refuse_unless_waiting(wanted, found.get(wanted))
            return self._make_due(connection, list(found))

        return self._database.transact(work)

    def retry_dead(self) -> int:
        """Make every dead message due at once; how many."""
        dead = sa.select(_TABLE.c.id).where(_TABLE.c.status_code == _DEAD)
        return sum(self._by_chunks(dead.order_by(_TABLE.c.id), self._make_due))

    def prune(self, older_than: timedelta) -> int:
        """Delete messages that were sent longer ago, a bounded number in each transaction; how many."""
        sent = sa.select(_TABLE.c.id).where(_TABLE.c.status_code == _SENT)
        old = sent.where(_TABLE.c.sent_at < self._database.now() - older_than)
        return sum(self._by_chunks(old.order_by(_TABLE.c.sent_at, _TABLE.c.id), _delete))

    def _by_chunks(self, query: sa.Select[Any], change: ChangeRows) -> Iterator[int]:
        """Change what the query finds until it finds no more, a transaction for each chunk."""

        def work(connection: sa.Connection) -> int:
            found = connection.execute(locked(query.limit(CHUNK), skip_locked=True)).scalars().all()
            return change(connection, found) if found else 0

        while changed := self._database.transact(work):
            yield changed

    def _make_misdated_due(self, connection: sa.Connection, now: datetime) -> None:
        """What waits longer than any message does was put off by a clock that was ahead."""
        due = _TABLE.c.next_attempt_at
        query = sa.select(_TABLE.c.id).where(_is_pending(), due > now + LONGEST_DELAY).order_by(due, _TABLE.c.id)
        found = connection.execute(locked(query.limit(CHUNK), skip_locked=True)).scalars().all()
        if found:
            connection.execute(sa.update(_TABLE).where(_TABLE.c.id.in_(found)).values(next_attempt_at=now))

    def _make_due(self, connection: sa.Connection, ids: Sequence[int]) -> int:
        now = self._database.now(connection)  # one time for all: in SQL each row would get its own, in any order
        statement = (
            sa.update(_TABLE)
            .where(_TABLE.c.id.in_(ids))
            .values(status_code=OutboxStatus.PENDING.value, attempts=0, next_attempt_at=now)
        )
        return connection.execute(statement).rowcount


def _delete(connection: sa.Connection, ids: Sequence[int]) -> int:
    return connection.execute(sa.delete(_TABLE).where(_TABLE.c.id.in_(ids))).rowcount


def _is_pending() -> sa.ColumnElement[bool]:
    return _TABLE.c.status_code == _PENDING


def _held(owner: str, messages: Sequence[Message]) -> list[sa.ColumnElement[bool]]:
    mine = _TABLE.c.id.in_([message.sequence for message in messages])
    return [mine, _TABLE.c.lease_owner == owner, _TABLE.c.status_code == OutboxStatus.PENDING.value]


def _free_messages(connection: sa.Connection, now: datetime, limit: int) -> Iterator[Message]:
    """Due messages that are the first of their key and not leased, locked, window after window."""
    window = limit * 2
    looked: sa.Row[Any] | None = None
    while True:
        found = connection.execute(_window(now, window, looked)).all()
        first = sorted((row.next_attempt_at, row.id) for row in found if row.id == row.first_id)
        for start in range(0, len(first), limit):
            ids = [message_id for _, message_id in first[start : start + limit]]
            query = locked(sa.select(_TABLE).where(_TABLE.c.id.in_(ids)), skip_locked=True)
            rows = [row for row in connection.execute(query) if _is_due(row, now)]
            yield from sorted(map(_message, rows), key=lambda message: ids.index(message.sequence))
        if len(found) < window:
            return
        looked = max(found, key=lambda row: (row.next_attempt_at, row.id))


def _window(now: datetime, size: int, looked: sa.Row[Any] | None) -> sa.Select[Any]:
    """The next due messages in the order of idx_outbox_due, each with the first of its key by idx_outbox_order.

    The limit is inside: asked for the first of each key at once, a database may read and sort all that is pending.
    """
    inner = sa.select(_TABLE.c.id, _TABLE.c.ordering_key, _TABLE.c.next_attempt_at).where(*_due(now))
    if looked is not None:
        due = _TABLE.c.next_attempt_at
        inner = inner.where(
            due >= looked.next_attempt_at, sa.or_(due > looked.next_attempt_at, _TABLE.c.id > looked.id)
        )
    window = inner.order_by(_TABLE.c.next_attempt_at, _TABLE.c.id).limit(size).subquery("look")
    earlier = _TABLE.alias("earlier")
    first = (
        sa.select(sa.func.min(earlier.c.id))
        .where(earlier.c.ordering_key == window.c.ordering_key, earlier.c.status_code == _PENDING)
        .scalar_subquery()
    )
    return sa.select(window.c.id, window.c.next_attempt_at, first.label("first_id"))


def _is_due(row: sa.Row[Any], now: datetime) -> bool:
    """What another relay has done meanwhile counts; asked for in SQL, SQLite would read all that is due for it."""
    free = row.leased_until is None or row.leased_until <= now or row.leased_until > now + LONGEST_DELAY
    return row.status_code == OutboxStatus.PENDING.value and row.next_attempt_at <= now and free


def _due(now: datetime) -> list[sa.ColumnElement[bool]]:
    held = _TABLE.c.leased_until
    free = sa.or_(held.is_(None), held <= now, held > now + LONGEST_DELAY)
    return [_is_pending(), _TABLE.c.next_attempt_at <= now, free]


def _message(row: sa.Row[Any]) -> Message:
    return Message(row.id, row.dedup_key, row.ordering_key, row.topic, row.payload, row.created_at, row.attempts)


def _shown(row: sa.RowMapping) -> MessageEntry:
    return MessageEntry(
        message_id=row["id"],
        topic=row["topic"],
        provider_id=row["payload"]["provider_id"],
        event_type=row["payload"]["event_type"],
        status=row["status_code"],
        attempts=row["attempts"],
        created_at=row["created_at"],
        next_attempt_at=row["next_attempt_at"] if row["status_code"] == OutboxStatus.PENDING.value else None,
        sent_at=row["sent_at"],
        last_error=row["last_error"],
    )


def _refuse_unless_waiting(message_id: int, status: str | None) -> None:
    if status is None or status == OutboxStatus.SENT.value:
        raise BadInput(
            "MESSAGE_NOT_WAITING",
            "was sent" if status else "is not there",
            where=f"message {message_id}",
            remedy="see: patra outbox list --status DEAD",
        )
