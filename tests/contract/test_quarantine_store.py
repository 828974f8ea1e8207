"""Quarantine as people see it, settle it and have it asked for again."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from ingest_core.model.codes import Operation, QuarantineReason, QuarantineState, TaskStatus
from ingest_core.model.errors import BadInput
from ingest_core.model.quarantine import Redriven, Refusal, Settled
from ingest_core.model.record import Rejected
from ingest_core.planning.redrive import Redriver
from ingest_core.planning.request import PlanRequest
from ingest_core.store.records.quarantine_store import SqlQuarantineStore
from ingest_core.store.schema.tables import ing_plan, ing_quarantine, ing_schedule_instance, ing_signal, ing_task
from tests.support.books import SOURCE, at, source_rows
from tests.support.breaking import crash_at_every_step
from tests.support.pages import page, record, rejected
from tests.support.tables import change, column, rows
from tests.support.wiring import Stores
from tests.support.working import begin, finish, plan_harvest, read_page, trigger

RESPONSE = {"items": "$.items", "id": "$.id", "updated_at": "$.at"}


def serving(*operations: str, by_id: bool = False) -> list[dict[str, Any]]:
    """The endpoints of a source that serves these operations, and gives records by id if wanted."""
    search = {"name": "list", "path": "/list", "operations": list(operations), "response": RESPONSE}
    if not by_id:
        return [search]
    details = {"name": "whole", "role": "DETAIL", "path": "/whole", "operations": ["UPDATE"], "response": RESPONSE}
    return [{**search, "detail": "whole", "response": {"items": "$.items", "id": "$"}}, details]


BY_ID: dict[str, Any] = {
    "endpoints": serving("HARVEST", by_id=True),
    "params": [
        {"name": "cursor", "value": "page_token", "for": {"endpoint": "list"}},
        {"name": "ids", "value": "ids", "for": {"endpoint": "whole"}},
    ],
    "batching": {"id_batch_size": 10},
}
BACKFILLED: dict[str, Any] = {"endpoints": serving("HARVEST", "BACKFILL")}


def bad(provider_id: str | None, reason: QuarantineReason = QuarantineReason.RECORD_ERROR) -> Rejected:
    return replace(rejected(f"{provider_id}", reason), provider_id=provider_id)


@pytest.fixture
def store(stores: Stores) -> SqlQuarantineStore:
    return SqlQuarantineStore(stores.database)


def harvest(stores: Stores, *entries: Rejected, hour: float = 0, **blocks: Any) -> None:
    """Read an hour of a source in which these records cannot be used."""
    stores.registry.apply([source_rows(**blocks)])
    stores.planner.plan(PlanRequest(SOURCE, user_from=at(hour), user_to=at(hour + 1)), trigger(), at(48))
    run = begin(stores)
    read_page(stores, run, page(record("good"), rejected=entries))
    finish(stores, run)
    stores.cursors.advance(run.task.namespace)


def retry(stores: Stores, store: SqlQuarantineStore, ids: Sequence[int] = ()) -> list[Redriven | Refusal]:
    """Have these rows, or all open ones, asked for again."""
    entries = store.named(ids) if ids else store.open_entries(SOURCE, None, 100)
    return list(Redriver(stores.registry, stores.planner, store).retry(entries, "key"))


def states(stores: Stores) -> list[str]:
    return column(stores.database, ing_quarantine, "state_code")


class TestWhatIsShown:
    def test_rows_are_listed_newest_first_by_source_reason_and_state(
        self, stores: Stores, store: SqlQuarantineStore
    ) -> None:
        harvest(stores, bad("a"), bad("b", QuarantineReason.ID_INVALID), bad("c"))
        change(stores.database, ing_quarantine, ing_quarantine.c.provider_id == "a", state_code="DISCARDED")

        def found(*which: Any) -> list[str | None]:
            return [one.provider_id for one in store.entries(*which)]

        assert set(found(SOURCE, 10)) == {"a", "b", "c"}
        assert found("tapes") == []
        assert [one.row_id for one in store.entries(SOURCE)] == sorted(
            column(stores.database, ing_quarantine, "id"), reverse=True
        )
        assert len(found(SOURCE, 2)) == 2
        assert found(SOURCE, 10, QuarantineReason.ID_INVALID) == ["b"]
        assert found(SOURCE, 10, None, QuarantineState.DISCARDED) == ["a"]
        assert found(SOURCE, 10, QuarantineReason.ID_INVALID, QuarantineState.DISCARDED) == []
        states = [(one.reason_code, one.state, one.records) for one in store.tally(SOURCE)]
        assert len(states) == 3
        assert ("ID_INVALID", "OPEN", 1) in states
        assert [one.records for one in store.tally(SOURCE, None, QuarantineState.DISCARDED)] == [1]
        assert store.tally("tapes") == []
        assert set(store.entries(SOURCE)[0].json()) == {
            "id", "provenance", "endpoint", "provider_id", "reason_code", "json_path", "state",
        }  # fmt: skip
        assert store.count(SOURCE) == 3

    def test_one_is_shown_with_its_lineage_and_the_usable_record_of_its_id(
        self, stores: Stores, store: SqlQuarantineStore
    ) -> None:
        harvest(stores, bad("a"))
        (row,) = rows(stores.database, ing_quarantine)
        shown = store.entry(row["id"]).json()
        lineage = ("plan_id", "slice_id", "task_id", "run_id", "batch_no", "fragment", "fragment_hash", "seen_count")
        assert {name: shown[name] for name in lineage} == {name: row[name] for name in lineage}
        assert shown["window"] == {"from": "2020-01-01T00:00:00.000000Z", "to": "2020-01-01T01:00:00.000000Z"}
        assert shown["item"] is shown["signal"] is None
        assert list(shown) == [
            "id", "provenance", "endpoint", "provider_id", "reason_code", "json_path", "state", "operation", "fragment",
            "fragment_hash", "plan_id", "slice_id", "task_id", "run_id", "batch_no", "seen_count", "remarks",
            "created_at", "updated_at", "window", "item", "signal",
        ]  # fmt: skip
        change(stores.database, ing_quarantine, provider_id="good")
        item = store.entry(row["id"]).json()["item"]
        assert list(item) == ["id", "source_updated_at", "last_run_id", "last_batch_no", "updated_at"]
        assert item["source_updated_at"] == at(0)

    def test_all_are_streamed_in_order(self, stores: Stores, store: SqlQuarantineStore) -> None:
        harvest(stores, *(bad(f"id-{number:04}") for number in range(1201)))
        parts = list(store.stream(SOURCE))
        assert max(map(len, parts)) <= 500
        ids = [row["id"] for part in parts for row in part]
        assert (len(ids), ids) == (1201, sorted(ids))

    def test_a_row_that_is_not_there_is_said_to_be_so(self, store: SqlQuarantineStore) -> None:
        with pytest.raises(BadInput, match="there is no row 7"):
            store.entry(7)


class TestSettling:
    @pytest.mark.parametrize("state", [QuarantineState.RELEASED, QuarantineState.DISCARDED])
    def test_rows_take_the_state_and_keep_the_reason(
        self, stores: Stores, store: SqlQuarantineStore, state: QuarantineState
    ) -> None:
        harvest(stores, bad("a"), bad("b"))
        _one, two = column(stores.database, ing_quarantine, "id")
        assert store.settle([two], state, "seen") == [Settled(two, "OPEN", state.value)]
        assert states(stores) == ["OPEN", state.value]
        assert store.entry(two).record.remarks == {"cause": "SETTLED", "reason": "seen"}

    def test_with_one_unknown_row_nothing_changes(self, stores: Stores, store: SqlQuarantineStore) -> None:
        harvest(stores, bad("a"))
        (one,) = column(stores.database, ing_quarantine, "id")
        with pytest.raises(BadInput, match="there is no row 99999"):
            store.settle([one, 99999], QuarantineState.RELEASED, "seen")
        assert states(stores) == ["OPEN"]


class TestRetryById:
    def test_the_next_update_refreshes_them(self, stores: Stores, store: SqlQuarantineStore) -> None:
        harvest(stores, bad("a"), bad("b"), **BY_ID)
        (outcome,) = retry(stores, store)
        assert isinstance(outcome, Redriven)
        assert (outcome.operation, outcome.endpoint, len(outcome.row_ids)) == ("UPDATE", "whole", 2)
        assert states(stores) == ["RETRYING", "RETRYING"]
        signal = store.entry(outcome.row_ids[0]).json()["signal"]
        assert list(signal) == ["endpoint", "state", "updated_at"]
        assert (signal["endpoint"], signal["state"]) == ("whole", "OPEN")
        report = stores.planner.plan(PlanRequest(SOURCE, Operation.UPDATE), trigger())
        assert report.plan.slices == 1
        run = begin(stores)
        assert run.task.ids == ("a", "b")
        read_page(stores, run, page(record("a"), rejected=[bad("b")]))
        finish(stores, run)
        found = {row["provider_id"]: row["state_code"] for row in rows(stores.database, ing_quarantine)}
        assert found == {"a": "RELEASED", "b": "OPEN"}
        assert set(column(stores.database, ing_signal, "state_code")) == {"DONE"}

    def test_retried_again_they_are_refreshed_again(self, stores: Stores, store: SqlQuarantineStore) -> None:
        harvest(stores, bad("a"), **BY_ID)
        for _ in range(2):
            retry(stores, store)
            assert stores.planner.plan(PlanRequest(SOURCE, Operation.UPDATE), trigger()).plan.slices == 1
            run = begin(stores)
            read_page(stores, run, page(rejected=[bad("a")]))
            finish(stores, run)
        assert [(row["state_code"], row["seen_count"]) for row in rows(stores.database, ing_quarantine)] == [
            ("OPEN", 3)
        ]
        assert len(rows(stores.database, ing_signal)) == 1

    def test_a_crash_leaves_rows_and_signals_together(self, stores: Stores, store: SqlQuarantineStore) -> None:
        harvest(stores, bad("a"), **BY_ID)

        def check() -> None:
            assert (states(stores) == ["RETRYING"]) is bool(rows(stores.database, ing_signal))

        crash_at_every_step(stores.database, lambda: retry(stores, store), check)


class TestRetryByWindow:
    def test_a_campaign_of_their_window_is_planned_once_for_all(
        self, stores: Stores, store: SqlQuarantineStore
    ) -> None:
        harvest(stores, bad("a"), bad(None), **BACKFILLED)
        (outcome,) = retry(stores, store)
        assert isinstance(outcome, Redriven)
        assert (outcome.operation, len(outcome.row_ids)) == ("BACKFILL", 2)
        assert outcome.campaign == f"quarantine-{outcome.row_ids[0]}-1"
        plan = rows(stores.database, ing_plan)[-1]
        assert (plan["id"], plan["operation_code"]) == (outcome.plan_id, "BACKFILL")
        assert (plan["window_from"], plan["window_to"]) == (at(0), at(1))
        assert states(stores) == ["RETRYING", "RETRYING"]

    def test_what_does_not_come_again_is_released_when_the_campaign_has_read_all(
        self, stores: Stores, store: SqlQuarantineStore
    ) -> None:
        harvest(stores, bad("a"), bad(None), bad("c"), **BACKFILLED)
        retry(stores, store)
        run = begin(stores)
        read_page(stores, run, page(record("a"), rejected=[bad(None)]))
        assert sorted(states(stores)) == ["OPEN", "RELEASED", "RETRYING"]
        finish(stores, run)
        found = {row["provider_id"]: row for row in rows(stores.database, ing_quarantine)}
        assert {name: row["state_code"] for name, row in found.items()} == {
            "a": "RELEASED",
            None: "OPEN",
            "c": "RELEASED",
        }
        assert found["c"]["record_remarks"]["cause"] == "NOT_SEEN_AGAIN"

    def test_a_campaign_that_fails_leaves_them_open(self, stores: Stores, store: SqlQuarantineStore) -> None:
        harvest(stores, bad("a"), **BACKFILLED)
        retry(stores, store)
        finish(stores, begin(stores), TaskStatus.FAILED)
        assert states(stores) == ["OPEN"]

    def test_a_harvest_that_ends_meanwhile_settles_nothing(self, stores: Stores, store: SqlQuarantineStore) -> None:
        harvest(stores, bad("a"), **BACKFILLED)
        retry(stores, store)
        change(stores.database, ing_task, status_code="SUCCEEDED")
        harvest(stores, hour=1, **BACKFILLED)
        assert states(stores) == ["RETRYING"]

    def test_a_shortfall_is_read_again_too(self, stores: Stores, store: SqlQuarantineStore) -> None:
        harvest(stores, bad(None, QuarantineReason.SHORTFALL), **BACKFILLED)
        retry(stores, store)
        run = begin(stores)
        read_page(stores, run, page(record("a")))
        finish(stores, run)
        assert states(stores) == ["RELEASED"]

    def test_each_retry_has_a_campaign_of_its_own(self, stores: Stores, store: SqlQuarantineStore) -> None:
        harvest(stores, bad("a"), **BACKFILLED)
        for seen in (1, 2):
            (outcome,) = retry(stores, store)
            assert isinstance(outcome, Redriven)
            assert outcome.campaign.endswith(f"-{seen}")
            run = begin(stores)
            read_page(stores, run, page(rejected=[bad("a")]))
            finish(stores, run)
        assert states(stores) == ["OPEN"]

    def test_a_window_above_the_watermark_is_refused_and_stays_open(
        self, stores: Stores, store: SqlQuarantineStore
    ) -> None:
        plan = plan_harvest(stores, at(0), at(2))
        assert plan.plan.slices == 2
        stores.registry.apply([source_rows(**BACKFILLED)])
        begin(stores)
        second = begin(stores, "bob")
        read_page(stores, second, page(rejected=[bad("a")]))
        finish(stores, second)
        (outcome,) = retry(stores, store)
        assert isinstance(outcome, Refusal)
        assert "watermark" in outcome.reason
        assert states(stores) == ["OPEN"]
        refused = rows(stores.database, ing_schedule_instance)[-1]
        assert refused["trigger_params"]["operation"] == "BACKFILL"
        assert refused["record_remarks"]["error"] == {"code": "WINDOW_NOT_WHOLE", "message": outcome.reason}
        assert len(rows(stores.database, ing_plan)) == 1


def test_where_there_is_no_way_it_is_said(stores: Stores, store: SqlQuarantineStore) -> None:
    harvest(stores, bad("a"), endpoints=serving("HARVEST"))
    (outcome,) = retry(stores, store)
    assert isinstance(outcome, Refusal)
    assert "discard it" in outcome.reason
    assert states(stores) == ["OPEN"]


def test_only_open_rows_of_the_source_and_reason_are_chosen(stores: Stores, store: SqlQuarantineStore) -> None:
    harvest(stores, bad("a"), bad("b", QuarantineReason.ID_INVALID), bad("c"), **BACKFILLED)
    change(stores.database, ing_quarantine, ing_quarantine.c.provider_id == "c", state_code="DISCARDED")
    chosen = store.open_entries(SOURCE, QuarantineReason.RECORD_ERROR, 10)
    assert [one.provider_id for one in chosen] == ["a"]
    assert store.open_entries("tapes", None, 10) == []
    assert len(store.open_entries(SOURCE, None, 1)) == 1
