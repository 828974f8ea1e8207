"""Cancelling, retrying, pausing and fusing: what they change, and what a worker in the midst of it may still do."""

from dataclasses import replace

import pytest

from ingest_core.execution.ports import RunOutcome
from ingest_core.model.codes import Operation, TaskStatus
from ingest_core.model.errors import BadInput, LeaseLost
from ingest_core.model.partition import Partition
from ingest_core.model.scope import ScopeKind, WorkScope
from ingest_core.model.slice_codes import ResliceReason
from ingest_core.model.states import IllegalTransition
from ingest_core.model.task import FlowRun
from ingest_core.planning.reslice import Reslicer
from ingest_core.planning.strategies.strategy import StrategyRegistry
from ingest_core.planning.strategies.time_slices import TimeStrategy
from ingest_core.store.ledger.transitions import move_one
from ingest_core.store.queue.work_control import SqlWorkControl
from ingest_core.store.schema.tables import (
    ing_item,
    ing_partition_control,
    ing_plan,
    ing_plan_slice,
    ing_reslice_request,
    ing_signal,
    ing_task,
    ing_task_run,
    ing_task_run_batch,
)
from tests.contract.test_refresh import plan_refresh
from tests.support.books import PARTITION, at, compiled
from tests.support.breaking import while_uncommitted
from tests.support.pages import page, record
from tests.support.tables import change, column, contents, rows
from tests.support.wiring import Stores
from tests.support.working import TTL_SECONDS, begin, claim, commit, finish, open_page, plan_harvest, read_page


@pytest.fixture
def control(stores: Stores) -> SqlWorkControl:
    return SqlWorkControl(stores.database)


def states(stores: Stores) -> tuple[list[str], list[str], list[str]]:
    """Of tasks, slices and plans."""
    task, part, plan = (column(stores.database, table, "status_code") for table in (ing_task, ing_plan_slice, ing_plan))
    return task, part, plan


def scope(kind: ScopeKind, number: object) -> WorkScope:
    return WorkScope(kind, str(number))


def test_a_cancelled_plan_takes_its_slices_and_tasks_along(stores: Stores, control: SqlWorkControl) -> None:
    plan_id = plan_harvest(stores, at(0), at(3)).plan.plan_id
    assert control.cancel(scope(ScopeKind.PLAN, plan_id)) == 3
    assert states(stores) == (["CANCELLED"] * 3, ["CANCELLED"] * 3, ["CANCELLED"])
    assert stores.queue.claim("ann", TTL_SECONDS) is None
    assert control.cancel(scope(ScopeKind.PLAN, plan_id)) == 0


def test_what_was_done_before_a_plan_was_cancelled_stays_done(stores: Stores, control: SqlWorkControl) -> None:
    plan_id = plan_harvest(stores, at(0), at(3)).plan.plan_id
    run = begin(stores)
    read_page(stores, run, page(record("a")))
    finish(stores, run)
    assert control.cancel(scope(ScopeKind.PLAN, plan_id)) == 2
    assert states(stores) == (
        ["SUCCEEDED", "CANCELLED", "CANCELLED"],
        ["SUCCEEDED", "CANCELLED", "CANCELLED"],
        ["CANCELLED"],
    )
    assert len(rows(stores.database, ing_item)) == 1


def test_a_worker_whose_task_is_cancelled_can_write_nothing_more(stores: Stores, control: SqlWorkControl) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    batch = open_page(stores, run)
    control.cancel(scope(ScopeKind.TASK, run.task.lease.task_id))
    before = contents(stores.database)
    for write in (
        lambda: commit(stores, run, batch, page(record("a"))),
        lambda: stores.queue.renew(run.task.lease),
        lambda: finish(stores, run),
        lambda: stores.queue.release(run.task.lease),
    ):
        with pytest.raises(LeaseLost):
            write()
    assert contents(stores.database) == before
    assert column(stores.database, ing_task_run, "status_code") == ["CANCELLED"]
    assert column(stores.database, ing_task_run_batch, "status_code") == ["SKIPPED"]
    assert states(stores) == (["CANCELLED"], ["CANCELLED"], ["CANCELLED"])


def test_one_slice_of_many_is_cancelled_and_the_plan_ends_partial(stores: Stores, control: SqlWorkControl) -> None:
    plan_harvest(stores, at(0), at(2))
    first, _ = column(stores.database, ing_plan_slice, "id")
    assert control.cancel(scope(ScopeKind.SLICE, first)) == 1
    assert states(stores)[2] == ["READY"]
    finish(stores, begin(stores))
    assert states(stores) == (["CANCELLED", "SUCCEEDED"], ["CANCELLED", "SUCCEEDED"], ["PARTIAL"])


def test_nobody_cuts_the_slices_of_a_cancelled_plan(stores: Stores, control: SqlWorkControl) -> None:
    plan_id = plan_harvest(stores, at(0), at(2)).plan.plan_id
    stores.ledger.finish(begin(stores), RunOutcome(TaskStatus.PARTIAL, {}, reslice=ResliceReason.PAGE_CAP))
    control.cancel(scope(ScopeKind.PLAN, plan_id))
    assert column(stores.database, ing_reslice_request, "status_code") == ["REFUSED"]
    assert states(stores)[2] == ["CANCELLED"]


