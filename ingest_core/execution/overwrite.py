"""Whether an incoming record overwrites the stored one."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from ingest_core.model.codes import GoneReason, OnEqual
from ingest_core.model.record import Gone, Record

_DIGITS = re.compile(r"(\d+)")
_EMPTY: tuple[Any, ...] = (None, "", [], {})
VersionKey = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Stored:
    """What the store holds of a record; its common fields only where they are to be filled."""

    item_id: int
    updated_at: datetime
    payload_hash: str
    checked_at: datetime
    version: str | None = None
    fields: Mapping[str, Any] | None = None
    gone_at: datetime | None = None
    """When a GONE record was deleted: `updated_at` where the provider says when, otherwise when that was asked for."""
    gone_reason: GoneReason | None = None
    merged_into: str | None = None


@dataclass
class PageWrites:
    """The records of a page, each counted once; `seen` are ids that were only looked at.

    `fill` has the common fields of records that keep everything else. `mark_gone` has the deletions to be written,
    `gone` counts all that take effect, and `deleted` are their ids.
    """

    insert: dict[str, Record] = field(default_factory=dict)
    update: dict[str, Record] = field(default_factory=dict)
    fill: dict[str, dict[str, Any]] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    older: int = 0
    equal: int = 0
    mark_gone: dict[str, Gone] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    gone: int = 0

    def skip(self, *, older: bool) -> None:
        """Count an entry that changes nothing."""
        self.older += older
        self.equal += not older

    def with_deletions(self, other: "PageWrites") -> "PageWrites":
        """This verdict on a page's records with the one on its deletions."""
        return replace(
            self,
            seen=self.seen | other.seen,
            older=self.older + other.older,
            equal=self.equal + other.equal,
            mark_gone=other.mark_gone,
            deleted=other.deleted,
            gone=other.gone,
        )

    @property
    def skipped(self) -> int:
        """Records that changed nothing."""
        return self.older + self.equal

    @property
    def changed(self) -> list[Record]:
        """Records that are written whole."""
        return [*self.insert.values(), *self.update.values()]


def decide_overwrites(
    records: Iterable[Record], stored: Mapping[str, Stored], on_equal: OnEqual, asked_at: datetime
) -> PageWrites:
    """Newer overwrites, older is skipped, equal follows the rule; of one id in a page the newest counts."""
    verdict = PageWrites()
    for record in records:
        known = stored.get(record.provider_id)
        pending = verdict.insert.get(record.provider_id) or verdict.update.get(record.provider_id)
        if pending is not None:
            _replace(verdict, pending, record)
        elif known is None:
            verdict.insert[record.provider_id] = record
        elif _overwrites(record, known, on_equal, asked_at):
            verdict.update[record.provider_id] = record
        else:
            verdict.skip(older=rank(record) < rank(known))
            verdict.seen.add(record.provider_id)
    verdict.seen -= verdict.update.keys()
    return verdict


def decide_fills(records: Iterable[Record], stored: Mapping[str, Stored], asked_at: datetime) -> PageWrites:
    """Only common fields that are empty are filled; a record that is not known is inserted.

    A GONE record that comes back takes the new payload and time, and keeps the common fields it has.
    """
    verdict = PageWrites()
    for record in records:
        known = stored.get(record.provider_id)
        pending = verdict.insert.get(record.provider_id) or verdict.update.get(record.provider_id)
        if pending is not None:
            _replace(verdict, pending, record)
        elif known is None:
            verdict.insert[record.provider_id] = record
        elif known.gone_at is None:
            _fill(verdict, record, known)
        elif comes_back(record, known, asked_at):
            verdict.update[record.provider_id] = record
        else:
            verdict.skip(older=rank(record) < rank(known))
            verdict.seen.add(record.provider_id)
    for name, record in verdict.update.items():
        before = dict(stored[name].fields or {})
        verdict.update[name] = replace(record, fields=before | _missing_fields(record, before))
    verdict.seen -= verdict.fill.keys() | verdict.update.keys()
    return verdict


def rank(one: Record | Stored) -> tuple[datetime, VersionKey]:
    """What decides which of two is newer: the update time, then the version."""
    return one.updated_at, version_key(one.version)


def version_key(version: str | None) -> VersionKey:
    """A version's place among others: numbers in it count as numbers, none at all comes first."""
    if version is None:
        return ()
    return tuple(int(part) if at % 2 else part for at, part in enumerate(_DIGITS.split(version)))


def comes_back(record: Record, known: Stored, asked_at: datetime) -> bool:
    """Whether a GONE record is there again.

    Two times of the provider's decide by themselves. Otherwise the answer must have been asked for later than the
    record was last checked, and must not hold an older version than the stored one.
    """
    dated = known.gone_at == known.updated_at
    if dated and record.updated_at > known.updated_at:
        return True
    return asked_at > known.checked_at and rank(record) >= rank(known)


def _overwrites(record: Record, known: Stored, on_equal: OnEqual, asked_at: datetime) -> bool:
    if known.gone_at is not None:
        return comes_back(record, known, asked_at)
    if record.updated_at != known.updated_at:
        return record.updated_at > known.updated_at
    if record.version != known.version and version_key(record.version) != version_key(known.version):
        return version_key(record.version) > version_key(known.version)
    changed = record.payload_hash != known.payload_hash
    return on_equal == OnEqual.CHANGED and changed and asked_at > known.checked_at


def _replace(verdict: PageWrites, pending: Record, record: Record) -> None:
    """Of two records of one id in a page the newer is kept, the first of equals."""
    verdict.skip(older=rank(record) != rank(pending))
    if rank(record) > rank(pending):
        target = verdict.insert if record.provider_id in verdict.insert else verdict.update
        target[record.provider_id] = record


def _missing_fields(record: Record, before: Mapping[str, Any]) -> dict[str, Any]:
    """The record's common fields that have a value where the stored ones have none."""
    return {key: value for key, value in record.fields.items() if value not in _EMPTY and before.get(key) in _EMPTY}


def _fill(verdict: PageWrites, record: Record, known: Stored) -> None:
    name = record.provider_id
    before = verdict.fill.get(name) or dict(known.fields or {})
    more = _missing_fields(record, before)
    if more and name not in verdict.fill:
        verdict.fill[name] = before | more
        return
    if more:
        verdict.fill[name] = before | more
    verdict.seen.add(name)
    verdict.skip(older=rank(record) < rank(known))
