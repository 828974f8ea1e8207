"""Whether an incoming record overwrites the stored one."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ingest_core.model.codes import OnEqual
from ingest_core.model.record import Record

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


@dataclass
class Verdict:
    """The records of a page, each counted once; `seen` are ids that were only looked at.

    `fill` has the common fields of records that keep everything else.
    """

    insert: dict[str, Record] = field(default_factory=dict)
    update: dict[str, Record] = field(default_factory=dict)
    fill: dict[str, dict[str, Any]] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    older: int = 0
    equal: int = 0

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
) -> Verdict:
    """Newer overwrites, older is skipped, equal follows the rule; of one id in a page the newest counts."""
    verdict = Verdict()
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
            _skip(verdict, older=rank(record) < rank(known))
            verdict.seen.add(record.provider_id)
    verdict.seen -= verdict.update.keys()
    return verdict


def decide_fills(records: Iterable[Record], stored: Mapping[str, Stored]) -> Verdict:
    """Only common fields that are empty are filled; a record that is not known is inserted."""
    verdict = Verdict()
    for record in records:
        known = stored.get(record.provider_id)
        pending = verdict.insert.get(record.provider_id)
        if pending is not None:
            _replace(verdict, pending, record)
        elif known is None:
            verdict.insert[record.provider_id] = record
        else:
            _fill(verdict, record, known)
    verdict.seen -= verdict.fill.keys()
    return verdict


def rank(one: Record | Stored) -> tuple[datetime, VersionKey]:
    """What decides which of two is newer: the update time, then the version."""
    return one.updated_at, version_key(one.version)


def version_key(version: str | None) -> VersionKey:
    """A version's place among others: numbers in it count as numbers, none at all comes first."""
    if version is None:
        return ()
    return tuple(int(part) if at % 2 else part for at, part in enumerate(_DIGITS.split(version)))


def _overwrites(record: Record, known: Stored, on_equal: OnEqual, asked_at: datetime) -> bool:
    if record.updated_at != known.updated_at:
        return record.updated_at > known.updated_at
    if record.version != known.version and version_key(record.version) != version_key(known.version):
        return version_key(record.version) > version_key(known.version)
    changed = record.payload_hash != known.payload_hash
    return on_equal == OnEqual.CHANGED and changed and asked_at > known.checked_at


def _replace(verdict: Verdict, pending: Record, record: Record) -> None:
    """Of two records of one id in a page the newer is kept, the first of equals."""
    _skip(verdict, older=rank(record) != rank(pending))
    if rank(record) > rank(pending):
        target = verdict.insert if record.provider_id in verdict.insert else verdict.update
        target[record.provider_id] = record


def _fill(verdict: Verdict, record: Record, known: Stored) -> None:
    name = record.provider_id
    before = verdict.fill.get(name) or dict(known.fields or {})
    more = {key: value for key, value in record.fields.items() if value not in _EMPTY and before.get(key) in _EMPTY}
    if more and name not in verdict.fill:
        verdict.fill[name] = before | more
        return
    if more:
        verdict.fill[name] = before | more
    verdict.seen.add(name)
    _skip(verdict, older=rank(record) < rank(known))


def _skip(verdict: Verdict, *, older: bool) -> None:
    if older:
        verdict.older += 1
    else:
        verdict.equal += 1