def test_a_failed_task_is_tried_again_with_a_clean_record(stores: Stores, control: SqlWorkControl) -> None:
    plan_id = plan_harvest(stores, at(0), at(2)).plan.plan_id
    run = begin(stores)
    read_page(stores, run, page(record("a")))
    finish(stores, run, TaskStatus.FAILED)
    finish(stores, begin(stores))
    change(stores.database, ing_task, ing_task.c.id == run.task.lease.task_id, expiry_count=4, blamed_count=4)
    assert states(stores)[2] == ["PARTIAL"]
    assert control.retry(scope(ScopeKind.PLAN, plan_id)) == 1
    assert states(stores) == (["QUEUED", "SUCCEEDED"], ["READY", "SUCCEEDED"], ["READY"])
    again = claim(stores)
    assert (again.attempt_no, again.checkpoint.since_attempt, again.checkpoint.page_no) == (2, 1, 1)
    assert column(stores.database, ing_task, "expiry_count")[0] == 0
    assert column(stores.database, ing_task, "blamed_count")[0] == 0
    finish(stores, stores.ledger.begin_run(again, FlowRun()))
    assert states(stores) == (["SUCCEEDED"] * 2, ["SUCCEEDED"] * 2, ["SUCCEEDED"])


def test_a_partial_task_is_tried_again_unless_somebody_cuts_it(stores: Stores, control: SqlWorkControl) -> None:
    plan_id = plan_harvest(stores, at(0), at(2)).plan.plan_id
    stores.ledger.finish(begin(stores), RunOutcome(TaskStatus.PARTIAL, {}, reslice=ResliceReason.PAGE_CAP))
    stores.ledger.finish(begin(stores), RunOutcome(TaskStatus.PARTIAL, {}))
    assert control.retry(scope(ScopeKind.PLAN, plan_id)) == 1
    assert states(stores)[0] == ["PARTIAL", "QUEUED"]
    change(stores.database, ing_reslice_request, status_code="REFUSED")
    assert control.retry(scope(ScopeKind.PLAN, plan_id)) == 1


def test_the_tasks_a_flow_run_worked_are_tried_again(stores: Stores, control: SqlWorkControl) -> None:
    plan_harvest(stores, at(0), at(2))
    for name in ("mine", "other"):
        run = stores.ledger.begin_run(claim(stores), FlowRun(name))
        finish(stores, run, TaskStatus.FAILED)
    assert control.retry(WorkScope(ScopeKind.FLOW_RUN, "mine")) == 1
    assert states(stores)[0] == ["QUEUED", "FAILED"]


def test_what_succeeded_or_was_cancelled_is_not_tried_again(stores: Stores, control: SqlWorkControl) -> None:
    plan_id = plan_harvest(stores, at(0), at(2)).plan.plan_id
    finish(stores, begin(stores))
    control.cancel(scope(ScopeKind.TASK, max(column(stores.database, ing_task, "id"))))
    assert control.retry(scope(ScopeKind.PLAN, plan_id)) == 0


@pytest.mark.parametrize("number", ["99", "x", "-1", "", str(2**70)])
def test_a_wish_about_nothing_is_a_mistake(control: SqlWorkControl, number: str) -> None:
    for wish in (control.cancel, control.retry):
        with pytest.raises(BadInput, match="there is no task"):
            wish(WorkScope(ScopeKind.TASK, number))


def test_a_paused_partition_rests_until_it_is_resumed(stores: Stores, control: SqlWorkControl) -> None:
    plan_harvest(stores, at(0), at(1))
    assert control.pause([PARTITION], "moving house") == [PARTITION]
    assert control.pause([PARTITION], "again") == []
    assert stores.queue.claim("ann", TTL_SECONDS) is None
    assert column(stores.database, ing_partition_control, "reason") == ["moving house"]
    assert control.resume([PARTITION], "done") == [PARTITION]
    assert control.resume([PARTITION], "again") == []
    assert claim(stores).control_version == 2


def test_a_partition_that_never_worked_can_be_paused(stores: Stores, control: SqlWorkControl) -> None:
    new = Partition("films", "list", Operation.BACKFILL)
    assert control.pause([new], "not yet") == [new]
    assert control.resume([Partition("films", "other", Operation.BACKFILL)], "x") == []


def test_a_fuse_stops_a_partition_and_no_other(stores: Stores, control: SqlWorkControl) -> None:
    plan_harvest(stores, at(0), at(2))
    plan_harvest(stores, at(0), at(1), spec=compiled("tapes"))
    task = claim(stores, source="books")
    assert control.fuse(task.partition, task.control_version, "401: who are you?")
    assert claim(stores).partition.provenance_code == "tapes"
    assert stores.queue.claim("ann", TTL_SECONDS) is None
    control.resume([task.partition], "new key")
    assert claim(stores).partition == task.partition


