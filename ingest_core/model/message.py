"""Messages to other systems: what happened to a record, sent at least once under a constant key."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import orjson

from ingest_core.model.canonical import hash_of
from ingest_core.model.codes import ItemState
from ingest_core.model.instant import format_instant
from ingest_core.model.record import Gone


class ChangeType(StrEnum):
    """What became of a record."""

    INSERTED = "INSERTED"
    UPDATED = "UPDATED"
    GONE = "GONE"


@dataclass(frozen=True, slots=True)
class RecordChange:
    """A record as it is stored now; `taken_at` only where the time of asking, and nothing else, made it newer.

    `gone` where the provider no longer has it, with the time that is stored for that.
    """

    type: ChangeType
    """What happened to the record."""
    provider_id: str
    """The record's id."""
    updated_at: datetime
    """Update time as stored."""
    version: str | None
    """Version as the provider states it."""
    payload_hash: str
    """Hash of the provider's text."""
    fields: Mapping[str, Any]
    """The common fields."""
    taken_at: datetime | None = None
    """Set only where the time of asking, and nothing else, made the record newer."""
    gone: Gone | None = None
    """Set where the provider no longer has the record."""


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message that is to commit with its page."""

    dedup_key: str
    """Unique key: the same change is one message."""
    ordering_key: str
    """Messages with the same key are sent in order."""
    topic: str
    """Where the message goes."""
    payload: dict[str, Any]
    """What the message says."""


@dataclass(frozen=True, slots=True)
class MessageEntry:
    """A message without its payload, as lists show it."""

    message_id: int
    """Row in `ing_outbox_message`."""
    topic: str
    """Where the message goes."""
    provider_id: str
    """Id of the record it is about."""
    event_type: str
    """What happened to the record."""
    status: str
    """PENDING, SENT or DEAD."""
    attempts: int
    """Failed attempts since the message was written or retried."""
    created_at: datetime
    """When the page of the record was committed."""
    next_attempt_at: datetime | None
    """None unless the message is PENDING."""
    sent_at: datetime | None
    """When it arrived."""
    last_error: str | None
    """Why the last attempt failed."""

    def json(self) -> dict[str, Any]:
        """As scripts read it."""
        return {
            "id": self.message_id,
            "topic": self.topic,
            "provider_id": self.provider_id,
            "event_type": self.event_type,
            "status": self.status,
            "attempts": self.attempts,
            "created_at": self.created_at,
            "next_attempt_at": self.next_attempt_at,
            "sent_at": self.sent_at,
            "last_error": self.last_error,
        }


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the outbox; of two with one ordering key the later has the larger sequence."""

    sequence: int
    """Row in `ing_outbox_message`; larger is later."""
    dedup_key: str
    """Unique key, the same at every attempt."""
    ordering_key: str
    """Messages with the same key are sent in order."""
    topic: str
    """Where the message goes."""
    payload: dict[str, Any]
    """What the message says."""
    created_at: datetime
    """When the page of the record was committed."""
    attempts: int = 0
    """Failed attempts so far."""

    def json(self) -> dict[str, Any]:
        """As it is sent, the same each time."""
        return {
            "dedup_key": self.dedup_key,
            "ordering_key": self.ordering_key,
            "sequence": self.sequence,
            "topic": self.topic,
            "created_at": format_instant(self.created_at),
            "payload": self.payload,
        }


def message_of(change: RecordChange, provenance: str, endpoint: str, lineage: Mapping[str, Any]) -> NewMessage:
    """The message of a change: the common record and its origin, not the provider's payload."""
    business_key = (provenance, endpoint, change.provider_id)
    version = [change.updated_at, change.version, *([change.taken_at] if change.taken_at else [])]
    return NewMessage(
        dedup_key=hash_of(business_key, version, change.payload_hash, *_state_key(change)),
        ordering_key=hash_of(business_key),
        topic=f"{provenance}.{endpoint}",
        payload={
            "event_type": change.type.value,
            "provenance": provenance,
            "endpoint": endpoint,
            "provider_id": change.provider_id,
            "source_updated_at": format_instant(change.updated_at),
            "source_version": change.version,
            "payload_hash": change.payload_hash,
            "record": change.fields,
            **_deletion(change),
            "lineage": dict(lineage),
        },
    )


def _state_key(change: RecordChange) -> list[Any]:
    """What tells a deletion from the version it deletes; nothing for other changes, whose keys stay what they were."""
    return [ItemState.GONE.value, change.gone.merged_into] if change.gone else []


def _deletion(change: RecordChange) -> dict[str, Any]:
    if change.gone is None:
        return {}
    return {
        "state": ItemState.GONE.value,
        "gone_at": format_instant(change.gone.at) if change.gone.at else None,
        "gone_reason": change.gone.reason.value,
        "merged_into": change.gone.merged_into,
    }


def wire_json(value: Any) -> bytes:
    """JSON on one line."""
    try:
        return orjson.dumps(value)
    except TypeError:  # a number beyond 64 bits
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def delivery_key(messages: Sequence[Message]) -> str:
    """The key of messages sent together; of one alone, its own."""
    return messages[0].dedup_key if len(messages) == 1 else hash_of(*(one.dedup_key for one in messages))
