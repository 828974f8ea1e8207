"""Whether a deletion the provider reports takes effect on the stored record.

The order of a record's versions and deletions is that of the provider's times. Where a deletion has no time, or both
have the same one, the answer that was asked for later counts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from ingest_core.execution.overwrite import PageWrites, Stored
from ingest_core.model.codes import GoneReason
from ingest_core.model.record import Gone, Record


def decide_deletions(
    gone: Iterable[Gone], records: list[Record], stored: Mapping[str, Stored], asked_at: datetime
) -> tuple[PageWrites, list[Record]]:
    """A page's deletions, each counted once, and its records that are still to be decided.

    Of one id in a page the newest entry counts. A reported deletion of an unknown id is stored too, so that an older
    version that arrives later does not bring the record back. An unknown id that was only not found may be a typing
    error, and leaves nothing.
    """
    verdict = PageWrites()
    alive = _newest(records)
    for one in gone:
        name = one.provider_id
        known, version = stored.get(name), alive.get(name)
        if known is not None and not _counts(one, known, asked_at):
            verdict.skip(older=one.at is None or one.at < known.updated_at)
            verdict.seen.add(name)
        elif version is not None and _outlived(one, version):
            verdict.skip(older=True)
        else:
            _mark(verdict, one, known)
    rest = [record for record in records if record.provider_id not in verdict.deleted]
    for _ in range(len(records) - len(rest)):
        verdict.skip(older=True)
    verdict.seen -= {record.provider_id for record in rest} | verdict.mark_gone.keys()
    return verdict, rest


def now_gone(one: Gone, known: Stored, asked_at: datetime) -> Stored:
    """The stored record once the deletion is written; its payload and common fields stay.

    A deletion with a later time moves the record to that time: older versions that arrive afterwards are skipped.
    """
    moved = one.at is not None and one.at > known.updated_at
    merged_into = one.merged_into or known.merged_into
    return replace(
        known,
        updated_at=one.at if moved and one.at else known.updated_at,
        version=None if moved else known.version,
        checked_at=max(known.checked_at, asked_at),
        gone_at=one.at or known.gone_at or asked_at,
        gone_reason=GoneReason.MERGED if merged_into else one.reason,
        merged_into=merged_into,
    )


def _newest(records: Iterable[Record]) -> dict[str, datetime]:
    """The latest update time of each id of a page."""
    newest: dict[str, datetime] = {}
    for record in records:
        newest[record.provider_id] = max(newest.get(record.provider_id, record.updated_at), record.updated_at)
    return newest


def _outlived(one: Gone, version: datetime) -> bool:
    """Whether a record of this update time, in the same page, shows that the deletion is over."""
    return one.reason == GoneReason.NOT_FOUND or (one.at is not None and one.at < version)


def _mark(verdict: PageWrites, one: Gone, known: Stored | None) -> None:
    """Count the deletion; what it changes is written, and a repetition only sets when the record was checked."""
    name = one.provider_id
    verdict.gone += 1
    verdict.deleted.add(name)
    if name in verdict.mark_gone:
        verdict.mark_gone[name] = _later(verdict.mark_gone[name], one)
    elif known is None:
        if one.reason != GoneReason.NOT_FOUND:
            verdict.mark_gone[name] = one
    elif known.gone_at is None or _says_more(one, known):
        verdict.mark_gone[name] = one
    else:
        verdict.seen.add(name)


def _counts(one: Gone, known: Stored, asked_at: datetime) -> bool:
    """Whether the deletion is no older than what is stored."""
    if one.at is not None and one.at != known.updated_at:
        return one.at > known.updated_at
    return known.gone_at is not None or asked_at > known.checked_at


def _says_more(one: Gone, known: Stored) -> bool:
    """Whether a repeated report is later by the provider's time, or names what the first one did not."""
    if one.reason == GoneReason.NOT_FOUND:
        return False
    newer = one.at is not None and one.at > known.updated_at
    return newer or known.gone_reason == GoneReason.NOT_FOUND or one.merged_into not in (None, known.merged_into)


def _later(first: Gone, second: Gone) -> Gone:
    """Of two deletions of one id in a page, the later one; one with a time says more than one without."""
    if first.at is None or second.at is None:
        return second if first.at is None and second.at is not None else first
    return second if second.at > first.at else first
