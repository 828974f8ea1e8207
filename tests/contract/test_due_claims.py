"""Looking before claiming: whose turn it is, a claim in one partition, one task by name, and what a flow run left."""

from datetime import timedelta
from typing import Any

import pytest

from ingest_core.execution.expiry import MAX_BLAMED
from ingest_core.model.codes import ControlState, Operation, TaskStatus
from ingest_core.model.errors import LeaseLost
from ingest_core.model.lease import flow_owner
from ingest_core.model.partition import Due, Partition, Resting, SlotCaps
from ingest_core.model.task import FlowRun, Task
from ingest_core.store.gate.caps import LiveCaps
from ingest_core.store.queue.claims import LEAST_URGENT_EVERY, ClaimTurn
from ingest_core.store.queue.task_queue import SqlTaskQueue
from ingest_core.store.queue.work_control import SqlWorkControl
from ingest_core.store.schema.tables import ing_partition_control, ing_task, ing_task_run
from tests.support.books import PARTITION, at, compiled, source_rows
from tests.support.breaking import together
from tests.support.pages import page, record
from tests.support.tables import change, column, rows
from tests.support.wiring import Stores
from tests.support.working import TTL_SECONDS, claim, finish, plan_harvest, read_page

SOURCES = ("books", "tapes", "films")
FLOW = "0199-flow"


def partition(code: str) -> Partition:
    return Partition(code, "list", Operation.HARVEST)


def plan_all(stores: Stores, hours: int = 4) -> None:
    for code in SOURCES:
        plan_harvest(stores, at(0), at(hours), spec=compiled(code))


def claim_due(stores: Stores, due: Due, owner: str = "ann") -> Task:
    task = stores.queue.claim_due(owner, TTL_SECONDS, due)
    assert task is not None, "nothing is claimable"
    return task


def test_partitions_are_looked_at_in_the_order_of_urgency_and_then_in_turn(stores: Stores) -> None:
    assert stores.queue.due() == []
    plan_all(stores)
    change(stores.database, ing_task, ing_task.c.provenance_code == "films", priority=5)
    look = stores.queue.due()
    assert look == [
        Due(partition("books"), 3, shared=True),
        Due(partition("tapes"), 3, shared=True),
        Due(partition("films"), 5),
    ]
    assert claim_due(stores, look[0]).partition == partition("books")
    assert [due.partition.provenance_code for due in stores.queue.due()] == ["tapes", "books", "films"]
    assert {row["status_code"] for row in rows(stores.database, ing_task)} == {"QUEUED", "DISPATCHED"}


def test_who_is_alone_at_its_urgency_notes_no_turn(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(2))
    claim_due(stores, stores.queue.due()[0])
    assert column(stores.database, ing_partition_control, "claimed_at") == [None]


def test_only_due_work_of_active_partitions_and_the_source_asked_for_is_seen(stores: Stores) -> None:
    plan_all(stores)
    later = stores.database.now() + timedelta(hours=1)
    change(stores.database, ing_task, ing_task.c.provenance_code == "books", scheduled_at=later)
    change(
        stores.database,
        ing_partition_control,
        ing_partition_control.c.provenance_code == "films",
        control_code="PAUSED",
    )
    assert [due.partition.provenance_code for due in stores.queue.due()] == ["tapes"]
    assert stores.queue.due("films") == []
    assert stores.queue.due(excluding={"tapes"}) == []


def test_every_eighth_look_begins_with_the_least_urgent(stores: Stores) -> None:
    plan_all(stores)
    last = max(column(stores.database, ing_task, "id"))
    change(stores.database, ing_task, ing_task.c.id == last, priority=7)
    change(stores.database, ing_task, ing_task.c.provenance_code == "tapes", priority=5)
    queue = SqlTaskQueue(stores.database, ClaimTurn())
    looks = [queue.due() for _ in range(LEAST_URGENT_EVERY)]
    assert [look[0].partition.provenance_code for look in looks[:-1]] == ["books"] * 7
    assert looks[-1] == [Due(partition("films"), 7), *looks[0]]
    assert claim_due(stores, looks[-1][0]).lease.task_id == last


