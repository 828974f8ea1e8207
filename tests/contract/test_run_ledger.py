"""Attempts and pages: what is written, what is counted, and what a crash leaves."""

from dataclasses import replace
from datetime import timedelta

import pytest

from ingest_core.execution.ports import RunOutcome
from ingest_core.model.canonical import hash_of
from ingest_core.model.checkpoint import Checkpoint
from ingest_core.model.codes import QuarantineReason, TaskStatus
from ingest_core.model.errors import LeaseLost, PagingLoop
from ingest_core.model.record import Counts
from ingest_core.model.task import FlowRun
from ingest_core.store.schema.tables import (
    ing_cursor_event,
    ing_item,
    ing_plan,
    ing_plan_slice,
    ing_quarantine,
    ing_schedule_instance,
    ing_task,
    ing_task_run,
    ing_task_run_batch,
)
from tests.support.books import MIDNIGHT, at, compiled, source_block
from tests.support.breaking import crash_at_every_step, while_uncommitted
from tests.support.pages import page, record, rejected
from tests.support.tables import change, column, contents, rows
from tests.support.wiring import Stores
from tests.support.working import (
    TTL_SECONDS,
    begin,
    checkpoint,
    claim,
    commit,
    finish,
    open_page,
    plan_harvest,
    read_page,
)


