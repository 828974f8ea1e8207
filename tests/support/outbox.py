"""What tests of the outbox share: messages to write, publishers that keep or refuse them, and a relay."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Any

import sqlalchemy as sa

from ingest_core.model.canonical import hash_of
from ingest_core.model.message import ChangeType, Message, RecordChange, message_of
from ingest_core.outbox.ports import Outbox, Publisher
from ingest_core.outbox.relay import Relay
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import ing_outbox_message

CREATED = datetime(2026, 1, 1, tzinfo=UTC)


def message(provider_id: str = "a", sequence: int = 1, attempts: int = 0, **fields: Any) -> Message:
    """A message about a record."""
    change = RecordChange(
        ChangeType.INSERTED, provider_id, CREATED, None, hash_of(sequence), {"title": provider_id, **fields}
    )
    made = message_of(change, "books", "list", {"run_id": 1, "batch_no": sequence})
    return Message(sequence, made.dedup_key, made.ordering_key, made.topic, made.payload, CREATED, attempts)


def put(database: Database, *names: str, **columns: Any) -> None:
    """Write messages past the page, one after the other; `a1` is the first of record `a`."""
    now = database.now()
    rows = []
    for name in names:
        about = message(name.rstrip("0123456789"), hash_number(name))
        rows.append(
            {
                "dedup_key": hash_of(name),
                "ordering_key": about.ordering_key,
                "topic": about.topic,
                "payload": {**about.payload, "name": name},
                "status_code": "PENDING",
                "created_at": now,
                "next_attempt_at": now,
                **columns,
            }
        )
    with database.write() as connection:
        for row in rows:
            connection.execute(sa.insert(ing_outbox_message).values(row))


def hash_number(name: str) -> int:
    """A number of its own for a name."""
    return int(hash_of(name)[:6], 16)


def names(messages: Sequence[Message]) -> list[str]:
    """What messages are called."""
    return [one.payload["name"] for one in messages]


def states(database: Database) -> dict[str, str]:
    """The status of each message."""
    query = sa.select(ing_outbox_message.c.payload, ing_outbox_message.c.status_code).order_by(ing_outbox_message.c.id)
    with database.read() as connection:
        return {row.payload["name"]: row.status_code for row in connection.execute(query)}


@dataclass
class MemoryPublisher:
    """Keeps what it is sent, call by call; `fault` may raise instead."""

    calls: list[list[Message]] = field(default_factory=list)
    fault: Callable[[Sequence[Message]], None] = lambda _messages: None

    def publish(self, messages: Sequence[Message]) -> None:
        """Keep them."""
        self.fault(messages)
        self.calls.append(list(messages))

    @property
    def sent(self) -> list[Message]:
        """All that were kept, in order."""
        return [one for call in self.calls for one in call]


def relay_of(outbox: Outbox, publisher: Publisher, owner: str = "ann", ttl_seconds: int = 60, **more: Any) -> Relay:
    """A relay to that publisher."""

    @contextmanager
    def opened() -> Iterator[Publisher]:
        yield publisher

    return Relay(outbox, opened, owner, ttl_seconds, more.pop("stop", None) or Event(), **more)


def later(seconds: float) -> timedelta:
    """A shift of a clock."""
    return timedelta(seconds=seconds)