def test_a_claim_in_a_partition_takes_its_first_task_of_that_priority(stores: Stores) -> None:
    plan_all(stores)
    ids = [row["id"] for row in rows(stores.database, ing_task, ing_task.c.provenance_code == "tapes")]
    due = stores.database.now() - timedelta(hours=1)
    change(stores.database, ing_task, ing_task.c.id == ids[2], scheduled_at=due)
    change(stores.database, ing_task, ing_task.c.id == ids[1], priority=2)
    assert [claim_due(stores, Due(partition("tapes"), 3)).lease.task_id for _ in range(3)] == [ids[2], ids[0], ids[3]]
    assert stores.queue.claim_due("ann", TTL_SECONDS, Due(partition("tapes"), 3)) is None
    assert claim_due(stores, Due(partition("tapes"), 2)).lease.task_id == ids[1]


def test_a_task_is_claimed_by_name_if_it_is_due_and_may_be_worked(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(3))
    first, second, third = column(stores.database, ing_task, "id")
    task = claim_due(stores, Due(PARTITION, 3, second))
    assert (task.lease.task_id, task.lease.owner, task.lease.fence_no) == (second, "ann", 1)
    assert stores.queue.claim_due("bob", TTL_SECONDS, Due(PARTITION, 3, second)) is None
    change(stores.database, ing_task, ing_task.c.id == third, scheduled_at=stores.database.now() + timedelta(hours=1))
    assert stores.queue.claim_due("bob", TTL_SECONDS, Due(PARTITION, 3, third)) is None
    change(stores.database, ing_partition_control, control_code="FUSED")
    assert stores.queue.claim_due("bob", TTL_SECONDS, Due(PARTITION, 3, first)) is None


def test_claims_in_a_partition_share_nothing_and_heed_its_cap(stores: Stores, others: Stores) -> None:
    rate = {"requests_per_second": 5, "burst": 1, "max_concurrency": 3}
    stores.registry.apply([source_rows(rate_limit=rate)])
    plan_harvest(stores, at(0), at(8))
    due = Due(PARTITION, 3)
    queues = [SqlTaskQueue(worker.database, ClaimTurn(), LiveCaps(worker.database)) for worker in (stores, others)]
    claims = together(*[lambda queue=queue: queue.claim_due("ann", TTL_SECONDS, due) for queue in queues * 3])
    claimed = [task.lease.task_id for task in claims if task]
    claimed += [task.lease.task_id for _ in range(3) if (task := queues[0].claim_due("ann", TTL_SECONDS, due))]
    assert len(claimed) == len(set(claimed)) == 3
    assert stores.queue.claim("ann", TTL_SECONDS, excluding={"books"}) is None


def test_a_slots_caps_are_held_by_the_leases_of_whoever_works(stores: Stores) -> None:
    plan_all(stores)
    books, tapes = Due(partition("books"), 3), Due(partition("tapes"), 3)
    claim_due(stores, books, "who has no slot any more")

    def claimed(due: Due, caps: SlotCaps) -> bool:
        return stores.queue.claim_due("ann", TTL_SECONDS, due, caps) is not None

    assert not claimed(books, SlotCaps(1, 9))
    assert not claimed(tapes, SlotCaps(9, 1))
    assert claimed(books, SlotCaps(2, 9))
    last = rows(stores.database, ing_task, ing_task.c.provenance_code == "books")[-1]["id"]
    assert not claimed(Due(partition("books"), 3, last), SlotCaps(2, 9))
    assert claimed(tapes, SlotCaps(1, 3))
    assert not claimed(tapes, SlotCaps(9, 3))
    change(stores.database, ing_task, ing_task.c.lease_owner == "who has no slot any more", status_code="SUCCEEDED")
    assert claimed(tapes, SlotCaps(9, 3))


def begun_by(stores: Stores, flow_run: str) -> Task:
    """A task claimed and begun by a process of a flow run."""
    task = claim(stores, flow_owner(flow_run, "host:1:ab"))
    stores.ledger.begin_run(task, FlowRun(flow_run, "a task run"))
    return task


