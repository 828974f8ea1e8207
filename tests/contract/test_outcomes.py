"""What becomes of each record of a page, exactly: by time, by version, and where only empty fields may be filled."""

from typing import Any

import pytest

from ingest_core.model.codes import Operation
from ingest_core.model.record import Counts, Record
from ingest_core.planning.request import PlanRequest
from ingest_core.store.schema.tables import ing_item, ing_task_run_batch
from tests.contract.test_refresh import REFRESHED
from tests.support.books import SOURCE, at, source_block, source_rows
from tests.support.pages import page, record
from tests.support.tables import column, rows
from tests.support.wiring import Stores
from tests.support.working import begin, finish, plan_harvest, read_page, trigger


@pytest.fixture
def stores(stores: Stores) -> Stores:
    plan_harvest(stores, at(0), at(1))
    return stores


def versioned(version: str | None, payload: str = "{}", hour: int = 1) -> Record:
    """The one record, in some version."""
    one = record("a", at(hour), payload)
    return Record(one.provider_id, one.updated_at, one.payload, one.payload_hash, one.fields, version)


def told(counts: Counts) -> tuple[int, int, int, int]:
    return counts.inserted, counts.updated, counts.older, counts.equal


def test_each_record_of_a_page_has_one_outcome(stores: Stores) -> None:
    run = begin(stores)
    read_page(stores, run, page(record("a", at(2)), record("b", at(2)), record("c", at(2))))
    counts = read_page(stores, run, page(record("a", at(1)), record("b", at(2)), record("c", at(3)), record("d")), 2)
    assert told(counts) == (1, 1, 1, 1)
    assert (counts.received, counts.skipped) == (4, 2)
    stats = column(stores.database, ing_task_run_batch, "stats")[1]
    assert (stats["skippedOlder"], stats["skippedEqual"], stats["skipped"]) == (1, 1, 2)


def test_a_page_committed_again_tells_the_same_outcomes(stores: Stores) -> None:
    run = begin(stores)
    read_page(stores, run, page(record("a", at(2))))
    batch = stores.ledger.open_batch(run, 2, 2, "t", "h")
    outcome = page(record("a", at(1)), record("b", at(1)))
    first = stores.ledger.commit_page(run, batch, outcome, run.task.checkpoint)
    assert stores.ledger.commit_page(run, batch, outcome, run.task.checkpoint) == first


def test_of_two_with_one_time_the_higher_version_stays_whichever_comes_first(stores: Stores) -> None:
    run = begin(stores)
    outcomes = [
        told(read_page(stores, run, page(versioned(version, payload)), number))
        for number, (version, payload) in enumerate([("9", '{"n": 9}'), ("10", '{"n": 10}'), ("9", '{"n": 9}')], 1)
    ]
    assert outcomes == [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0)]
    (item,) = rows(stores.database, ing_item)
    assert (item["source_version"], item["payload"]) == ("10", '{"n": 10}')


def test_a_newer_time_beats_a_higher_version(stores: Stores) -> None:
    run = begin(stores)
    read_page(stores, run, page(versioned("9", hour=1)))
    assert told(read_page(stores, run, page(versioned("1", hour=2)), 2)) == (0, 1, 0, 0)
    assert column(stores.database, ing_item, "source_version") == ["1"]


class TestOnlyEmptyFieldsAreFilled:
    """A refresh of a source that says `on_refresh: FILL_EMPTY`."""

    @pytest.fixture
    def refreshing(self, stores: Stores) -> Stores:
        """Two records are stored, one without an abstract; a refresh of both is planned."""
        run = begin(stores)
        full: dict[str, Any] = {"title": "Old", "abstract": "Known"}
        read_page(stores, run, page(self._record("a", title="Old", abstract=""), self._record("b", **full)))
        finish(stores, run)
        rows_ = source_rows(**REFRESHED, source=source_block(on_refresh="FILL_EMPTY"))
        stores.registry.apply([rows_])
        stores.planner.plan(PlanRequest(SOURCE, Operation.UPDATE, ids=("a", "b", "c")), trigger())
        return stores

    @staticmethod
    def _record(provider_id: str, hour: int = 1, payload: str = "{}", **fields: Any) -> Record:
        one = record(provider_id, at(hour), payload)
        return Record(one.provider_id, one.updated_at, one.payload, one.payload_hash, fields)

    def test_fields_that_have_a_value_and_the_payload_stay(self, refreshing: Stores) -> None:
        before = {item["provider_id"]: item for item in rows(refreshing.database, ing_item)}
        run = begin(refreshing)
        fresh = {"title": "New", "abstract": "Fresh"}
        news = page(*(self._record(name, 5, '{"new": 1}', **fresh) for name in ("a", "b", "c")))
        assert told(read_page(refreshing, run, news)) == (1, 1, 0, 1)
        after = {item["provider_id"]: item for item in rows(refreshing.database, ing_item)}
        assert [after[name]["record"] for name in "abc"] == [
            {"title": "Old", "abstract": "Fresh"},
            {"title": "Old", "abstract": "Known"},
            fresh,
        ]
        for name in "ab":
            for kept in ("payload", "payload_hash", "source_updated_at", "created_at", "first_run_id"):
                assert after[name][kept] == before[name][kept], (name, kept)
            assert after[name]["refresh_checked_at"] > before[name]["refresh_checked_at"]
        assert (after["a"]["last_run_id"], after["b"]["last_run_id"]) == (run.run_id, before["b"]["last_run_id"])
