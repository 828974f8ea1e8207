"""The queue: who gets which task, and what a lost lease can still do."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event

import pytest

from ingest_core.execution.ports import Batch, Run, RunOutcome
from ingest_core.model.codes import TaskStatus
from ingest_core.model.errors import LeaseLost
from ingest_core.model.lease import Lease
from ingest_core.model.record import Counts, PageOutcome
from ingest_core.model.task import FlowRun
from ingest_core.store.engine.database import Database
from ingest_core.store.records import item_writer
from ingest_core.store.schema.tables import (
    ing_partition_control,
    ing_plan,
    ing_task,
    ing_task_run,
    ing_task_run_batch,
)
from tests.support.books import SOURCE, at, compiled, source_rows
from tests.support.breaking import together, wait_for, while_uncommitted
from tests.support.pages import page, record, rejected
from tests.support.tables import change, column, contents, rows
from tests.support.wiring import Stores
from tests.support.working import TTL_SECONDS, begin, claim, commit, finish, open_page, plan_harvest

PAST_TTL = timedelta(seconds=TTL_SECONDS + 1)


def give_back(other: Database, others: Stores) -> int:
    """Give expired leases back when the time to live is over."""
    other.clock_shift = PAST_TTL
    try:
        return others.queue.give_back_expired()
    finally:
        other.clock_shift = timedelta(0)


def pause(database: Database, control: str) -> None:
    """Let the partition's tasks rest."""
    change(database, ing_partition_control, control_code=control)


def test_tasks_are_claimed_by_priority_then_time_then_id(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(6))
    ids = column(stores.database, ing_task, "id")
    due = stores.database.now() - timedelta(hours=1)
    order = {ids[0]: (5, 2), ids[1]: (3, 2), ids[2]: (3, 1), ids[3]: (7, 0), ids[4]: (3, 1), ids[5]: (5, 1)}
    for task_id, (priority, minute) in order.items():
        moment = due + timedelta(minutes=minute)
        change(stores.database, ing_task, ing_task.c.id == task_id, priority=priority, scheduled_at=moment)
    claimed = [claim(stores).lease.task_id for _ in ids]
    assert claimed == [ids[2], ids[4], ids[1], ids[5], ids[0], ids[3]]
    assert stores.queue.claim("ann", TTL_SECONDS) is None


def test_partitions_are_claimed_in_one_order(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(2))
    change(stores.database, ing_task, ing_task.c.id == max(column(stores.database, ing_task, "id")), priority=2)
    ids = column(stores.database, ing_task, "id")
    plan_harvest(stores, at(0), at(1), spec=compiled("tapes"))
    change(stores.database, ing_task, ing_task.c.provenance_code == "tapes", priority=1)
    first, second = claim(stores), claim(stores)
    assert first.partition.provenance_code == "tapes"
    assert second.lease.task_id == ids[1]


