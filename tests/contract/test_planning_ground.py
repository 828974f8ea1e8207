"""What a planner is told of a namespace's past and present: what was read, what is about to be, what waits."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from ingest_core.model.codes import EventType, Operation, TaskStatus
from ingest_core.model.cursor import Coverage
from ingest_core.model.id_range import IdRange
from ingest_core.model.namespace import Namespace
from ingest_core.model.partition import Partition
from ingest_core.model.slice_codes import ResliceReason
from ingest_core.model.window import Window
from ingest_core.planning.ports import PlanTransaction
from ingest_core.store.cursors.events import append_event
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import ing_reslice_request, ing_task
from tests.support.books import at
from tests.support.planning_store import (
    BACKFILL,
    BACKFILLING,
    HARVESTING,
    Desk,
    cover,
    hours,
    in_hours,
    set_up,
    task_windows,
)
from tests.support.tables import change, rows

LONG = 2305
"""More rows than are held at once, and not a multiple of it."""


@pytest.fixture
def desk(database: Database) -> Desk:
    """A desk with the source in the Registry."""
    return set_up(database)


@pytest.fixture
def harvest(desk: Desk) -> Namespace:
    """The harvest's namespace."""
    return desk.namespace()


def read(desk: Desk, namespace: Namespace, window: Window) -> list[Coverage]:
    """What the store says was read."""
    with desk.plans.look() as transaction:
        return list(transaction.coverage(namespace, window))


def owned(desk: Desk, namespace: Namespace, window: Window) -> list[tuple[float, float]]:
    """What the store says is about to be read, as it says it."""
    with desk.plans.look() as transaction:
        return [in_hours([one])[0] for one in transaction.live(namespace, window)]


def counted(desk: Desk, partition: Partition | None, most: int) -> int:
    with desk.plans.look() as transaction:
        return transaction.queued(partition, most)


def test_coverage_comes_with_its_time_and_its_range(desk: Desk, harvest: Namespace) -> None:
    part = IdRange("number", 7, None)
    with desk.database.write() as connection:
        append_event(
            connection, harvest, EventType.COVERAGE, hours(1, 2), now=at(9), as_of=at(8), lineage={"plan_id": 1},
            key_parts=("one",), value=at(2), part=part,
        )  # fmt: skip
    assert read(desk, harvest, hours(0, 4)) == [Coverage(hours(1, 2), at(8), part)]


def test_coverage_is_what_reaches_into_the_window_and_nothing_else(desk: Desk, harvest: Namespace) -> None:
    cover(desk, harvest, [hours(hour, hour + 1) for hour in range(6)])
    assert in_hours(one.window for one in read(desk, harvest, hours(2, 4))) == [(2, 3), (3, 4)]
    assert in_hours(one.window for one in read(desk, harvest, hours(2.5, 3.5))) == [(2, 3), (3, 4)]
    assert read(desk, harvest, hours(6, 7)) == []


def test_an_anchor_is_no_coverage(desk: Desk, harvest: Namespace) -> None:
    desk.plan(0, 2)
    assert read(desk, harvest, hours(0, 2)) == []


def test_coverage_of_another_namespace_is_not_seen(desk: Desk, harvest: Namespace) -> None:
    others = [
        replace(harvest, key="0" * 64),
        replace(harvest, cursor_key="another"),
        replace(harvest, partition=replace(harvest.partition, operation_code=BACKFILL)),
    ]
    for number, other in enumerate(others):
        cover(desk, other, [hours(number, number + 0.5)])
    assert read(desk, harvest, hours(0, 9)) == []


def test_coverage_of_thousands_of_windows_comes_whole_and_in_order_of_time(desk: Desk, harvest: Namespace) -> None:
    shuffled = [hours(hour * 7 % LONG, hour * 7 % LONG + 1) for hour in range(LONG)]
    cover(desk, harvest, shuffled, as_of=at(0))
    found = read(desk, harvest, hours(0, LONG))
    assert [one.window for one in found] == [hours(hour, hour + 1) for hour in range(LONG)]
    assert len(read(desk, harvest, hours(3, LONG - 3))) == LONG - 6


def test_what_waits_is_leased_or_runs_is_live_and_nothing_else(desk: Desk, harvest: Namespace) -> None:
    desk.plan(0, 7)
    for number, status in enumerate(TaskStatus):
        row = rows(desk.database, ing_task)[number]
        change(desk.database, ing_task, ing_task.c.id == row["id"], status_code=status.value)
    assert [status.value for status in TaskStatus][:3] == ["QUEUED", "DISPATCHED", "EXECUTING"]
    assert owned(desk, harvest, hours(0, 9)) == [(0, 1), (1, 2), (2, 3)]


