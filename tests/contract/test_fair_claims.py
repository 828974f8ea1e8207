"""Who is served next: partitions in turn, the least urgent now and then, many at once."""

from datetime import timedelta

from ingest_core.store.gate.caps import LiveCaps
from ingest_core.store.queue.claims import LEAST_URGENT_EVERY, ClaimTurn
from ingest_core.store.queue.task_queue import SqlTaskQueue
from ingest_core.store.schema.tables import ing_task
from tests.support.books import at, compiled, source_rows
from tests.support.breaking import together
from tests.support.tables import change, column, rows
from tests.support.wiring import Stores
from tests.support.working import TTL_SECONDS, claim, plan_harvest

SOURCES = ("books", "tapes", "films")


def plan_all(stores: Stores, hours: int = 4) -> None:
    """Tasks of three sources; the first source's have waited longest."""
    for number, code in enumerate(SOURCES):
        plan_harvest(stores, at(0), at(hours), spec=compiled(code))
        due = stores.database.now() - timedelta(hours=len(SOURCES) - number)
        change(stores.database, ing_task, ing_task.c.provenance_code == code, scheduled_at=due)


def test_partitions_of_one_priority_are_served_in_turn(stores: Stores) -> None:
    plan_all(stores, 2)
    served = [claim(stores).partition.provenance_code for _ in range(6)]
    assert sorted(served[:3]) == sorted(served[3:]) == sorted(SOURCES)


def test_turns_are_shared_by_all_workers(stores: Stores, others: Stores) -> None:
    plan_all(stores, 2)
    served = [claim(worker, name).partition.provenance_code for worker, name in ((stores, "ann"), (others, "bob")) * 3]
    assert sorted(served[:3]) == sorted(served[3:]) == sorted(SOURCES)


def test_a_more_urgent_partition_is_served_first_whoever_waits(stores: Stores) -> None:
    plan_all(stores)
    change(stores.database, ing_task, ing_task.c.provenance_code == "films", priority=2)
    assert [claim(stores).partition.provenance_code for _ in range(4)] == ["films"] * 4


def test_every_eighth_claim_takes_the_least_urgent(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(20))
    last = max(column(stores.database, ing_task, "id"))
    change(stores.database, ing_task, ing_task.c.id >= last - 1, priority=7)
    queue = SqlTaskQueue(stores.database, ClaimTurn())
    claimed = [task.lease.task_id for _ in range(16) if (task := queue.claim("ann", TTL_SECONDS))]
    assert [claimed.index(last - 1), claimed.index(last)] == [LEAST_URGENT_EVERY - 1, 2 * LEAST_URGENT_EVERY - 1]


def test_an_eighth_claim_leaves_what_is_for_later(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(3))
    first, second, third = column(stores.database, ing_task, "id")
    later = stores.database.now() + timedelta(hours=1)
    change(stores.database, ing_task, ing_task.c.id == third, priority=9, scheduled_at=later)
    change(stores.database, ing_task, ing_task.c.id == second, priority=5)
    queue = SqlTaskQueue(stores.database, ClaimTurn(LEAST_URGENT_EVERY - 1))
    claimed = [task.lease.task_id for _ in range(3) if (task := queue.claim("ann", TTL_SECONDS))]
    assert claimed == [second, first]


def test_what_is_for_later_does_not_hide_what_is_less_urgent(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(3))
    ids = column(stores.database, ing_task, "id")
    later = stores.database.now() + timedelta(hours=1)
    change(stores.database, ing_task, ing_task.c.id != ids[2], scheduled_at=later)
    change(stores.database, ing_task, ing_task.c.id == ids[2], priority=7)
    assert claim(stores).lease.task_id == ids[2]


def test_many_are_claimed_at_once_dealt_out_evenly(stores: Stores) -> None:
    plan_all(stores)
    tasks = stores.queue.claim_many("ann", TTL_SECONDS, 6)
    assert sorted(task.partition.provenance_code for task in tasks) == sorted(SOURCES * 2)
    held = [row for row in rows(stores.database, ing_task) if row["lease_owner"] == "ann"]
    assert {row["id"]: row["fence_no"] for row in held} == {task.lease.task_id: task.lease.fence_no for task in tasks}
    for task in tasks:
        stores.queue.renew(task.lease)


def test_what_one_partition_does_not_have_goes_to_the_others(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1), spec=compiled("tapes"))
    plan_harvest(stores, at(0), at(5))
    change(stores.database, ing_task, ing_task.c.id == max(column(stores.database, ing_task, "id")), priority=7)
    tasks = stores.queue.claim_many("ann", TTL_SECONDS, 100)
    assert [task.partition.provenance_code for task in tasks].count("tapes") == 1
    assert len({task.lease.task_id for task in tasks}) == 6
    assert stores.queue.claim_many("ann", TTL_SECONDS, 100) == []


def test_workers_that_claim_many_at_once_share_nothing(stores: Stores, others: Stores) -> None:
    plan_all(stores, 8)
    works = [
        lambda: stores.queue.claim_many("ann", TTL_SECONDS, 5),
        lambda: others.queue.claim_many("bob", TTL_SECONDS, 5),
    ]
    claimed = [task.lease.task_id for tasks in together(*works * 2) for task in tasks]
    assert len(claimed) == len(set(claimed))
    rest = stores.queue.claim_many("ann", TTL_SECONDS, 100)
    assert len(claimed) + len(rest) == 24


def test_a_task_given_back_is_claimed_by_another_with_the_next_fence(stores: Stores, others: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    task = claim(stores)
    stores.queue.release(task.lease)
    again = claim(others, "bob")
    assert (again.lease.task_id, again.lease.fence_no, again.attempt_no) == (task.lease.task_id, 2, 1)


CAPPED = {"requests_per_second": 5, "burst": 1, "max_concurrency": 2}


def capped(worker: Stores) -> SqlTaskQueue:
    """A queue that asks the Registry how many may be at work."""
    return SqlTaskQueue(worker.database, ClaimTurn(), LiveCaps(worker.database, iter(range(0, 10_000, 100)).__next__))


def test_no_more_tasks_of_a_partition_are_leased_than_its_cap(stores: Stores, others: Stores) -> None:
    stores.registry.apply([source_rows(rate_limit=CAPPED)])
    plan_harvest(stores, at(0), at(6))
    plan_harvest(stores, at(0), at(6), spec=compiled("tapes"))
    one, other = capped(stores), capped(others)
    works = [lambda: one.claim_many("ann", TTL_SECONDS, 4), lambda: other.claim_many("bob", TTL_SECONDS, 4)]
    claimed = [task for tasks in together(*works) for task in tasks]
    claimed += one.claim_many("ann", TTL_SECONDS, 100)
    assert [task.partition.provenance_code for task in claimed].count("books") == 2
    assert [task.partition.provenance_code for task in claimed].count("tapes") == 6
    mine = next(task for task in claimed if task.partition.provenance_code == "books")
    (one if mine.lease.owner == "ann" else other).release(mine.lease)
    assert len(other.claim_many("bob", TTL_SECONDS, 100)) == 1


def test_a_cap_that_changes_holds_soon(stores: Stores) -> None:
    stores.registry.apply([source_rows(rate_limit=CAPPED)])
    plan_harvest(stores, at(0), at(6))
    queue = capped(stores)
    assert len(queue.claim_many("ann", TTL_SECONDS, 100)) == 2
    stores.registry.apply([source_rows(rate_limit={**CAPPED, "max_concurrency": 5})])
    assert len(queue.claim_many("ann", TTL_SECONDS, 100)) == 3
