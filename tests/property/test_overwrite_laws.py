"""Promises 2 and 7: each record counted once, and the newest version stays, however pages arrive."""

from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from ingest_core.execution.overwrite import Stored, decide_overwrites
from ingest_core.model.codes import OnEqual
from ingest_core.model.record import Record
from tests.support.strategies import minute, pages

RULES = st.sampled_from(OnEqual)
Store = dict[str, Stored]


def apply_page(store: Store, page: list[Record], on_equal: OnEqual, asked_at: datetime) -> Store:
    """The store after a page, as a store would keep it; every record must be counted once."""
    verdict = decide_overwrites(page, store, on_equal, asked_at)
    written = verdict.insert | verdict.update
    assert len(verdict.insert) + len(verdict.update) + verdict.skipped == len(page)
    assert not verdict.insert.keys() & store.keys()
    assert verdict.update.keys() <= store.keys()
    assert not verdict.seen & written.keys()
    assert verdict.seen | written.keys() == {record.provider_id for record in page}
    after = {key: _checked(old, asked_at) if key in verdict.seen else old for key, old in store.items()}
    for key, record in written.items():
        after[key] = Stored(0, record.updated_at, record.payload_hash, asked_at, record.version)
    return after


def _checked(old: Stored, asked_at: datetime) -> Stored:
    return replace(old, checked_at=max(old.checked_at, asked_at))


def apply_all(all_pages: list[list[Record]], on_equal: OnEqual) -> Store:
    store: Store = {}
    for number, page in enumerate(all_pages):
        store = apply_page(store, page, on_equal, minute(100 + number))
    return store


Version = tuple[datetime, int]


def version(one: Stored | Record) -> Version:
    """What must win, said independently: the time, then the number."""
    return one.updated_at, int(one.version or 0)


def versions(store: Store) -> dict[str, Version]:
    return {key: version(one) for key, one in store.items()}


def contents(store: Store) -> dict[str, tuple[datetime, str]]:
    return {key: (one.updated_at, one.payload_hash) for key, one in store.items()}


@given(st.lists(pages(), max_size=4), RULES)
def test_the_newest_version_of_each_record_stays(all_pages: list[list[Record]], on_equal: OnEqual) -> None:
    newest: dict[str, Version] = {}
    for record in (record for page in all_pages for record in page):
        newest[record.provider_id] = max(newest.get(record.provider_id, version(record)), version(record))

    assert versions(apply_all(all_pages, on_equal)) == newest


@given(st.lists(pages(), max_size=4).flatmap(lambda all_: st.tuples(st.just(all_), st.permutations(all_))), RULES)
def test_the_order_in_which_pages_arrive_does_not_matter(
    both: tuple[list[list[Record]], list[list[Record]]], on_equal: OnEqual
) -> None:
    one, other = both

    assert versions(apply_all(one, on_equal)) == versions(apply_all(other, on_equal))


@given(st.lists(pages(), max_size=3), pages(), RULES)
def test_the_same_page_again_changes_nothing(before: list[list[Record]], page: list[Record], on_equal: OnEqual) -> None:
    asked_at = minute(200)
    once = apply_page(apply_all(before, on_equal), page, on_equal, asked_at)
    again = apply_page(once, page, on_equal, asked_at)

    assert again == once


@given(st.lists(pages(), max_size=3), pages())
def test_reading_a_page_again_later_writes_nothing_where_equals_are_kept(
    before: list[list[Record]], page: list[Record]
) -> None:
    once = apply_page(apply_all(before, OnEqual.KEEP), page, OnEqual.KEEP, minute(200))
    verdict = decide_overwrites(page, once, OnEqual.KEEP, minute(200) + timedelta(days=1))

    assert not verdict.insert
    assert not verdict.update
    assert verdict.skipped == len(page)


@given(st.lists(pages(), max_size=3), pages())
def test_a_late_answer_does_not_undo_a_later_reading(before: list[list[Record]], page: list[Record]) -> None:
    store = apply_all([*before, page], OnEqual.CHANGED)
    late = apply_page(store, [record for one in before for record in one], OnEqual.CHANGED, minute(50))

    assert contents(late) == contents(store)
