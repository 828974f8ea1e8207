"""Leases that expire: which of them a task is blamed for, on every database."""

from datetime import timedelta
from typing import Any

from ingest_core.execution.expiry import FIRST_DELAY, MAX_BLAMED, MAX_EXPIRIES
from ingest_core.model.task import FlowRun, Task
from ingest_core.store.schema.tables import ing_task
from tests.support.books import at
from tests.support.pages import page
from tests.support.tables import change, rows
from tests.support.wiring import Stores
from tests.support.working import claim, plan_harvest, read_page

TTL = 10


def _claim(stores: Stores, task_id: int, owner: str) -> Task:
    """This task, leased; no delay keeps it back, and no other is due."""
    later = stores.database.now() + timedelta(days=1)
    change(stores.database, ing_task, ing_task.c.id != task_id, scheduled_at=later)
    change(stores.database, ing_task, ing_task.c.id == task_id, scheduled_at=at(0))
    task = claim(stores, owner, TTL)
    assert task.lease.task_id == task_id
    stores.ledger.begin_run(task, FlowRun())
    return task


def _expire(stores: Stores) -> None:
    """Let the leases be over and give them back."""
    stores.database.clock_shift += timedelta(seconds=TTL + 1)
    stores.queue.give_back_expired()


def _task(stores: Stores, task_id: int) -> dict[str, Any]:
    (row,) = rows(stores.database, ing_task, ing_task.c.id == task_id)
    return row


def _ids(stores: Stores, number: int) -> list[int]:
    plan_harvest(stores, at(0), at(number))
    return [row["id"] for row in rows(stores.database, ing_task)]


def test_a_task_that_ends_every_worker_that_takes_it_is_failed(stores: Stores) -> None:
    poison, other = _ids(stores, 2)
    for number in range(1, MAX_BLAMED + 1):
        assert _task(stores, poison)["status_code"] == "QUEUED"
        _claim(stores, other, f"worker {number}")  # in the hands of the same worker, but no cause of its end
        _claim(stores, poison, f"worker {number}")
        _expire(stores)
        change(stores.database, ing_task, ing_task.c.id == other, expiry_count=0, blamed_count=0)  # as by a page
    row = _task(stores, poison)
    assert (row["status_code"], row["expiry_count"], row["blamed_count"]) == ("FAILED", MAX_BLAMED, MAX_BLAMED)
    assert row["last_error"]["code"] == "LEASE_EXPIRED"
    assert "no other worker was lost" in row["last_error"]["message"]
    assert _task(stores, other)["status_code"] == "QUEUED"


def test_tasks_of_workers_that_are_lost_together_are_not_blamed(stores: Stores) -> None:
    ids = _ids(stores, 3)
    for number in range(1, MAX_BLAMED + 2):
        for task_id in ids:
            _claim(stores, task_id, f"worker {number} of {task_id}")
        _expire(stores)
    for task_id in ids:
        row = _task(stores, task_id)
        assert (row["status_code"], row["expiry_count"], row["blamed_count"]) == ("QUEUED", MAX_BLAMED + 1, 0)


def test_a_task_is_not_blamed_while_workers_without_it_are_lost_one_after_the_other(stores: Stores) -> None:
    first, second = _ids(stores, 2)
    for number in range(1, MAX_BLAMED + 2):
        for task_id in (first, second):
            _claim(stores, task_id, f"worker {number} of {task_id}")
            _expire(stores)
    assert [_task(stores, one)["status_code"] for one in (first, second)] == ["QUEUED"] * 2
    assert _task(stores, first)["blamed_count"] == 1  # the first loss of all: no other was known yet
    assert _task(stores, second)["blamed_count"] == 0


def test_a_task_that_never_comes_to_a_page_is_failed_in_the_end_whatever_else_is_lost(stores: Stores) -> None:
    ids = _ids(stores, 2)
    for number in range(1, MAX_EXPIRIES + 1):
        assert {_task(stores, one)["status_code"] for one in ids} == {"QUEUED"}
        for task_id in ids:
            _claim(stores, task_id, f"worker {number} of {task_id}")
        _expire(stores)
    assert {_task(stores, one)["status_code"] for one in ids} == {"FAILED"}


def test_each_expiry_but_the_first_puts_the_task_off(stores: Stores) -> None:
    (task_id,) = _ids(stores, 1)
    _claim(stores, task_id, "worker 1")
    _expire(stores)
    again = claim(stores, "worker 2", TTL)  # at once
    assert again.lease.task_id == task_id
    _expire(stores)
    now = stores.database.now()
    assert FIRST_DELAY / 3 < _task(stores, task_id)["scheduled_at"] - now <= FIRST_DELAY
    assert stores.queue.claim("worker 3", TTL) is None


def test_a_page_forgives(stores: Stores) -> None:
    (task_id,) = _ids(stores, 1)
    _claim(stores, task_id, "worker 1")
    _expire(stores)
    assert _task(stores, task_id)["blamed_count"] == 1
    task = claim(stores, "worker 2", TTL)
    run = stores.ledger.begin_run(task, FlowRun())
    read_page(stores, run, page())
    row = _task(stores, task_id)
    assert (row["expiry_count"], row["blamed_count"], row["expired_owner"]) == (0, 0, "worker 1")
