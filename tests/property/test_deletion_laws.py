"""Promises 2 and 7 with deletions: each entry counted once, and the newest entry decides, however pages arrive."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st

from ingest_core.execution.deletion import decide_deletions, now_gone
from ingest_core.execution.overwrite import PageWrites, Stored, decide_fills, decide_overwrites
from ingest_core.model.codes import GoneReason, OnEqual
from ingest_core.model.record import Gone, Record
from ingest_core.store.records.item_writer import NO_TIME
from tests.support.strategies import minute

Entry = Record | Gone
Store = dict[str, Stored]

IDS = st.sampled_from("abc")
TIMES = st.integers(0, 12).map(minute)
RULES = st.sampled_from([*OnEqual, None])
"""How equals are treated; none is a refresh that only fills empty fields."""


def record(provider_id: str, updated_at: datetime, content: str) -> Record:
    return Record(provider_id, updated_at, "{}", content, {"title": content})


def deletion(provider_id: str, when: datetime | None, reason: GoneReason) -> Gone:
    return Gone(provider_id, when, reason, "z" if reason == GoneReason.MERGED else None)


RECORDS = st.builds(record, IDS, TIMES, st.sampled_from("xy"))
REPORTS = st.builds(deletion, IDS, TIMES | st.none(), st.sampled_from([GoneReason.DELETED, GoneReason.MERGED]))
NOT_FOUND = st.builds(deletion, IDS, st.none(), st.just(GoneReason.NOT_FOUND))
ENTRIES = st.lists(RECORDS | REPORTS | NOT_FOUND, max_size=6)


def decide(store: Store, entries: Sequence[Entry], rule: OnEqual | None, asked_at: datetime) -> PageWrites:
    """The verdict on a page, as the store takes it."""
    records = [one for one in entries if isinstance(one, Record)]
    deletions, rest = decide_deletions([one for one in entries if isinstance(one, Gone)], records, store, asked_at)
    verdict = decide_fills(rest, store, asked_at) if rule is None else decide_overwrites(rest, store, rule, asked_at)
    return verdict.with_deletions(deletions)


def apply_page(store: Store, entries: Sequence[Entry], rule: OnEqual | None, asked_at: datetime) -> Store:
    """The store after a page; every entry must be counted once, and no row written twice."""
    verdict = decide(store, entries, rule, asked_at)
    written = [*verdict.insert, *verdict.update, *verdict.fill]
    assert len(written) + verdict.skipped + verdict.gone == len(entries)
    written += verdict.mark_gone
    assert len(written) == len(set(written)), "a row written twice"
    assert not verdict.seen & set(written)
    assert verdict.seen <= store.keys()
    after = dict(store)
    for name in verdict.seen:
        after[name] = replace(after[name], checked_at=max(after[name].checked_at, asked_at))
    for name, one in (verdict.insert | verdict.update).items():
        after[name] = Stored(0, one.updated_at, one.payload_hash, asked_at, one.version, one.fields)
    for name, fields in verdict.fill.items():
        after[name] = replace(after[name], fields=fields, checked_at=asked_at)
    for name, gone in verdict.mark_gone.items():
        unknown = Stored(
            0, gone.at or NO_TIME, "", asked_at, None, {}, gone.at or asked_at, gone.reason, gone.merged_into
        )
        after[name] = now_gone(gone, store[name], asked_at) if name in store else unknown
    return after


def apply_all(pages: Sequence[Sequence[Entry]], rule: OnEqual | None, start: int = 100) -> Store:
    store: Store = {}
    for number, entries in enumerate(pages):
        store = apply_page(store, entries, rule, minute(start + number))
    return store


def states(store: Store) -> dict[str, tuple[datetime, bool]]:
    return {name: (one.updated_at, one.gone_at is not None) for name, one in store.items()}


@given(st.lists(ENTRIES, max_size=5), RULES)
def test_every_entry_is_counted_once_and_no_row_is_written_twice(
    pages: list[list[Entry]], rule: OnEqual | None
) -> None:
    apply_all(pages, rule)


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[list[Entry]], list[list[Entry]]]:
    """Pages of entries whose times all differ, and the same pages in another order."""
    timed = st.lists(RECORDS | REPORTS.filter(lambda one: one.at is not None), max_size=10, unique_by=_time)
    entries = draw(timed)
    places = draw(st.lists(st.integers(0, 3), min_size=len(entries), max_size=len(entries)))
    pages = [[one for one, place in zip(entries, places, strict=True) if place == page] for page in range(4)]
    return pages, draw(st.permutations(pages))


def _time(entry: Entry) -> datetime | None:
    return entry.updated_at if isinstance(entry, Record) else entry.at


@given(histories(), st.sampled_from(OnEqual))
def test_the_newest_entry_of_each_id_decides_in_whatever_order_pages_arrive(
    both: tuple[list[list[Entry]], list[list[Entry]]], rule: OnEqual
) -> None:
    pages, other = both
    newest: dict[str, Entry] = {}
    for entry in sorted((one for page in pages for one in page), key=lambda one: _time(one) or NO_TIME):
        newest[entry.provider_id] = entry
    expected = {name: (_time(one), isinstance(one, Gone)) for name, one in newest.items()}
    assert states(apply_all(pages, rule)) == expected
    assert states(apply_all(other, rule)) == expected


@given(st.lists(ENTRIES, max_size=4), ENTRIES, RULES)
def test_the_same_page_again_changes_nothing(
    before: list[list[Entry]], page: list[Entry], rule: OnEqual | None
) -> None:
    once = apply_page(apply_all(before, rule), page, rule, minute(200))
    assert states(apply_page(once, page, rule, minute(200))) == states(once)


@given(st.lists(ENTRIES, max_size=4), IDS, RULES)
def test_an_id_that_is_not_found_is_gone_until_a_later_page_has_it(
    before: list[list[Entry]], name: str, rule: OnEqual | None
) -> None:
    store = apply_all(before, rule)
    after = apply_page(store, [Gone(name, None, GoneReason.NOT_FOUND)], rule, minute(200))
    assert (name in after) == (name in store)
    if name in after:
        known = after[name]
        assert known.gone_at is not None
        assert known.payload_hash == store[name].payload_hash
        seen = record(name, known.updated_at, "x")
        early = apply_page(after, [seen], rule, minute(199))
        assert early[name].gone_at is not None
        again = apply_page(after, [seen], rule, minute(201))
        assert again[name].gone_at is None


@given(st.lists(ENTRIES, max_size=4), st.lists(REPORTS, min_size=1, max_size=6), RULES)
def test_a_report_is_gone_or_older_than_what_is_stored_and_never_inserts_or_updates(
    before: list[list[Entry]], reports: list[Gone], rule: OnEqual | None
) -> None:
    store = apply_all(before, rule)
    verdict = decide(store, reports, rule, minute(200))
    assert (verdict.insert, verdict.update, verdict.fill, verdict.equal) == ({}, {}, {}, 0)
    older = sum(
        one.at is not None and (known := store.get(one.provider_id)) is not None and one.at < known.updated_at
        for one in reports
    )
    assert (verdict.older, verdict.gone) == (older, len(reports) - older)