def test_live_is_what_reaches_into_the_window_and_nothing_else(desk: Desk, harvest: Namespace) -> None:
    desk.plan(0, 6)
    assert owned(desk, harvest, hours(2.5, 3.5)) == [(2, 3), (3, 4)]
    assert owned(desk, harvest, hours(2, 4)) == [(2, 3), (3, 4)]
    assert owned(desk, harvest, hours(6, 7)) == []


def test_live_tasks_of_another_namespace_are_not_seen(desk: Desk, harvest: Namespace) -> None:
    desk.plan(0, 2, operation=BACKFILL, campaign="one")
    assert owned(desk, harvest, hours(0, 9)) == []
    other = desk.namespace("two", operation=BACKFILL)
    assert owned(desk, other, hours(0, 9)) == []
    assert owned(desk, desk.namespace("one", operation=BACKFILL), hours(0, 9)) == [(0, 1), (1, 2)]


def test_thousands_of_live_tasks_come_whole_and_in_order_of_time(desk: Desk, harvest: Namespace) -> None:
    desk.plan(0, LONG)
    assert owned(desk, harvest, hours(0, LONG)) == [(hour, hour + 1) for hour in range(LONG)]


def test_an_open_reslice_request_is_live_too(desk: Desk, harvest: Namespace) -> None:
    """The planner must not plan what the re-slicer is about to."""
    desk.plan(0, 4)
    first, second, *_ = desk.begin_all()
    desk.end(second, TaskStatus.PARTIAL, reslice=ResliceReason.RECORD_CAP)
    desk.end(first)
    assert sorted(owned(desk, harvest, hours(0, 4))) == [(1, 2), (2, 3), (3, 4)]
    assert owned(desk, harvest, hours(2, 4)) == [(2, 3), (3, 4)]
    assert owned(desk, desk.namespace("x", operation=BACKFILL), hours(0, 4)) == []
    change(desk.database, ing_reslice_request, status_code="REFUSED")
    assert owned(desk, harvest, hours(0, 4)) == [(2, 3), (3, 4)]
    change(desk.database, ing_reslice_request, status_code="OPEN")
    assert desk.plan(0, 4).plan.slices == 0, "the plan serves the request, and plans nothing of it again"
    assert sorted(owned(desk, harvest, hours(0, 4))) == [(1, 1.5), (1.5, 2), (2, 3), (3, 4)]


def test_what_is_live_is_not_planned_again_though_a_unit_of_the_provider_reaches_into_it(database: Database) -> None:
    """Needs are read in whole units; half an hour of one is somebody else's."""
    desk = set_up(database, window={"unit": "HOUR", "format": "%Y-%m-%dT%H"})
    desk.plan(0, 1.5)
    desk.plan(0, 3)
    assert task_windows(desk.database) == [(0, 1), (1, 1.5), (1.5, 2), (2, 3)]


def test_what_waits_is_counted_by_partition_and_in_all(desk: Desk) -> None:
    desk.plan(0, 5)
    desk.plan(-3, 0, operation=BACKFILL, campaign="early")
    desk.begin()  # a harvest's: what is worked on no longer waits
    assert (counted(desk, HARVESTING, 100), counted(desk, BACKFILLING, 100), counted(desk, None, 100)) == (4, 3, 7)
    assert counted(desk, replace(HARVESTING, endpoint_name="volumes"), 100) == 0
    assert counted(desk, replace(HARVESTING, provenance_code="other"), 100) == 0


@pytest.mark.parametrize(("most", "found"), [(1, 1), (3, 3), (4, 4), (5, 4)])
def test_no_more_is_counted_than_matters(desk: Desk, most: int, found: int) -> None:
    desk.plan(0, 4)
    assert (counted(desk, HARVESTING, most), counted(desk, None, most)) == (found, found)


def test_a_task_that_is_due_later_waits_too(desk: Desk) -> None:
    desk.plan(0, 2)
    change(desk.database, ing_task, scheduled_at=desk.database.now() + timedelta(days=3))
    assert counted(desk, HARVESTING, 10) == 2


def _lookers() -> list[Callable[[PlanTransaction, Namespace], object]]:
    return [
        lambda transaction, namespace: transaction.control(namespace.partition),
        lambda transaction, namespace: transaction.lock_cursor(namespace),
        lambda transaction, namespace: list(transaction.coverage(namespace, hours(0, 9))),
        lambda transaction, namespace: list(transaction.live(namespace, hours(0, 9))),
        lambda transaction, namespace: transaction.queued(namespace.partition, 5),
        lambda transaction, namespace: list(transaction.open_signals(namespace.partition)),
        lambda transaction, namespace: transaction.arrivals(namespace, at(0), at(0)),
    ]


def test_looking_at_an_empty_store_finds_nothing_and_breaks_nothing(desk: Desk) -> None:
    namespace = desk.namespace(operation=Operation.HARVEST)
    with desk.plans.look() as transaction:
        found = [look(transaction, namespace) for look in _lookers()]
    assert [bool(one) for one in found[1:6]] == [False] * 5