def test_each_record_is_counted_once(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    first = page(record("a", at(1)), record("b", at(1)), record("c", at(1)), rejected=[rejected("x")])
    assert read_page(stores, run, first) == Counts(4, 3, 0, 0, 1)
    second = page(
        record("a", at(0)),  # older
        record("b", at(2)),  # newer
        record("c", at(1)),  # the same
        record("d", at(1)),  # new
        record("e", at(1)),  # new, and twice on the page
        record("e", at(3)),
        record("b", at(1.5)),  # newer than stored, older than the other on the page
        rejected=[rejected("x"), rejected("y"), rejected("y", QuarantineReason.UPDATED_AT_MISSING)],
    )
    assert read_page(stores, run, second, batch_no=2) == Counts(10, 2, 1, 4, 3, older=3, equal=1)
    versions = {row["provider_id"]: row["source_updated_at"] for row in rows(stores.database, ing_item)}
    assert versions == {"a": at(1), "b": at(2), "c": at(1), "d": at(1), "e": at(3)}


def test_a_note_goes_to_quarantine_and_is_no_record(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    note = rejected("two are missing", QuarantineReason.SHORTFALL)
    assert read_page(stores, begin(stores), page(record("a"), notes=[note])) == Counts(1, 1, 0, 0, 0)
    assert column(stores.database, ing_quarantine, "reason_code") == ["SHORTFALL"]


def test_the_same_unusable_record_is_one_row_with_a_count(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    twice = page(rejected=[rejected("x"), rejected("x"), rejected("y")])
    assert read_page(stores, run, twice).quarantined == 3
    assert read_page(stores, run, page(rejected=[rejected("y")]), batch_no=2).quarantined == 1
    found = {row["fragment"]: row["seen_count"] for row in rows(stores.database, ing_quarantine)}
    assert found == {'{"name": "x"}': 2, '{"name": "y"}': 2}


def test_a_record_is_stored_with_its_lineage(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(2))
    first, second = begin(stores), begin(stores, "bob")
    read_page(stores, first, page(record("a", at(1))))
    read_page(stores, second, page(record("a", at(2))), batch_no=7)
    (item,) = rows(stores.database, ing_item)
    assert (item["first_run_id"], item["first_batch_no"]) == (first.run_id, 1)
    assert (item["last_run_id"], item["last_batch_no"]) == (second.run_id, 7)
    assert (item["provenance_code"], item["endpoint_name"], item["state_code"]) == ("books", "list", "PRESENT")
    assert item["expr_hash"] == second.task.expr_hash
    assert item["record"] == {"title": "a"}


def test_a_page_of_thousands_is_counted_like_any_other(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    many = [record(f"id-{number:04}", at(1)) for number in range(1201)]
    assert read_page(stores, run, page(*many)) == Counts(1201, 1201, 0, 0, 0)
    newer = [record(f"id-{number:04}", at(2)) for number in range(0, 1201, 2)]
    assert read_page(stores, run, page(*many, *newer), batch_no=2) == Counts(1802, 0, 601, 1201, 0, equal=1201)


@pytest.mark.parametrize(
    ("on_equal", "later", "payload", "expected"),
    [
        ("KEEP", True, '{"v": 2}', Counts(1, 0, 0, 1, 0, equal=1)),
        ("CHANGED", True, '{"v": 2}', Counts(1, 0, 1, 0, 0)),
        ("CHANGED", True, '{"v": 1}', Counts(1, 0, 0, 1, 0, equal=1)),
        ("CHANGED", False, '{"v": 2}', Counts(1, 0, 0, 1, 0, equal=1)),
    ],
    ids=["kept by default", "changed", "not changed", "changed, but asked for earlier"],
)
def test_an_equal_update_time_follows_the_rule(
    stores: Stores, *, on_equal: str, later: bool, payload: str, expected: Counts
) -> None:
    plan_harvest(stores, at(0), at(1), spec=compiled(source=source_block(on_equal=on_equal)))
    run = begin(stores)
    pages = [open_page(stores, run, 1), open_page(stores, run, 2)]
    first, second = pages if later else reversed(pages)
    commit(stores, run, first, page(record("a", at(1), '{"v": 1}')))
    assert commit(stores, run, second, page(record("a", at(1), payload))) == expected
    stored = payload if expected.updated else '{"v": 1}'
    assert column(stores.database, ing_item, "payload") == [stored]


@pytest.mark.parametrize("on_equal", ["KEEP", "CHANGED"])
def test_an_older_version_never_overwrites(stores: Stores, on_equal: str) -> None:
    plan_harvest(stores, at(0), at(1), spec=compiled(source=source_block(on_equal=on_equal)))
    run = begin(stores)
    read_page(stores, run, page(record("a", at(2), '{"v": 2}')))
    assert read_page(stores, run, page(record("a", at(1), '{"v": 1}')), batch_no=2) == Counts(1, 0, 0, 1, 0, older=1)
    assert column(stores.database, ing_item, "payload") == ['{"v": 2}']


def test_a_skip_still_says_when_and_under_which_query_it_was_checked(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(2))
    first, second = begin(stores), begin(stores, "bob")
    read_page(stores, first, page(record("a", at(1))))
    batch = open_page(stores, second)
    assert commit(stores, second, batch, page(record("a", at(1)))).skipped == 1
    (item,) = rows(stores.database, ing_item)
    assert item["refresh_checked_at"] == batch.asked_at
    assert item["expr_hash"] == second.task.expr_hash != first.task.expr_hash
    assert item["last_run_id"] == first.run_id


def test_a_late_commit_of_an_earlier_page_does_not_move_the_check_back(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(2))
    slow, fast = begin(stores), begin(stores, "bob")
    earlier = open_page(stores, slow)
    read_page(stores, fast, page(record("a", at(1))))
    (before,) = rows(stores.database, ing_item)
    commit(stores, slow, earlier, page(record("a", at(1))))
    (after,) = rows(stores.database, ing_item)
    assert after["refresh_checked_at"] == before["refresh_checked_at"]


def test_a_page_committed_twice_has_no_further_effect(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    read_page(stores, run, page(record("a", at(1))))
    batch = open_page(stores, run, 2)
    outcome = page(record("a", at(2)), record("b", at(1)), rejected=[rejected("x")])
    counts = commit(stores, run, batch, outcome)
    before = contents(stores.database)
    assert commit(stores, run, batch, outcome) == counts == Counts(3, 1, 1, 0, 1)
    after = contents(stores.database)
    assert [name for name in before if before[name] != after[name]] == ["ing_task"]  # its lease was renewed


def test_a_page_whose_commit_crashes_leaves_nothing(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    read_page(stores, run, page(record("a", at(1)), record("b", at(1))))
    batch = open_page(stores, run, 2)
    outcome = page(record("a", at(2)), record("b", at(1)), record("c", at(1)), rejected=[rejected("x")])
    before = contents(stores.database)

    def nothing_remains() -> None:
        assert contents(stores.database) == before

    counts = crash_at_every_step(stores.database, lambda: commit(stores, run, batch, outcome), nothing_remains)
    assert counts == Counts(4, 1, 1, 1, 1, equal=1)
    assert column(stores.database, ing_task_run_batch, "status_code") == ["SUCCEEDED", "SUCCEEDED"]


def test_a_committed_page_moves_the_checkpoint_with_it(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    batch = open_page(stores, run)
    reached = Checkpoint(3, "a token", at(1), at(0.5), restarts=2, shortfall=4)
    stores.ledger.commit_page(run, batch, page(record("a")), reached)
    stores.ledger.finish(run, RunOutcome(TaskStatus.QUEUED, {}))
    assert claim(stores).checkpoint == reached


def test_a_page_is_written_down_before_it_is_asked_for(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    before = stores.database.now()
    batch = stores.ledger.open_batch(run, 4, 1, "t" * 2000, hash_of("t"))
    (row,) = rows(stores.database, ing_task_run_batch)
    assert (row["id"], row["status_code"], row["page_no"], row["batch_no"]) == (batch.batch_id, "RUNNING", 4, 1)
    assert row["before_token"] == "t" * 2000
    assert before <= row["asked_at"] == batch.asked_at


def test_a_page_asked_for_twice_in_a_run_is_a_paging_loop(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    stores.ledger.open_batch(run, 1, 1, "same", "hash of same")
    stores.ledger.open_batch(run, 2, 2, "other", "hash of other")
    before = contents(stores.database)
    with pytest.raises(PagingLoop, match="batch 1"):
        stores.ledger.open_batch(run, 3, 3, "same", "hash of same")
    assert contents(stores.database) == before


def test_another_run_may_ask_for_the_same_page_again(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    stores.ledger.open_batch(run, 1, 1, "same", "hash of same")
    stores.ledger.finish(run, RunOutcome(TaskStatus.QUEUED, {}))
    again = begin(stores)
    assert stores.ledger.open_batch(again, 1, 1, "same", "hash of same").batch_no == 1


def test_a_failed_page_keeps_its_error(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    stores.ledger.fail_batch(run, open_page(stores, run), {"code": "HTTP_500", "message": "no"})
    (row,) = rows(stores.database, ing_task_run_batch)
    assert (row["status_code"], row["error"]) == ("FAILED", {"code": "HTTP_500", "message": "no"})


def test_a_committed_page_cannot_fail_any_more(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    batch = open_page(stores, run)
    commit(stores, run, batch, page(record("a")))
    stores.ledger.fail_batch(run, batch, {"code": "LATE"})
    assert column(stores.database, ing_task_run_batch, "status_code") == ["SUCCEEDED"]


def test_a_new_attempt_closes_the_abandoned_one(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    abandoned = begin(stores)
    read_page(stores, abandoned, page(record("a")))
    open_page(stores, abandoned, 2)
    task = replace(abandoned.task, attempt_no=2)
    fresh = stores.ledger.begin_run(task, FlowRun("flow run", "task run"))
    runs = rows(stores.database, ing_task_run)
    assert [(row["attempt_no"], row["status_code"]) for row in runs] == [(1, "FAILED"), (2, "RUNNING")]
    assert runs[0]["error"]["code"] == "ABANDONED"
    assert runs[0]["finished_at"] is not None
    assert (runs[1]["flow_run_id"], runs[1]["flow_task_run_id"]) == ("flow run", "task run")
    assert fresh.attempt_no == 2
    assert column(stores.database, ing_task_run_batch, "status_code") == ["SUCCEEDED", "FAILED"]


def test_a_finished_attempt_leaves_no_page_open(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    open_page(stores, run)
    stores.ledger.finish(run, RunOutcome(TaskStatus.FAILED, {}, error={"code": "PagingLoop", "message": "again"}))
    (row,) = rows(stores.database, ing_task_run_batch)
    assert (row["status_code"], row["error"]["code"]) == ("FAILED", "PagingLoop")


def test_a_finished_task_writes_its_coverage_once(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    asked = stores.database.now()
    outcome = RunOutcome(TaskStatus.SUCCEEDED, {"reqCount": 2}, as_of=asked, observed_max=at(0.5))
    stores.ledger.finish(run, outcome)
    with pytest.raises(LeaseLost):
        stores.ledger.finish(run, outcome)
    _, event = rows(stores.database, ing_cursor_event)
    assert (event["event_type"], event["window_from"], event["window_to"]) == ("COVERAGE", at(0), at(1))
    assert (event["as_of"], event["task_id"], event["run_id"]) == (asked, run.task.lineage.task_id, run.run_id)
    assert event["observed_max_value"] == "2020-01-01T00:30:00.000000Z"
    (ended,) = rows(stores.database, ing_task_run)
    assert (ended["status_code"], ended["stats"]) == ("SUCCEEDED", {"reqCount": 2})


def test_a_task_whose_end_crashes_is_still_under_way(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    read_page(stores, run, page(record("a")))
    before = contents(stores.database)
    outcome = RunOutcome(TaskStatus.SUCCEEDED, {}, as_of=MIDNIGHT)

    def nothing_remains() -> None:
        assert contents(stores.database) == before

    crash_at_every_step(stores.database, lambda: stores.ledger.finish(run, outcome), nothing_remains)
    assert column(stores.database, ing_cursor_event, "event_type") == ["ANCHOR", "COVERAGE"]


@pytest.mark.parametrize("status", [TaskStatus.FAILED, TaskStatus.PARTIAL])
def test_only_success_is_coverage(stores: Stores, status: TaskStatus) -> None:
    plan_harvest(stores, at(0), at(1))
    finish(stores, begin(stores), status)
    assert column(stores.database, ing_cursor_event, "event_type") == ["ANCHOR"]


def test_a_task_given_back_waits_and_keeps_its_slice_ready(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    error = {"code": "HTTP_503", "message": "later"}
    outcome = RunOutcome(TaskStatus.QUEUED, {}, error=error, retry_in=timedelta(minutes=3))
    before = stores.database.now()
    stores.ledger.finish(run, outcome)
    (task,) = rows(stores.database, ing_task)
    assert (task["status_code"], task["lease_owner"], task["leased_until"]) == ("QUEUED", None, None)
    assert task["last_error"] == error
    assert task["finished_at"] is None
    assert timedelta(minutes=3) <= task["scheduled_at"] - before < timedelta(minutes=4)
    assert column(stores.database, ing_plan_slice, "status_code") == ["READY"]
    assert column(stores.database, ing_plan, "status_code") == ["READY"]
    assert column(stores.database, ing_task_run, "status_code") == ["FAILED"]
    assert stores.queue.claim("bob", TTL_SECONDS) is None


def test_a_restart_of_the_slice_forgets_its_pages_but_not_their_records(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    batch = open_page(stores, run)
    commit(stores, run, batch, page(record("a"), record("b")))
    assert stores.ledger.seen_ids(run.task, batch.asked_at) == page(record("a"), record("b")).id_hashes
    stores.ledger.finish(run, RunOutcome(TaskStatus.QUEUED, {}, checkpoint=Checkpoint(restarts=1)))
    again = begin(stores)
    assert again.task.checkpoint == Checkpoint(restarts=1)
    second = open_page(stores, again)
    assert stores.ledger.seen_ids(again.task, second.asked_at) == b""
    commit(stores, again, second, page(record("c")))
    assert stores.ledger.seen_ids(again.task, second.asked_at) == page(record("c")).id_hashes
    first_pass = stores.ledger.seen_ids(again.task, batch.asked_at, second.asked_at)
    assert first_pass == page(record("a"), record("b")).id_hashes
    assert column(stores.database, ing_item, "provider_id") == ["a", "b", "c"]


def test_ids_seen_survive_a_resume(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    batch = open_page(stores, run)
    commit(stores, run, batch, page(record("a")))
    reached = checkpoint(batch)
    stores.ledger.finish(run, RunOutcome(TaskStatus.QUEUED, {}))
    again = begin(stores)
    second = open_page(stores, again)
    stores.ledger.commit_page(again, second, page(record("b")), replace(reached, page_no=2))
    assert stores.ledger.seen_ids(again.task, batch.asked_at) == page(record("a"), record("b")).id_hashes


@pytest.mark.parametrize(
    ("ends", "plan_status"),
    [
        ((TaskStatus.SUCCEEDED, TaskStatus.SUCCEEDED), "SUCCEEDED"),
        ((TaskStatus.SUCCEEDED, TaskStatus.FAILED), "PARTIAL"),
        ((TaskStatus.PARTIAL, TaskStatus.FAILED), "PARTIAL"),
        ((TaskStatus.PARTIAL, TaskStatus.SUCCEEDED), "PARTIAL"),
        ((TaskStatus.FAILED, TaskStatus.FAILED), "FAILED"),
    ],
)
def test_slices_follow_their_tasks_and_the_plan_its_last(
    stores: Stores, ends: tuple[TaskStatus, TaskStatus], plan_status: str
) -> None:
    plan_harvest(stores, at(0), at(2))
    finish(stores, begin(stores), ends[0])
    assert column(stores.database, ing_plan, "status_code") == ["READY"]
    assert column(stores.database, ing_plan_slice, "status_code") == [ends[0].value, "READY"]
    finish(stores, begin(stores), ends[1])
    assert column(stores.database, ing_plan, "status_code") == [plan_status]
    assert column(stores.database, ing_plan_slice, "status_code") == [end.value for end in ends]
    assert column(stores.database, ing_task, "status_code") == [end.value for end in ends]


def test_two_tasks_that_end_at_once_end_their_plan(stores: Stores, others: Stores) -> None:
    plan_harvest(stores, at(0), at(2))
    first, second = begin(stores), begin(others, "bob")
    while_uncommitted(stores.database, lambda: finish(stores, first), lambda: finish(others, second))
    assert column(stores.database, ing_plan, "status_code") == ["SUCCEEDED"]


def test_a_committed_page_forgives_the_leases_that_expired(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    change(stores.database, ing_task, expiry_count=4)
    read_page(stores, begin(stores), page(record("a")))
    assert column(stores.database, ing_task, "expiry_count") == [0]


def test_a_plan_counts_the_slices_that_ended_unconfirmed(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(3))
    for weak in (True, False, True):
        outcome = RunOutcome(TaskStatus.SUCCEEDED, {"weakEnd": weak}, as_of=stores.database.now())
        stores.ledger.finish(begin(stores), outcome)
    (plan,) = rows(stores.database, ing_plan)
    assert (plan["record_remarks"]["weak_ends"], plan["status_code"]) == (2, "SUCCEEDED")
    assert stores.readside.plan_outcomes([plan["id"]]) == []  # no Prefect run made this plan
    change(stores.database, ing_schedule_instance, scheduler_code="PREFECT", scheduler_log_id="run-1")
    (shown,) = stores.readside.plan_outcomes([plan["id"]])
    assert (shown.flow_run_id, shown.weak_ends) == ("run-1", 2)
