"""Messages to other systems: what became of a record, told at least once under a key that stays the same."""

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
    provider_id: str
    updated_at: datetime
    version: str | None
    payload_hash: str
    fields: Mapping[str, Any]
    taken_at: datetime | None = None
    gone: Gone | None = None


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message that is to commit with its page."""

    dedup_key: str
    ordering_key: str
    topic: str
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the outbox; of two with one ordering key the later has the larger sequence."""

    sequence: int
    dedup_key: str
    ordering_key: str
    topic: str
    payload: dict[str, Any]
    created_at: datetime
    attempts: int = 0

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
    """What others are told of a change: the common record and where it is from, not the provider's payload."""
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
