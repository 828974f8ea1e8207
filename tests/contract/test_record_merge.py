"""Records stored under a DETAIL endpoint before it said `refreshes`: one row each afterwards, and none is lost."""

from typing import Any

import pytest

from ingest_core.store.records.record_merge import SqlRecordMerge
from ingest_core.store.schema.tables import ing_item, ing_quarantine
from tests.support.books import SOURCE, at
from tests.support.breaking import crash_at_every_step
from tests.support.one_phase import CHUNK, item, merge_of, merging, one_phase, places, put, quarantined
from tests.support.tables import contents, explain, rows
from tests.support.wiring import Stores

SCANS = ("Seq Scan", "SCAN ing_", "| ALL |", "filesort", "TEMP B-TREE")


@pytest.fixture
def owned(stores: Stores) -> Stores:
    """A worker, with the source in the Registry."""
    stores.registry.apply([one_phase()])
    return stores


class TestTwins:
    """Of two rows of one record the newer is kept."""

    @pytest.mark.parametrize(
        ("own", "second", "kept"),
        [
            ({"source_updated_at": at(5)}, {"source_updated_at": at(6), "refresh_checked_at": at(1)}, "whole"),
            ({"source_updated_at": at(6)}, {"source_updated_at": at(5), "refresh_checked_at": at(9)}, "list"),
            ({"source_version": "v9"}, {"source_version": "v10", "refresh_checked_at": at(1)}, "whole"),
            ({"source_version": "v10"}, {"source_version": "v9", "refresh_checked_at": at(9)}, "list"),
            ({"refresh_checked_at": at(2)}, {"refresh_checked_at": at(3)}, "whole"),
            ({"refresh_checked_at": at(3)}, {"refresh_checked_at": at(2)}, "list"),
            ({}, {}, "list"),
        ],
        ids=["newer", "older", "higher version", "lower version", "checked later", "checked earlier", "the same"],
    )
    def test_the_newer_one_is_kept_whole(
        self, owned: Stores, own: dict[str, Any], second: dict[str, Any], kept: str
    ) -> None:
        put(owned, ing_item, [item("list", "b1", last_run_id=7, **own), item("whole", "b1", last_run_id=8, **second)])
        assert merging(owned) == merge_of(merged=1)
        (row,) = rows(owned.database, ing_item)
        assert (row["endpoint_name"], row["payload_hash"], row["record"]) == ("list", kept, {"title": kept})
        assert (row["payload"], row["last_run_id"]) == (f'{{"from": "{kept}"}}', 7 if kept == "list" else 8)
        expected = own if kept == "list" else second
        assert row["source_updated_at"] == expected.get("source_updated_at", at(1))
        assert row["source_version"] == expected.get("source_version")
        assert row["refresh_checked_at"] == max(one.get("refresh_checked_at", at(2)) for one in (own, second))
        assert (row["updated_at"] == at(1)) is (kept == "list")

    @pytest.mark.parametrize("newer", ["list", "whole"])
    @pytest.mark.parametrize("older", ["list", "whole"])
    def test_where_it_came_from_is_the_older_rows(self, owned: Stores, older: str, newer: str) -> None:
        first = {"created_at": at(0), "first_run_id": 3, "first_batch_no": 4}
        put(
            owned,
            ing_item,
            [
                item(name, "b1", **(first if name == older else {}), source_updated_at=at(9 if name == newer else 8))
                for name in ("list", "whole")
            ],
        )
        merging(owned)
        (row,) = rows(owned.database, ing_item)
        assert row["payload_hash"] == newer
        assert (row["first_run_id"], row["first_batch_no"], row["created_at"]) == (3, 4, at(0))

    @pytest.mark.parametrize("gone", ["list", "whole"])
    @pytest.mark.parametrize("last", ["list", "whole"])
    def test_whether_it_is_gone_says_the_row_checked_last(self, owned: Stores, gone: str, last: str) -> None:
        lost = {"state_code": "GONE", "gone_at": at(4), "gone_reason_code": "DELETED", "merged_into": "b2"}
        put(
            owned,
            ing_item,
            [
                item(name, "b1", **(lost if name == gone else {}), refresh_checked_at=at(9 if name == last else 8))
                for name in ("list", "whole")
            ],
        )
        merging(owned)
        (row,) = rows(owned.database, ing_item)
        found = {name: row[name] for name in lost}
        assert found == (lost if gone == last else {**dict.fromkeys(lost), "state_code": "PRESENT"})
        assert (row["expr_hash"], row["refresh_checked_at"]) == (last, at(9))

    def test_a_newer_record_may_be_gone_since(self, owned: Stores) -> None:
        """The payload is the newest one, and the state the one last seen."""
        gone = {"state_code": "GONE", "gone_at": at(4)}
        put(
            owned,
            ing_item,
            [item("list", "b1", source_updated_at=at(3)), item("whole", "b1", **gone, refresh_checked_at=at(4))],
        )
        merging(owned)
        (row,) = rows(owned.database, ing_item)
        assert (row["payload_hash"], row["state_code"], row["gone_at"]) == ("list", "GONE", at(4))
        assert row["updated_at"] > at(4)


