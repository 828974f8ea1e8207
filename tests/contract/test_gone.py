"""Records the provider deleted: GONE with when, why and what they were merged into; never quarantine, never drift."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from ingest_core.model.codes import GoneReason, Operation, QuarantineReason
from ingest_core.model.record import Counts, Gone, Record
from ingest_core.planning.request import PlanRequest
from ingest_core.store.ledger.run_ledger import SqlRunLedger
from ingest_core.store.records.item_writer import NO_TIME
from ingest_core.store.schema.tables import ing_item, ing_outbox_message, ing_quarantine, ing_task_run_batch
from tests.contract.test_refresh import REFRESHED
from tests.support.books import SOURCE, at, source_block, source_rows
from tests.support.breaking import crash_at_every_step, while_uncommitted
from tests.support.pages import deleted, page, record, rejected
from tests.support.tables import change, column, rows
from tests.support.wiring import Stores
from tests.support.working import begin, commit, finish, open_page, plan_harvest, read_page, trigger


@pytest.fixture
def stores(stores: Stores) -> Stores:
    plan_harvest(stores, at(0), at(2))
    return replace(stores, ledger=SqlRunLedger(stores.database, publishing=True))


def item(stores: Stores, provider_id: str = "a") -> dict[str, Any]:
    """The one row of that id."""
    (row,) = rows(stores.database, ing_item, ing_item.c.provider_id == provider_id)
    return row


def state(stores: Stores, provider_id: str = "a") -> tuple[Any, ...]:
    """Whether the record is there, and if not since when, why and where it went."""
    row = item(stores, provider_id)
    return row["state_code"], row["gone_at"], row["gone_reason_code"], row["merged_into"]


PRESENT = ("PRESENT", None, None, None)


def told(stores: Stores) -> list[tuple[str, str]]:
    payloads = column(stores.database, ing_outbox_message, "payload")
    return [(payload["provider_id"], payload["event_type"]) for payload in payloads]


def not_found(provider_id: str) -> Gone:
    return Gone(provider_id, None, GoneReason.NOT_FOUND)


# What a deletion does


def test_a_deleted_record_is_gone_and_keeps_its_last_payload(stores: Stores) -> None:
    run = begin(stores)
    read_page(stores, run, page(record("a", at(1), '{"v": 1}'), record("b", at(1))))
    before = item(stores)
    assert read_page(stores, run, page(gone=[deleted("a", at(2))]), 2) == Counts(1, gone=1)
    after = item(stores)
    assert state(stores) == ("GONE", at(2), "DELETED", None)
    assert state(stores, "b") == PRESENT
    assert after["source_updated_at"] == at(2)
    assert after["refresh_checked_at"] > before["refresh_checked_at"]
    assert (after["last_run_id"], after["last_batch_no"]) == (run.run_id, 2)
    for kept in ("payload", "payload_hash", "record", "created_at", "first_batch_no"):
        assert after[kept] == before[kept], kept


def test_a_merged_record_says_which_record_took_its_place(stores: Stores) -> None:
    run = begin(stores)
    read_page(stores, run, page(record("a", at(1))))
    read_page(stores, run, page(gone=[deleted("a", at(2), "b")]), 2)
    assert state(stores) == ("GONE", at(2), "MERGED", "b")


def test_a_deletion_without_a_time_counts_from_when_it_was_asked_for(stores: Stores) -> None:
    run = begin(stores)
    read_page(stores, run, page(record("a", at(1))))
    batch = open_page(stores, run, 2)
    commit(stores, run, batch, page(gone=[deleted("a")]))
    assert state(stores) == ("GONE", batch.asked_at, "DELETED", None)
    assert item(stores)["source_updated_at"] == at(1)


def test_a_deletion_older_than_the_stored_version_changes_nothing(stores: Stores) -> None:
    run = begin(stores)
    read_page(stores, run, page(record("a", at(2))))
    checked = item(stores)["refresh_checked_at"]
    assert read_page(stores, run, page(gone=[deleted("a", at(1))]), 2) == Counts(1, skipped=1, older=1)
    assert state(stores) == PRESENT
    assert item(stores)["refresh_checked_at"] > checked


def test_at_the_same_time_the_answer_that_was_asked_for_later_counts(stores: Stores) -> None:
    run = begin(stores)
    early = open_page(stores, run, 1)
    read_page(stores, run, page(record("a", at(1))), 2)
    assert commit(stores, run, early, page(gone=[deleted("a", at(1))])) == Counts(1, skipped=1, equal=1)
    assert state(stores) == PRESENT
    assert read_page(stores, run, page(gone=[deleted("a", at(1))]), 3).gone == 1
    assert state(stores) == ("GONE", at(1), "DELETED", None)
    assert read_page(stores, run, page(record("a", at(1))), 4).updated == 1
    assert state(stores) == PRESENT


def test_a_deletion_reported_again_is_counted_and_told_once(stores: Stores) -> None:
    run = begin(stores)
    read_page(stores, run, page(record("a", at(1))))
    for batch_no, again in enumerate((deleted("a", at(2)), deleted("a", at(2)), deleted("a"), not_found("a")), 2):
        checked = item(stores)["refresh_checked_at"]
        assert read_page(stores, run, page(gone=[again]), batch_no) == Counts(1, gone=1)
        assert item(stores)["refresh_checked_at"] > checked
    assert state(stores) == ("GONE", at(2), "DELETED", None)
    assert told(stores) == [("a", "INSERTED"), ("a", "GONE")]


def test_a_later_deletion_moves_the_time_and_a_target_learned_later_is_told(stores: Stores) -> None:
    run = begin(stores)
    read_page(stores, run, page(record("a", at(1))))
    read_page(stores, run, page(gone=[not_found("a")]), 2)
    read_page(stores, run, page(gone=[deleted("a", at(3))]), 3)
    assert state(stores) == ("GONE", at(3), "DELETED", None)
    assert read_page(stores, run, page(record("a", at(2))), 4) == Counts(1, skipped=1, older=1)
    read_page(stores, run, page(gone=[deleted("a", at(3), "b")]), 5)
    read_page(stores, run, page(gone=[deleted("a", at(4))]), 6)
    assert state(stores) == ("GONE", at(4), "MERGED", "b")
    assert told(stores) == [("a", "INSERTED"), ("a", "GONE"), ("a", "GONE")]


# Coming back


@pytest.mark.parametrize("gone", [deleted("a", at(2)), deleted("a"), not_found("a")], ids=["timed", "untimed", "404"])
def test_a_record_that_comes_back_is_present_again(stores: Stores, gone: Gone) -> None:
    run = begin(stores)
    read_page(stores, run, page(record("a", at(1), '{"v": 1}')))
    read_page(stores, run, page(gone=[replace(gone, merged_into="b", reason=GoneReason.MERGED)]), 2)
    assert read_page(stores, run, page(record("a", at(3), '{"v": 2}')), 3) == Counts(1, updated=1)
    assert state(stores) == PRESENT
    assert item(stores)["payload"] == '{"v": 2}'
    assert told(stores) == [("a", "INSERTED"), ("a", "GONE"), ("a", "UPDATED")]


def test_after_a_404_the_same_version_is_enough_and_every_change_of_state_is_told(stores: Stores) -> None:
    run = begin(stores)
    for batch_no in range(1, 6):
        read_page(stores, run, page(record("a", at(1))) if batch_no % 2 else page(gone=[not_found("a")]), batch_no)
    assert state(stores) == PRESENT
    assert [event for _, event in told(stores)] == ["INSERTED", "GONE", "UPDATED", "GONE", "UPDATED"]


def test_a_page_asked_for_before_the_404_does_not_bring_the_record_back(stores: Stores) -> None:
    run = begin(stores)
    read_page(stores, run, page(record("a", at(1))))
    early = open_page(stores, run, 2)
    read_page(stores, run, page(gone=[not_found("a")]), 3)
    assert commit(stores, run, early, page(record("a", at(1)))).skipped == 1
    assert state(stores)[0] == "GONE"


# Ids that were never stored


def test_an_unknown_id_reported_deleted_keeps_older_versions_out(stores: Stores) -> None:
    run = begin(stores)
    counts = read_page(stores, run, page(record("0"), record("z"), gone=[deleted("a", at(2), "z"), deleted("b")]))
    assert counts == Counts(4, inserted=2, gone=2)
    assert state(stores) == ("GONE", at(2), "MERGED", "z")
    assert (item(stores)["payload"], item(stores)["record"], item(stores)["source_updated_at"]) == ("{}", {}, at(2))
    assert item(stores, "b")["source_updated_at"] == NO_TIME
    assert read_page(stores, run, page(record("a", at(1))), 2) == Counts(1, skipped=1, older=1)
    assert read_page(stores, run, page(record("a", at(3)), record("b", at(1))), 3) == Counts(2, updated=2)
    assert state(stores) == state(stores, "b") == PRESENT
    assert [event for _, event in told(stores)] == ["INSERTED", "INSERTED", "UPDATED", "UPDATED"]


def test_an_unknown_id_that_is_not_found_is_counted_and_leaves_nothing(stores: Stores) -> None:
    assert read_page(stores, begin(stores), page(gone=[not_found("typo")])) == Counts(1, gone=1)
    assert rows(stores.database, ing_item) == rows(stores.database, ing_outbox_message) == []


def test_a_page_of_deletions_alone_waits_for_a_page_that_inserts_the_same_ids(stores: Stores, others: Stores) -> None:
    first, second = begin(stores), begin(others, "bob")
    batches = open_page(stores, first), open_page(others, second)
    while_uncommitted(
        stores.database,
        lambda: commit(stores, first, batches[0], page(record("a", at(1)), record("c", at(1)))),
        lambda: commit(others, second, batches[1], page(gone=[deleted("c", at(2)), deleted("a", at(2))])),
    )
    assert state(stores) == state(stores, "c") == ("GONE", at(2), "DELETED", None)
    assert item(stores)["payload"] != "{}"


# Several entries of one id


def test_of_one_id_in_a_page_the_newest_entry_counts(stores: Stores) -> None:
    run = begin(stores)
    first = page(record("a", at(1)), record("b", at(3)), gone=[deleted("a", at(2)), deleted("b", at(2))])
    assert read_page(stores, run, first) == Counts(4, inserted=1, skipped=2, gone=1, older=2)
    assert (state(stores)[0], state(stores, "b")[0]) == ("GONE", "PRESENT")
    twice = page(gone=[deleted("b", at(4)), deleted("b", at(5)), deleted("b")])
    assert read_page(stores, run, twice, 2) == Counts(3, gone=3)
    assert state(stores, "b")[1] == at(5)


# Quarantine, messages, ledger


def test_a_deleted_record_leaves_quarantine(stores: Stores) -> None:
    run = begin(stores)
    bad = [replace(rejected(name, QuarantineReason.DETAIL_FAILED), provider_id=name) for name in ("a", "b")]
    read_page(stores, run, page(rejected=bad))
    read_page(stores, run, page(gone=[deleted("a", at(1))]), 2)
    states = {row["provider_id"]: row for row in rows(stores.database, ing_quarantine)}
    assert (states["a"]["state_code"], states["b"]["state_code"]) == ("RELEASED", "OPEN")
    assert states["a"]["record_remarks"]["cause"] == "GONE"


def test_the_message_says_when_why_and_where_it_went(stores: Stores) -> None:
    run = begin(stores)
    read_page(stores, run, page(record("a", at(1))))
    read_page(stores, run, page(gone=[deleted("a", at(2), "b")]), 2)
    first, second = rows(stores.database, ing_outbox_message)
    payload = second["payload"]
    assert (payload["event_type"], payload["state"], payload["gone_at"]) == (
        "GONE", "GONE", "2020-01-01T02:00:00.000000Z"
    )  # fmt: skip
    assert (payload["gone_reason"], payload["merged_into"]) == ("MERGED", "b")
    assert payload["record"] == first["payload"]["record"] == {"title": "a"}
    assert second["ordering_key"] == first["ordering_key"]


def test_a_page_committed_again_or_after_a_crash_counts_and_tells_the_same(stores: Stores) -> None:
    run = begin(stores)
    read_page(stores, run, page(record("a", at(1)), record("b", at(1))))
    batch, outcome = (
        open_page(stores, run, 2),
        page(record("b", at(2)), gone=[deleted("a", at(2)), deleted("c", at(2))]),
    )

    def whole_or_not_at_all() -> None:
        committed = column(stores.database, ing_task_run_batch, "status_code")[1] == "SUCCEEDED"
        assert state(stores)[0] == ("GONE" if committed else "PRESENT")
        assert len(told(stores)) == (4 if committed else 2)

    work = partial(commit, stores, run, batch, outcome)
    counts = crash_at_every_step(stores.database, work, whole_or_not_at_all)
    assert counts == work() == Counts(3, updated=1, gone=2)
    assert column(stores.database, ing_task_run_batch, "stats")[1]["gone"] == 2


def test_a_page_from_before_deletions_were_counted_reads_as_none(stores: Stores) -> None:
    run = begin(stores)
    batch, outcome = open_page(stores, run), page(record("a", at(1)))
    commit(stores, run, batch, outcome)
    (stats,) = column(stores.database, ing_task_run_batch, "stats")
    change(stores.database, ing_task_run_batch, stats={name: one for name, one in stats.items() if name != "gone"})
    assert commit(stores, run, batch, outcome) == Counts(1, inserted=1)


class TestWhereOnlyEmptyFieldsAreFilled:
    """A refresh of a source that says `on_refresh: FILL_EMPTY`."""

    @pytest.fixture
    def refreshing(self, registered: Stores) -> Stores:
        """Two records are stored; a refresh of both is planned."""
        run = begin(registered)
        known = self._record("a", 1, title="Old", abstract=""), self._record("b", 1, title="B")
        read_page(registered, run, page(*known))
        finish(registered, run)
        finish(registered, begin(registered))
        registered.registry.apply([source_rows(**REFRESHED, source=source_block(on_refresh="FILL_EMPTY"))])
        registered.planner.plan(PlanRequest(SOURCE, Operation.UPDATE, ids=("a", "b", "c")), trigger())
        return registered

    @staticmethod
    def _record(provider_id: str, hour: int, **fields: Any) -> Record:
        return replace(record(provider_id, at(hour)), fields=fields)

    def test_a_record_is_gone_and_comes_back_with_the_fields_it_had(self, refreshing: Stores) -> None:
        run = begin(refreshing)
        counts = read_page(refreshing, run, page(self._record("b", 1, title="New"), gone=[not_found("a")]))
        assert counts == Counts(2, skipped=1, equal=1, gone=1)
        assert state(refreshing)[0] == "GONE"
        back = self._record("a", 2, title="New", abstract="Fresh")
        assert read_page(refreshing, run, page(back), 2) == Counts(1, updated=1)
        assert state(refreshing) == PRESENT
        row = item(refreshing)
        assert row["record"] == {"title": "Old", "abstract": "Fresh"}
        assert (row["payload_hash"], row["source_updated_at"]) == (back.payload_hash, at(2))

    def test_an_older_version_does_not_bring_it_back(self, refreshing: Stores) -> None:
        run = begin(refreshing)
        read_page(refreshing, run, page(gone=[deleted("a", at(3))]))
        assert read_page(refreshing, run, page(self._record("a", 2, title="New")), 2) == Counts(1, skipped=1, older=1)
        assert state(refreshing)[0] == "GONE"
