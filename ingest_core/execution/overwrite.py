"""Whether an incoming record overwrites the stored one."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from ingest_core.model.codes import OnEqual
from ingest_core.model.record import Record


@dataclass(frozen=True, slots=True)
class Stored:
    """What the store holds of a record."""

    item_id: int
    updated_at: datetime
    payload_hash: str
    checked_at: datetime


@dataclass
class Verdict:
    """The records of a page, each in exactly one list; `seen` are ids that were only looked at."""

    insert: dict[str, Record] = field(default_factory=dict)
    update: dict[str, Record] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    skipped: int = 0


def decide_overwrites(
    records: Iterable[Record], stored: dict[str, Stored], on_equal: OnEqual, asked_at: datetime
) -> Verdict:
    """Newer overwrites, older is skipped, equal follows the rule; of one id in a page the newest counts."""
    verdict = Verdict()
    for record in records:
        known = stored.get(record.provider_id)
        pending = verdict.insert.get(record.provider_id) or verdict.update.get(record.provider_id)
        if pending is not None:
            verdict.skipped += 1
            if record.updated_at > pending.updated_at:
                target = verdict.insert if record.provider_id in verdict.insert else verdict.update
                target[record.provider_id] = record
        elif known is None:
            verdict.insert[record.provider_id] = record
        elif _overwrites(record, known, on_equal, asked_at):
            verdict.update[record.provider_id] = record
        else:
            verdict.skipped += 1
            verdict.seen.add(record.provider_id)
    verdict.seen -= verdict.update.keys()
    return verdict


def _overwrites(record: Record, known: Stored, on_equal: OnEqual, asked_at: datetime) -> bool:
    if record.updated_at != known.updated_at:
        return record.updated_at > known.updated_at
    changed = record.payload_hash != known.payload_hash
    return on_equal == OnEqual.CHANGED and changed and asked_at > known.checked_at
