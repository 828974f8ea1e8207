"""UPDATE by id: every id that somebody wants refreshed is in one slice, once, whatever the stock."""

from functools import partial
from typing import Any

import pytest

from ingest_core.model.codes import Operation, TaskStatus
from ingest_core.model.partition import Partition
from ingest_core.planning.proposal import NO_IDS
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import ing_cursor, ing_plan_slice, ing_signal, ing_task
from tests.support.breaking import together
from tests.support.planning_store import REFRESHING, UPDATE, Desk, open_desk, request, set_up
from tests.support.tables import column, contents, rows

SLICE = 10
"""Ids in a slice: ten detail requests of one."""


@pytest.fixture
def desk(database: Database) -> Desk:
    """A desk with the source in the Registry."""
    return set_up(database)


@pytest.fixture
def neighbour(desk: Desk, other: Database) -> Desk:
    """Another process on the same database."""
    return open_desk(other)


def names(count: int, first: int = 0) -> tuple[str, ...]:
    """Ids in order."""
    return tuple(f"v{number:05}" for number in range(first, first + count))


def remember(desk: Desk, *ids: str, campaign: str = "c", partition: Partition = REFRESHING) -> None:
    desk.plans.transact(lambda transaction: transaction.add_signals(partition, campaign, ids))


def waiting(desk: Desk, partition: Partition = REFRESHING) -> list[str]:
    """The ids that wait, as the store tells them."""
    with desk.plans.look() as transaction:
        return list(transaction.open_signals(partition))


def ids_of(row: dict[str, Any]) -> list[str]:
    """The ids a slice asks for."""
    (node,) = [one for one in _nodes(row["expr_snapshot"]) if one.get("field") == "provider_id"]
    return list(node.get("values", [node.get("value")]))


def _nodes(node: Any) -> list[dict[str, Any]]:
    """The node and all below it."""
    below = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return ([node] if isinstance(node, dict) else []) + [found for one in below for found in _nodes(one)]


def planned(desk: Desk) -> list[list[str]]:
    """The ids of every slice, in the order in which they were written."""
    return [ids_of(row) for row in rows(desk.database, ing_plan_slice)]


def states(desk: Desk) -> dict[str, int]:
    found = column(desk.database, ing_signal, "state_code")
    return {state: found.count(state) for state in sorted(set(found))}


def test_ids_wait_in_order_and_each_once_whoever_wants_them(desk: Desk) -> None:
    remember(desk, "b", "a", campaign="one")
    remember(desk, "c", "b", campaign="two")
    assert waiting(desk) == ["a", "b", "c"]
    assert len(rows(desk.database, ing_signal)) == 4


def test_an_id_that_is_remembered_already_stays_as_it_is(desk: Desk) -> None:
    remember(desk, "a", "b")
    before = contents(desk.database)
    remember(desk, "a", "b")
    assert contents(desk.database) == before


def test_ids_differ_by_every_byte_and_keep_the_order_of_their_bytes(desk: Desk) -> None:
    ids = ["GT", "Gt", "gt", "g", "gt!", "ä", "a\u0308", "日本", "𝄞", "10", "9"]
    remember(desk, *ids)
    assert waiting(desk) == sorted(ids)


def test_ids_of_other_endpoints_and_sources_are_not_told(desk: Desk) -> None:
    remember(desk, "a", partition=Partition("shelf", "list", Operation.UPDATE))
    remember(desk, "b", partition=Partition("other", "volumes", Operation.UPDATE))
    assert waiting(desk) == []


def test_thousands_of_ids_come_whole_and_in_order(desk: Desk) -> None:
    ids = names(2305)
    remember(desk, *reversed(ids))
    assert waiting(desk) == list(ids)


def test_every_id_is_in_one_slice_and_waits_no_longer(desk: Desk) -> None:
    report = desk.plan(operation=UPDATE, ids=tuple(reversed(names(25))))
    assert planned(desk) == [list(names(10)), list(names(10, 10)), list(names(5, 20))]
    assert (report.plan.slices, report.plan.tasks, report.plan.status) == (3, 3, "READY")
    assert waiting(desk) == []
    assert states(desk) == {"PLANNED": 25}
    assert rows(desk.database, ing_cursor) == []  # ids have no order to keep


def test_thousands_of_ids_are_each_in_one_slice(desk: Desk) -> None:
    """More than are held at once, and planned while they are told."""
    desk.plan(operation=UPDATE, ids=names(2305), overrides={"batching.id_batch_size": "30"})
    assert [one for ids in planned(desk) for one in ids] == list(names(2305))
    assert [len(ids) for ids in planned(desk)] == [300] * 7 + [205]
    assert states(desk) == {"PLANNED": 2305}


def test_ids_grouped_by_hash_are_each_in_one_slice(desk: Desk) -> None:
    desk.plan(operation=UPDATE, ids=names(95), overrides={"slicing.id_buckets": "4"})
    found = planned(desk)
    assert sorted(one for ids in found for one in ids) == list(names(95))
    assert max(map(len, found)) <= SLICE
    assert states(desk) == {"PLANNED": 95}


def test_the_same_trigger_again_plans_no_id_again(desk: Desk) -> None:
    desk.plan(operation=UPDATE, ids=names(15), key="tick")
    before = contents(desk.database)
    assert desk.plan(operation=UPDATE, ids=names(15), key="tick").created is False
    assert contents(desk.database) == before