def test_a_row_without_a_twin_moves_as_it_is(owned: Stores) -> None:
    put(owned, ing_item, [item("whole", "b1")])
    before = rows(owned.database, ing_item)[0]
    assert merging(owned) == merge_of(moved=1)
    after = rows(owned.database, ing_item)[0]
    assert after["updated_at"] > at(24)
    assert after == {**before, "endpoint_name": "list", "updated_at": after["updated_at"]}


def test_other_rows_are_left_alone(owned: Stores) -> None:
    owned.registry.apply([one_phase(code="tapes")])
    alone = [item("list", "b1"), item("other", "b1"), {**item("whole", "b1"), "provenance_code": "tapes"}]
    put(owned, ing_item, alone)
    before = contents(owned.database)
    assert merging(owned) == []
    assert contents(owned.database) == before


def test_an_endpoint_that_owns_its_records_keeps_them(stores: Stores) -> None:
    stores.registry.apply([one_phase("whole")])
    put(stores, ing_item, [item("list", "b1"), item("whole", "b1")])
    assert merging(stores) == []
    assert places(stores) == [("list", "b1"), ("whole", "b1")]


def test_all_sources_are_merged_where_none_is_named(owned: Stores) -> None:
    owned.registry.apply([one_phase(code="tapes")])
    put(owned, ing_item, [item("whole", "b1"), {**item("whole", "b1"), "provenance_code": "tapes"}])
    found = SqlRecordMerge(owned.database, CHUNK).merge()
    assert [(one.source, one.moved) for one in found] == [("books", 1), ("tapes", 1)]


MANY = [f"b{number}" for number in range(7)]


def fill(stores: Stores) -> None:
    """Seven records by id, of which four were harvested too, and three rows of quarantine, of which one is in both."""
    second = [item("whole", one, refresh_checked_at=at(3 if one < "b2" else 1)) for one in MANY]
    put(stores, ing_item, [*second, *(item("list", one) for one in ("b0", "b2", "b5", "b9"))])
    put(stores, ing_quarantine, [quarantined("whole", one) for one in "xyz"])
    put(stores, ing_quarantine, [quarantined("list", "y")])


def kept(stores: Stores) -> dict[str, set[str]]:
    """What is stored of each record, whichever endpoint it is under."""
    found: dict[str, set[str]] = {}
    for row in rows(stores.database, ing_item):
        found.setdefault(row["provider_id"], set()).add(row["payload_hash"])
    return found


def test_rows_are_merged_a_chunk_in_each_transaction(owned: Stores) -> None:
    fill(owned)
    assert [one.json() for one in SqlRecordMerge(owned.database).pending([one_phase()])] == [
        {"source": SOURCE, "endpoint": "whole", "into": "list", "records": 7, "quarantined": 3}
    ]
    assert merging(owned, most_chunks=1) == merge_of(merged=1, moved=1, quarantined=2)
    assert merging(owned) == merge_of(merged=2, moved=3, quarantined=1)
    assert places(owned) == [("list", one) for one in (*MANY, "b9")]
    assert kept(owned) == {
        **{one: {"whole"} for one in MANY},
        **{one: {"list"} for one in ("b2", "b5", "b9")},
    }
    assert places(owned, ing_quarantine) == [("list", one) for one in "xyz"]
    assert merging(owned) == []
    assert SqlRecordMerge(owned.database).pending([one_phase()]) == []


