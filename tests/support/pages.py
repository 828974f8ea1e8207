"""Records and pages, ready to be committed."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

from ingest_core.model.canonical import hash_of, hash_text
from ingest_core.model.codes import GoneReason, QuarantineReason
from ingest_core.model.record import Gone, PageOutcome, Record, Rejected
from tests.support.books import MIDNIGHT

A = TypeVar("A")
B = TypeVar("B")


def record(provider_id: str, updated_at: datetime | None = None, payload: str | None = None) -> Record:
    """A usable record."""
    stamp = updated_at or MIDNIGHT
    text = payload if payload is not None else f'{{"id": {hash_of(provider_id, stamp)[:8]!r}}}'.replace("'", '"')
    return Record(provider_id, stamp, text, hash_text(text), {"title": provider_id})


def rejected(name: str, reason: QuarantineReason = QuarantineReason.ID_MISSING) -> Rejected:
    """A record that cannot be used."""
    return Rejected(reason, "$.id", f'{{"name": "{name}"}}', hash_text(name))


def deleted(provider_id: str, when: datetime | None = None, merged_into: str | None = None) -> Gone:
    """A record that the provider reports as deleted, or as merged into another one."""
    return Gone(provider_id, when, GoneReason.MERGED if merged_into else GoneReason.DELETED, merged_into)


def page(
    *records: Record, rejected: Sequence[Rejected] = (), notes: Sequence[Rejected] = (), gone: Sequence[Gone] = ()
) -> PageOutcome:
    """A page ready to be committed."""
    ids = [one.provider_id for one in records] + [one.provider_id for one in gone]
    hashes = b"".join(bytes.fromhex(hash_text(one))[:8] for one in ids)
    return PageOutcome(
        records=list(records),
        rejected=list(rejected),
        notes=list(notes),
        gone=list(gone),
        id_hashes=hashes,
        after_token="next",
        has_next=True,
    )