def test_only_the_source_asked_for_is_claimed(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    assert stores.queue.claim("ann", TTL_SECONDS, "tapes") is None
    plan_harvest(stores, at(0), at(1), spec=compiled("tapes"))
    assert claim(stores, source="tapes").partition.provenance_code == "tapes"
    assert stores.queue.claim("ann", TTL_SECONDS, "tapes") is None
    assert claim(stores, source=SOURCE).partition.provenance_code == SOURCE


def test_a_claimed_task_has_all_it_needs(stores: Stores) -> None:
    report = plan_harvest(stores, at(0), at(2))
    claim(stores)
    before = stores.database.now()
    task = claim(stores, "bob", ttl_seconds=30)
    row = rows(stores.database, ing_task)[1]
    assert task.lease == Lease(row["id"], "bob", 1, 30)
    assert (task.window.start, task.window.end) == (at(1), at(2))
    assert (task.lineage.plan_id, task.lineage.slice_id) == (report.plan.plan_id, row["slice_id"])
    assert (task.slice_no, task.attempt_no, task.checkpoint.started) == (2, 1, False)
    assert task.spec.json_value() == rows(stores.database, ing_plan)[0]["provenance_config_snapshot"]
    assert task.spec.fingerprint == rows(stores.database, ing_plan)[0]["spec_fingerprint"]
    assert task.namespace.key == row["namespace_key"]
    assert row["status_code"] == "DISPATCHED"
    assert timedelta(seconds=30) <= row["leased_until"] - before < timedelta(seconds=40)


def test_a_plan_runs_on_the_snapshot_it_was_compiled_with(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    stores.registry.apply([source_rows(http={"base_url": "https://elsewhere.example"})])
    assert claim(stores).spec.http.base_url == "https://books.example"


KEY = {"auth": "API_KEY", "ref": "env:OLD", "name": "x-key"}


@pytest.mark.parametrize(
    ("now", "expected"),
    [({**KEY, "ref": "env:NEW"}, "env:NEW"), (KEY, "env:OLD"), ({}, None)],
    ids=["another key", "the same", "none any more"],
)
def test_a_plan_is_worked_with_todays_credential(stores: Stores, now: dict[str, str], expected: str | None) -> None:
    plan_harvest(stores, at(0), at(1), spec=compiled(credential=KEY))
    stores.registry.apply([source_rows(credential=now)])
    task = claim(stores)
    assert (task.spec.auth.credential_ref, task.spec.http.base_url) == (expected, "https://books.example")


def test_a_plan_of_a_source_that_is_gone_keeps_its_credential(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1), spec=compiled(credential=KEY))
    assert claim(stores).spec.auth.credential_ref == "env:OLD"


def test_a_task_scheduled_for_later_is_not_claimed(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(2))
    first, second = column(stores.database, ing_task, "id")
    soon = stores.database.now() + timedelta(minutes=1)
    change(stores.database, ing_task, ing_task.c.id == first, scheduled_at=soon)
    assert claim(stores).lease.task_id == second
    assert stores.queue.claim("ann", TTL_SECONDS) is None


@pytest.mark.parametrize("control", ["PAUSED", "FUSED"])
def test_a_partition_at_rest_is_not_claimed(stores: Stores, control: str) -> None:
    plan_harvest(stores, at(0), at(1))
    pause(stores.database, control)
    assert stores.queue.claim("ann", TTL_SECONDS) is None
    pause(stores.database, "ACTIVE")
    claim(stores)


def test_workers_that_claim_at_once_never_get_the_same_task(stores: Stores, others: Stores) -> None:
    plan_harvest(stores, at(0), at(40))

    def claim_all(worker: Stores, owner: str) -> list[int]:
        found = []
        while task := worker.queue.claim(owner, TTL_SECONDS):
            found.append(task.lease.task_id)
        return found

    shares = together(
        lambda: claim_all(stores, "ann"),
        lambda: claim_all(others, "bob"),
        lambda: claim_all(stores, "cid"),
        lambda: claim_all(others, "dan"),
    )
    claimed = [task_id for share in shares for task_id in share]
    assert sorted(claimed) == column(stores.database, ing_task, "id")
    assert set(column(stores.database, ing_task, "fence_no")) == {1}


def test_a_claim_does_not_wait_for_another(stores: Stores, others: Stores) -> None:
    plan_harvest(stores, at(0), at(2))
    first, second = while_uncommitted(stores.database, lambda: claim(stores), lambda: claim(others, "bob"))
    assert first.lease.task_id != second.lease.task_id


def test_an_expired_lease_comes_back(stores: Stores, other: Database, others: Stores) -> None:
    plan_harvest(stores, at(0), at(2))
    run = begin(stores)
    open_page(stores, run)
    assert others.queue.give_back_expired() == 0
    assert give_back(other, others) == 1
    task = rows(stores.database, ing_task)[0]
    assert (task["status_code"], task["lease_owner"], task["leased_until"]) == ("QUEUED", None, None)
    assert (task["expiry_count"], task["last_error"]["code"]) == (1, "LEASE_EXPIRED")
    assert column(stores.database, ing_task_run, "status_code") == ["FAILED"]
    assert column(stores.database, ing_task_run_batch, "status_code") == ["FAILED"]
    assert give_back(other, others) == 0
    again = claim(others, "bob")
    assert (again.lease.task_id, again.lease.fence_no, again.attempt_no) == (run.task.lease.task_id, 2, 2)


# --- a lease that was lost -------------------------------------------------------------------------------------

Write = Callable[[Stores, Run, Batch], object]
WRITES: dict[str, Write] = {
    "renew": lambda stores, run, batch: stores.queue.renew(run.task.lease),
    "release": lambda stores, run, batch: stores.queue.release(run.task.lease),
    "begin_run": lambda stores, run, batch: stores.ledger.begin_run(run.task, FlowRun()),
    "open_batch": lambda stores, run, batch: open_page(stores, run, 2),
    "commit_page": lambda stores, run, batch: commit(
        stores, run, batch, page(record("a"), record("b", at(9)), rejected=[rejected("x")])
    ),
    "fail_batch": lambda stores, run, batch: stores.ledger.fail_batch(run, batch, {"code": "LATE"}),
    "finish": lambda stores, run, batch: finish(stores, run),
    "requeue": lambda stores, run, batch: stores.ledger.finish(run, RunOutcome(TaskStatus.QUEUED, {})),
}


def _claimed_by(owner: str) -> Callable[[Stores, Database, Stores], object]:
    def lose(_stores: Stores, other: Database, others: Stores) -> object:
        give_back(other, others)
        return claim(others, owner)

    return lose


def _at_work_elsewhere(_stores: Stores, other: Database, others: Stores) -> object:
    give_back(other, others)
    return open_page(others, begin(others, "bob"))


def _ended_elsewhere(_stores: Stores, other: Database, others: Stores) -> None:
    give_back(other, others)
    finish(others, begin(others, "bob"), TaskStatus.FAILED)


LOSSES: dict[str, Callable[[Stores, Database, Stores], object]] = {
    "given back": lambda stores, other, others: give_back(other, others),
    "claimed by another": _claimed_by("bob"),
    "claimed by the same owner again": _claimed_by("ann"),
    "at work elsewhere": _at_work_elsewhere,
    "ended elsewhere": _ended_elsewhere,
}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_lost_lease_can_write_nothing(stores: Stores, other: Database, others: Stores, loss: str) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    batch = open_page(stores, run)
    LOSSES[loss](stores, other, others)
    before = contents(stores.database)
    for write in WRITES.values():
        with pytest.raises(LeaseLost):
            write(stores, run, batch)
    assert contents(stores.database) == before


@pytest.mark.parametrize("write", ["renew", "begin_run", "commit_page", "finish"])
def test_a_lease_being_given_back_is_lost_already(stores: Stores, other: Database, others: Stores, write: str) -> None:
    """The writer waits for the row, and then must see that it is no longer its own."""
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    batch = open_page(stores, run)
    other.clock_shift = PAST_TTL

    def late() -> str:
        try:
            WRITES[write](stores, run, batch)
        except LeaseLost:
            return "lost"
        return "written"

    given, outcome = while_uncommitted(other, others.queue.give_back_expired, late)
    assert (given, outcome) == (1, "lost")
    assert column(stores.database, ing_task, "status_code") == ["QUEUED"]


def test_a_page_being_committed_keeps_its_lease_to_the_end(
    stores: Stores, other: Database, others: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan_harvest(stores, at(0), at(1))
    run = begin(stores)
    batch = open_page(stores, run)
    inside, tried = Event(), Event()
    write = item_writer.ItemWriter.write

    def slow(self: item_writer.ItemWriter, outcome: PageOutcome) -> Counts:
        inside.set()
        tried.wait(0.3)
        return write(self, outcome)

    monkeypatch.setattr(item_writer.ItemWriter, "write", slow)
    with ThreadPoolExecutor(1) as pool:
        committing = pool.submit(commit, stores, run, batch, page(record("a")))
        wait_for(inside, committing)
        give_back(other, others)
        tried.set()
        assert committing.result(30).inserted == 1
    assert column(stores.database, ing_task_run_batch, "status_code") == ["SUCCEEDED"]


# --- waiting ---------------------------------------------------------------------------------------------------


def test_nothing_under_way_means_nothing_to_wait_for(stores: Stores) -> None:
    assert stores.queue.waiting() is None
    plan_harvest(stores, at(0), at(1))
    finish(stores, begin(stores))
    assert stores.queue.waiting() is None


def test_waiting_ends_when_the_first_lease_or_task_may_come_free(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(3))
    assert stores.queue.waiting() == timedelta(0)
    for _ in range(3):
        claim(stores)
    leased = stores.queue.waiting()
    assert leased is not None
    assert timedelta(seconds=TTL_SECONDS - 10) < leased <= timedelta(seconds=TTL_SECONDS)
    soon = stores.database.now() + timedelta(seconds=20)
    last = column(stores.database, ing_task, "id")[-1]
    change(stores.database, ing_task, ing_task.c.id == last, status_code="QUEUED", scheduled_at=soon)
    scheduled = stores.queue.waiting()
    assert scheduled is not None
    assert timedelta(seconds=10) < scheduled <= timedelta(seconds=20)


def test_waiting_looks_at_the_source_asked_for(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    assert stores.queue.waiting("tapes") is None
    assert stores.queue.waiting(SOURCE) == timedelta(0)


def test_a_partition_at_rest_is_not_waited_for(stores: Stores) -> None:
    """Else an executor that runs until idle would never end."""
    plan_harvest(stores, at(0), at(1))
    pause(stores.database, "PAUSED")
    assert stores.queue.waiting() is None