def test_a_crash_at_any_step_loses_nothing_and_the_next_merge_goes_on(owned: Stores) -> None:
    fill(owned)
    before = kept(owned)

    def nothing_is_lost() -> None:
        after = kept(owned)
        assert after.keys() == before.keys()
        assert all(after[one] <= before[one] for one in before)
        assert all("whole" in after[one] for one in MANY if one not in ("b2", "b5"))
        assert all("list" in after[one] for one in ("b2", "b5", "b9"))
        assert {name for _, name in places(owned, ing_quarantine)} == set("xyz")

    crash_at_every_step(owned.database, lambda: merging(owned), nothing_is_lost)
    assert places(owned) == [("list", one) for one in (*MANY, "b9")]
    assert places(owned, ing_quarantine) == [("list", one) for one in "xyz"]
    seen = {row["provider_id"]: row["seen_count"] for row in rows(owned.database, ing_quarantine)}
    assert seen == {"x": 1, "y": 2, "z": 1}


class TestQuarantine:
    """Rows of quarantine follow the records they are about."""

    def test_rows_of_one_hash_and_several_reasons_are_all_moved(self, owned: Stores) -> None:
        reasons = ["RECORD_ERROR", "ID_MISSING", "UPDATED_AT_MISSING", "DETAIL_FAILED", "DETAIL_MISSING"]
        put(owned, ing_quarantine, [quarantined("whole", "x", reason_code=one) for one in reasons])
        put(owned, ing_quarantine, [quarantined("list", "x", reason_code=one) for one in reasons[:2]])
        assert merging(owned) == merge_of(quarantined=5)
        found = {row["reason_code"]: row["seen_count"] for row in rows(owned.database, ing_quarantine)}
        assert found == {**dict.fromkeys(reasons, 1), "RECORD_ERROR": 2, "ID_MISSING": 2}

    @pytest.mark.parametrize(
        ("own", "second", "state"),
        [
            (("OPEN", 1), ("RELEASED", 2), "RELEASED"),
            (("OPEN", 2), ("RELEASED", 1), "OPEN"),
            (("RETRYING", 1), ("OPEN", 2), "OPEN"),
            (("RETRYING", 2), ("OPEN", 1), "RETRYING"),
            (("DISCARDED", 1), ("OPEN", 2), "DISCARDED"),
            (("OPEN", 2), ("DISCARDED", 1), "DISCARDED"),
        ],
    )
    def test_the_last_change_counts_unless_one_was_discarded(
        self, owned: Stores, own: tuple[str, int], second: tuple[str, int], state: str
    ) -> None:
        put(
            owned,
            ing_quarantine,
            [
                quarantined(
                    name, "x", state_code=code, updated_at=at(hour), record_remarks={"cause": code}, seen_count=hour
                )
                for name, (code, hour) in (("list", own), ("whole", second))
            ],
        )
        assert merging(owned) == merge_of(quarantined=1)
        (row,) = rows(owned.database, ing_quarantine)
        assert (row["endpoint_name"], row["state_code"], row["record_remarks"]) == ("list", state, {"cause": state})
        assert (row["seen_count"], row["updated_at"], row["operation_code"]) == (3, at(2), "HARVEST")

    def test_the_row_seen_first_keeps_its_lineage(self, owned: Stores) -> None:
        put(
            owned,
            ing_quarantine,
            [quarantined("list", "x", run_id=9), quarantined("whole", "x", run_id=5, created_at=at(0))],
        )
        merging(owned)
        (row,) = rows(owned.database, ing_quarantine)
        assert (row["endpoint_name"], row["run_id"], row["created_at"]) == ("list", 5, at(0))


def test_a_chunk_is_found_by_index_however_many_rows_there_are(owned: Stores) -> None:
    put(owned, ing_item, [item("list", f"c{number:04}") for number in range(2000)])
    put(owned, ing_item, [item("whole", f"c{number:04}") for number in range(0, 2000, 4)])
    put(owned, ing_quarantine, [quarantined("list", f"q{number:04}") for number in range(1000)])
    put(owned, ing_quarantine, [quarantined("whole", f"q{number:04}") for number in range(0, 1000, 4)])
    for table in ("ing_item", "ing_quarantine"):
        for plan in explain(owned.database, lambda: merging(owned, most_chunks=1), f"FROM {table}"):
            assert not any(word in plan for word in ("Seq Scan", "SCAN ing_", "| ALL |", "filesort", "TEMP B-TREE")), (
                plan
            )