def test_what_a_flow_run_held_is_given_back_and_its_process_is_fenced_off(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(4))
    begun, others_task = begun_by(stores, FLOW), begun_by(stores, FLOW + "0")
    claimed = claim(stores, flow_owner(FLOW, "host:2:cd"))
    given_back = stores.queue.give_back_held(FLOW)
    assert [due.task_id for due in given_back] == [begun.lease.task_id, claimed.lease.task_id]
    assert given_back[0].partition == PARTITION
    states = {row["id"]: (row["status_code"], row["lease_owner"]) for row in rows(stores.database, ing_task)}
    assert states[begun.lease.task_id] == states[claimed.lease.task_id] == ("QUEUED", None)
    assert states[others_task.lease.task_id][0] == "EXECUTING"
    with pytest.raises(LeaseLost):
        stores.queue.renew(begun.lease)
    (run,) = rows(stores.database, ing_task_run, ing_task_run.c.flow_run_id == FLOW)
    assert (run["status_code"], run["error"]["code"]) == ("FAILED", "FLOW_RUN_ENDED")
    assert stores.queue.give_back_held(FLOW) == []


def test_a_task_that_takes_its_process_along_again_and_again_fails(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    for _ in range(MAX_BLAMED):
        begun_by(stores, FLOW)
        stores.queue.give_back_held(FLOW)
        change(stores.database, ing_task, scheduled_at=at(0))  # its delay is over
    (row,) = rows(stores.database, ing_task)
    assert (row["status_code"], row["last_error"]["code"]) == ("FAILED", "FLOW_RUN_ENDED")


def test_what_a_flow_run_left_is_what_it_began_and_what_waits_again(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(4))
    ids = column(stores.database, ing_task, "id")
    runs = [stores.ledger.begin_run(claim(stores), FlowRun(FLOW)) for _ in range(3)]
    finish(stores, runs[0])
    finish(stores, runs[1], TaskStatus.QUEUED)
    assert [due.task_id for due in stores.queue.left_by(FLOW)] == [ids[1]]
    assert stores.queue.left_by("another") == []
    assert stores.queue.left_by(FLOW)[0] == Due(PARTITION, 3, ids[1])
    change(stores.database, ing_task, ing_task.c.id == ids[1], scheduled_at=stores.database.now() + timedelta(hours=1))
    assert stores.queue.left_by(FLOW) == []  # its time has not come


def test_partitions_that_rest_are_named_with_why_and_how_much_waits(stores: Stores) -> None:
    plan_all(stores)
    assert stores.queue.resting() == []
    control = SqlWorkControl(stores.database)
    control.pause([partition("books")], "they asked us to")
    claim(stores)
    control.fuse(partition("tapes"), 0, "task 7: 401")
    control.pause([partition("papers")], "nothing of it waits")
    tapes = sum(row["status_code"] == "QUEUED" for row in rows(stores.database, ing_task) if _is_of(row, "tapes"))
    assert stores.queue.resting() == [
        Resting(partition("books"), ControlState.PAUSED, "they asked us to", 4),
        Resting(partition("tapes"), ControlState.FUSED, "task 7: 401", tapes),
    ]
    assert [one.partition for one in stores.queue.resting("tapes")] == [partition("tapes")]


def _is_of(row: dict[str, Any], code: str) -> bool:
    return bool(row["provenance_code"] == code)


def test_a_page_in_between_forgives_what_was_given_back(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    for number in range(1, MAX_BLAMED + 2):
        run = stores.ledger.begin_run(claim(stores, flow_owner(FLOW, "host")), FlowRun(FLOW))
        if number == MAX_BLAMED - 1:
            read_page(stores, run, page(record("a")))
        stores.queue.give_back_held(FLOW)
        change(stores.database, ing_task, scheduled_at=at(0))  # its delay is over
    assert rows(stores.database, ing_task)[0]["status_code"] == "QUEUED"