def test_an_id_wanted_again_by_another_trigger_is_planned_again_once_it_was_refreshed(desk: Desk) -> None:
    desk.plan(operation=UPDATE, ids=("a", "b"))
    desk.plan(operation=UPDATE, ids=("b", "c"))
    assert planned(desk) == [["a", "b"], ["c"]]
    desk.work()
    desk.plan(operation=UPDATE)
    assert planned(desk) == [["a", "b"], ["c"], ["b"]]


def test_the_ids_of_a_refresh_that_failed_wait_again(desk: Desk) -> None:
    desk.plan(operation=UPDATE, ids=("a", "b"))
    for run in desk.begin_all():
        desk.end(run, TaskStatus.FAILED)
    assert states(desk) == {"OPEN": 2}
    desk.plan(operation=UPDATE)
    desk.work()
    assert states(desk) == {"DONE": 2}


def test_an_id_wanted_by_two_that_wait_is_planned_once(desk: Desk) -> None:
    remember(desk, "a", "b", campaign="one")
    desk.plan(operation=UPDATE, ids=("b", "c"))
    assert planned(desk) == [["a", "b", "c"]]
    assert states(desk) == {"PLANNED": 4}


def test_what_the_stock_has_no_room_for_is_planned_by_the_next_trigger(desk: Desk) -> None:
    """Each id once, none left: also without naming them again."""
    first = desk.plan(operation=UPDATE, ids=names(75), max_queued=3)
    assert (first.plan.slices, first.plan.status) == (3, "PARTIAL")
    assert waiting(desk) == list(names(45, 30))
    assert desk.plan(operation=UPDATE, max_queued=3).plan.slices == 0
    second = desk.plan(operation=UPDATE, max_queued=5)
    assert (second.plan.slices, second.plan.status) == (2, "PARTIAL")
    assert desk.plan(operation=UPDATE).plan.status == "READY"
    assert [one for ids in planned(desk) for one in ids] == list(names(75))
    assert (waiting(desk), states(desk)) == ([], {"PLANNED": 75})


def test_ids_without_room_wait_though_the_first_plan_had_none_at_all(desk: Desk) -> None:
    desk.plan(operation=UPDATE, ids=names(10), max_queued=1)
    report = desk.plan(operation=UPDATE, ids=names(10, 10), max_queued=1)
    assert (report.plan.slices, report.plan.status) == (0, "PARTIAL")
    assert waiting(desk) == list(names(10, 10))
    desk.plan(operation=UPDATE, max_queued=2)
    assert planned(desk) == [list(names(10)), list(names(10, 10))]


def test_nothing_wanted_is_a_plan_without_slices_that_says_so(desk: Desk) -> None:
    report = desk.plan(operation=UPDATE)
    assert (report.plan.slices, report.plan.status, report.json()["reason"]) == (0, "SUCCEEDED", NO_IDS)


def test_planners_at_once_plan_each_id_once(desk: Desk, neighbour: Desk) -> None:
    """Each wants its own ids; who comes first also plans what others wrote down before."""
    wanted = [names(15, first) for first in range(0, 60, 15)]
    desks = (desk, neighbour, desk, neighbour)
    together(*(partial(one.plan, operation=UPDATE, ids=ids) for one, ids in zip(desks, wanted, strict=True)))
    assert sorted(one for ids in planned(desk) for one in ids) == list(names(60))
    assert states(desk) == {"PLANNED": 60}


def test_a_dry_run_shows_ids_asked_for_and_ids_that_wait_and_writes_nothing(desk: Desk) -> None:
    remember(desk, *names(15))
    before = contents(desk.database)
    report = desk.planner.dry_run(request(operation=UPDATE, ids=names(15, 10)))
    assert (report.plan.slices, report.plan.remarks["totalEstimated"]) == (3, 25)
    assert contents(desk.database) == before


def test_a_task_of_ids_can_be_claimed(desk: Desk) -> None:
    """Their bounds are text, and no range of a second field."""
    desk.plan(operation=UPDATE, ids=("a", "b"))
    task = desk.queue.claim("ann", 60)
    assert task is not None
    assert task.range is None
    assert (task.params["range"]["from"], task.params["range"]["to"]) == ("a", "b")


def both_ways(database: Database) -> Desk:
    """A source whose one endpoint is refreshed by time or, through its details, by id."""
    answer = {"items": "$.items", "id": "$.id", "updated_at": "$.at"}
    endpoints = [
        {"name": "list", "path": "/list", "operations": ["UPDATE"], "detail": "volumes", "response": answer},
        {"name": "volumes", "role": "DETAIL", "path": "/volumes", "response": answer},
    ]
    return set_up(database, endpoints=endpoints)


def test_a_refresh_by_id_is_not_about_to_read_the_day_on_which_it_was_asked_for(database: Database) -> None:
    """The window of a refresh by id only paces it: a refresh of that day by time has everything to read."""
    desk = both_ways(database)
    desk.plan(operation=UPDATE, endpoint="list", ids=("1", "2"), now=48)
    assert desk.plan(24, 47, operation=UPDATE, endpoint="list", now=48).plan.slices == 23


def test_a_refresh_by_id_has_not_read_the_day_on_which_it_was_asked_for(database: Database) -> None:
    desk = both_ways(database)
    desk.plan(operation=UPDATE, endpoint="list", ids=("1", "2"), now=48)
    desk.work()
    desk.plan(23, 48, operation=UPDATE, endpoint="list", now=49)
    params = column(desk.database, ing_task, "params")[1:]
    assert [sorted(one) for one in params] == [["window"]] * 25
