"""Whether an incoming record overwrites the stored one (D17)."""

import pytest

from ingest_core.execution.overwrite import PageWrites, Stored, decide_fills, decide_overwrites
from ingest_core.model.codes import OnEqual
from ingest_core.model.record import Record
from tests.support.specs import at

STORED = Stored(item_id=1, updated_at=at("10:00"), payload_hash="old", checked_at=at("11:00"))


def record(provider_id: str = "a", updated_at: str = "10:00", payload_hash: str = "new") -> Record:
    return Record(provider_id, at(updated_at), "{}", payload_hash, {})


def decide(
    *records: Record, stored: Stored | None = STORED, on_equal: OnEqual = OnEqual.KEEP, asked_at: str = "12:00"
) -> PageWrites:
    return decide_overwrites(records, {"a": stored} if stored else {}, on_equal, at(asked_at))


def verdict_of(*records: Record, on_equal: OnEqual = OnEqual.KEEP, asked_at: str = "12:00") -> str:
    """In one word, of a page about a stored record."""
    verdict = decide(*records, on_equal=on_equal, asked_at=asked_at)
    assert not verdict.insert
    return "update" if verdict.update else "skip"


def test_an_unknown_record_is_inserted() -> None:
    one = record()
    verdict = decide(one, stored=None)

    assert (verdict.insert, verdict.update, verdict.seen, verdict.skipped) == ({"a": one}, {}, set(), 0)


@pytest.mark.parametrize("on_equal", OnEqual)
@pytest.mark.parametrize("payload_hash", ["old", "new"])
def test_newer_overwrites_and_older_is_skipped_whatever_the_payload(on_equal: OnEqual, payload_hash: str) -> None:
    newer, older = record(updated_at="10:00:00.000001", payload_hash=payload_hash), record(updated_at="09:59:59.999999")

    assert verdict_of(newer, on_equal=on_equal, asked_at="09:00") == "update"
    assert verdict_of(older, on_equal=on_equal) == "skip"


@pytest.mark.parametrize(
    ("on_equal", "payload_hash", "asked_at", "outcome"),
    [
        (OnEqual.KEEP, "new", "12:00", "skip"),
        (OnEqual.KEEP, "old", "12:00", "skip"),
        (OnEqual.CHANGED, "new", "12:00", "update"),
        (OnEqual.CHANGED, "old", "12:00", "skip"),
        (OnEqual.CHANGED, "new", "11:00", "skip"),
        (OnEqual.CHANGED, "new", "10:59", "skip"),
        (OnEqual.CHANGED, "new", "11:00:00.000001", "update"),
    ],
)
def test_an_equal_time_follows_the_rule(on_equal: OnEqual, payload_hash: str, asked_at: str, outcome: str) -> None:
    assert verdict_of(record(payload_hash=payload_hash), on_equal=on_equal, asked_at=asked_at) == outcome


def test_a_skipped_record_was_still_looked_at() -> None:
    verdict = decide(record(updated_at="09:00"))

    assert (verdict.seen, verdict.skipped) == ({"a"}, 1)


def test_of_one_id_in_a_page_the_newest_counts() -> None:
    old, new, middle = record(updated_at="10:01"), record(updated_at="10:03"), record(updated_at="10:02")

    for stored in (None, STORED):
        verdict = decide(old, new, middle, stored=stored)
        assert (verdict.insert or verdict.update) == {"a": new}
        assert verdict.skipped == 2
        assert verdict.seen == set()


def test_of_equals_in_a_page_the_first_counts() -> None:
    first, second = record(updated_at="10:01", payload_hash="1"), record(updated_at="10:01", payload_hash="2")

    assert decide(first, second).update == {"a": first}
    assert decide(first, second, on_equal=OnEqual.CHANGED).update == {"a": first}


def test_an_old_version_before_a_new_one_in_a_page_is_not_left_in_seen() -> None:
    new = record(updated_at="10:01")
    verdict = decide(record(updated_at="09:00"), new)

    assert (verdict.update, verdict.seen, verdict.skipped) == ({"a": new}, set(), 1)


def test_each_record_of_a_page_is_counted_once() -> None:
    records = [record("a", "09:00"), record("b"), record("a", "11:00"), record("b", "12:00"), record("c"), record("a")]
    verdict = decide(*records)

    assert len(verdict.insert) + len(verdict.update) + verdict.skipped == len(records)
    assert (set(verdict.insert), set(verdict.update)) == ({"b", "c"}, {"a"})


def versioned(version: str | None, payload_hash: str = "new", **fields: object) -> Record:
    return Record("a", at("10:00"), "{}", payload_hash, dict(fields), version)


@pytest.mark.parametrize(
    ("stored", "incoming", "outcome"),
    [
        ("1", "2", "update"),
        ("2", "1", "older"),
        ("2", "2", "equal"),
        ("9", "10", "update"),
        ("v9", "v10", "update"),
        ("1.9", "1.10", "update"),
        (None, "1", "update"),
        ("1", None, "older"),
        (None, None, "equal"),
        ("02", "2", "equal"),
        ("a", "b", "update"),
    ],
)
def test_of_two_with_the_same_time_the_higher_version_stays(
    stored: str | None, incoming: str | None, outcome: str
) -> None:
    known = Stored(1, at("10:00"), "old", at("11:00"), version=stored)
    verdict = decide(versioned(incoming), stored=known)

    assert ("update" if verdict.update else "older" if verdict.older else "equal") == outcome


def test_in_a_page_the_higher_version_counts_too() -> None:
    low, high = versioned("1"), versioned("2")
    verdicts = [decide(*order, stored=None) for order in ((low, high), (high, low))]

    assert [verdict.insert["a"] for verdict in verdicts] == [high, high]
    assert [(verdict.older, verdict.equal) for verdict in verdicts] == [(1, 0), (1, 0)]


def test_what_is_skipped_is_told_apart_by_older_and_equal() -> None:
    verdict = decide(record(updated_at="09:00"), record(), record("b"), record("b"))

    assert (verdict.older, verdict.equal, set(verdict.insert)) == (1, 2, {"b"})


FULL = Stored(1, at("10:00"), "old", at("11:00"), fields={"title": "Old", "doi": "", "authors": [], "year": 0})


def test_only_empty_fields_are_filled() -> None:
    incoming = versioned(None, title="New", doi="10.1/x", authors=["Ann"], year=2020, venue="V", note=None)
    verdict = decide_fills([incoming], {"a": FULL}, at("12:00"))

    assert verdict.fill == {"a": {"title": "Old", "doi": "10.1/x", "authors": ["Ann"], "year": 0, "venue": "V"}}
    assert (verdict.update, verdict.seen, verdict.skipped) == ({}, set(), 0)


def test_a_record_that_fills_nothing_was_looked_at() -> None:
    verdict = decide_fills([versioned(None, title="New", doi="")], {"a": FULL}, at("12:00"))

    assert (verdict.fill, verdict.seen, verdict.equal) == ({}, {"a"}, 1)


def test_an_unknown_record_is_inserted_whole_and_counted_once() -> None:
    records = [record("b"), versioned(None, doi="1"), versioned(None, doi="2", venue="V"), record("b", "11:00")]
    verdict = decide_fills(records, {"a": FULL}, at("12:00"))

    assert (verdict.insert["b"].updated_at, verdict.fill["a"]["doi"], verdict.fill["a"]["venue"]) == (
        at("11:00"),
        "1",
        "V",
    )
    assert len(verdict.insert) + len(verdict.fill) + verdict.skipped == len(records)