def test_a_fuse_of_before_a_resume_does_not_blow(stores: Stores, control: SqlWorkControl) -> None:
    plan_harvest(stores, at(0), at(2))
    old = claim(stores)
    control.fuse(old.partition, old.control_version, "401")
    control.resume([old.partition], "new key")
    assert not control.fuse(old.partition, old.control_version, "401, late")
    assert column(stores.database, ing_partition_control, "control_code") == ["ACTIVE"]


def test_a_state_that_may_not_follow_is_refused(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    (task_id,) = column(stores.database, ing_task, "id")
    with (
        pytest.raises(IllegalTransition, match=f"ing_task {task_id}: SUCCEEDED may not follow QUEUED"),
        stores.database.write() as connection,
    ):
        move_one(connection, ing_task, task_id, TaskStatus.SUCCEEDED)
    assert column(stores.database, ing_task, "status_code") == ["QUEUED"]


def served(worker: Stores) -> int:
    """Let a planner serve what waits; how many children that made."""
    return Reslicer(worker.plans, StrategyRegistry([TimeStrategy()])).serve().children


def test_a_plan_with_a_failed_task_is_cancelled_all_the_same_and_stays_so(
    stores: Stores, control: SqlWorkControl
) -> None:
    plan_id = plan_harvest(stores, at(0), at(3)).plan.plan_id
    finish(stores, begin(stores), TaskStatus.FAILED)
    finish(stores, begin(stores))
    control.cancel(scope(ScopeKind.PLAN, plan_id))
    assert control.retry(scope(ScopeKind.PLAN, plan_id)) == 0
    assert (states(stores)[0], states(stores)[2]) == (["FAILED", "SUCCEEDED", "CANCELLED"], ["CANCELLED"])


def test_a_request_of_a_cancelled_plan_has_no_children(stores: Stores, control: SqlWorkControl) -> None:
    plan_id = plan_harvest(stores, at(0), at(2)).plan.plan_id
    stores.ledger.finish(begin(stores), RunOutcome(TaskStatus.PARTIAL, {}, reslice=ResliceReason.PAGE_CAP))
    control.cancel(scope(ScopeKind.PLAN, plan_id))
    change(stores.database, ing_reslice_request, status_code="OPEN")  # as if a worker had been quicker
    assert served(stores) == 0
    assert column(stores.database, ing_reslice_request, "status_code") == ["REFUSED"]
    assert states(stores)[2] == ["CANCELLED"]


@pytest.mark.parametrize("kind", [ScopeKind.SLICE, ScopeKind.TASK])
def test_a_slice_that_waits_to_be_cut_can_be_cancelled(
    stores: Stores, control: SqlWorkControl, kind: ScopeKind
) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    stores.ledger.finish(run, RunOutcome(TaskStatus.PARTIAL, {}, reslice=ResliceReason.PAGE_CAP))
    named = run.task.lineage.slice_id if kind == ScopeKind.SLICE else run.task.lineage.task_id
    control.cancel(scope(kind, named))
    assert served(stores) == 0
    assert states(stores)[2] == ["PARTIAL"]


def test_a_retry_and_the_end_of_the_last_task_at_once_leave_a_plan_that_can_succeed(
    stores: Stores, others: Stores, control: SqlWorkControl
) -> None:
    plan_id = plan_harvest(stores, at(0), at(2)).plan.plan_id
    finish(stores, begin(stores), TaskStatus.FAILED)
    run = begin(others)
    while_uncommitted(
        stores.database, lambda: control.retry(scope(ScopeKind.PLAN, plan_id)), lambda: finish(others, run)
    )
    finish(stores, begin(stores))
    assert states(stores)[2] == ["SUCCEEDED"]


def test_the_ids_of_a_refresh_that_is_tried_again_do_not_wait_for_another(
    stores: Stores, control: SqlWorkControl
) -> None:
    plan_id = plan_refresh(stores, "b1", "b2").plan.plan_id
    finish(stores, begin(stores), TaskStatus.FAILED)
    assert set(column(stores.database, ing_signal, "state_code")) == {"OPEN"}
    control.retry(scope(ScopeKind.PLAN, plan_id))
    assert set(column(stores.database, ing_signal, "state_code")) == {"PLANNED"}
    finish(stores, begin(stores))
    assert set(column(stores.database, ing_signal, "state_code")) == {"DONE"}


def test_a_run_that_another_of_the_same_lease_has_overtaken_can_write_nothing(stores: Stores, others: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    task = claim(stores)
    first = stores.ledger.begin_run(task, FlowRun())
    others.ledger.begin_run(replace(task, attempt_no=2), FlowRun())
    with pytest.raises(LeaseLost):
        read_page(stores, first, page(record("a")))
    with pytest.raises(LeaseLost):
        finish(stores, first)
    assert column(stores.database, ing_task_run, "status_code") == ["FAILED", "RUNNING"]
