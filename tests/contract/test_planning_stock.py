"""Stock: so many tasks may wait; what finds no room is planned by a later trigger, without gap or overlap."""

from typing import Any

import pytest

from ingest_core.model.codes import PlanStatus, TaskStatus
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import ing_cursor, ing_cursor_event, ing_plan, ing_task
from tests.support.books import at
from tests.support.planning_store import (
    BACKFILL,
    HARVEST,
    UPDATE,
    Desk,
    assert_owned_once,
    holes,
    hours,
    open_desk,
    request,
    set_up,
    task_windows,
)
from tests.support.tables import column, contents, rows

TOO_MANY = "too many tasks wait"


@pytest.fixture
def desk(database: Database) -> Desk:
    """A desk with the source in the Registry."""
    return set_up(database)


def hourly(start: int, end: int) -> list[tuple[float, float]]:
    """Windows of an hour."""
    return [(hour, hour + 1) for hour in range(start, end)]


def statuses(desk: Desk) -> list[str]:
    return column(desk.database, ing_plan, "status_code")


def test_a_plan_fills_the_stock_and_says_that_the_rest_waits(desk: Desk) -> None:
    report = desk.plan(0, 10, max_queued=4)
    assert (report.plan.slices, report.plan.tasks, report.plan.status) == (4, 4, PlanStatus.PARTIAL)
    assert task_windows(desk.database) == hourly(0, 4)
    said = report.json()
    assert said["stock"] == {"short": True, "limit": 4, "limit_in_all": 0}
    assert [one for one in said["warnings"] if TOO_MANY in one]
    assert said["reason"] is None
    (plan,) = rows(desk.database, ing_plan)
    assert (plan["window_from"], plan["window_to"]) == (at(0), at(10))
    assert (plan["status_code"], plan["record_remarks"]["stock"]) == ("PARTIAL", said["stock"])


def test_a_plan_that_just_fits_is_not_short(desk: Desk) -> None:
    report = desk.plan(0, 4, max_queued=4)
    assert (report.plan.status, report.json()["stock"]) == (PlanStatus.READY, None)


def test_a_limit_of_zero_is_none(desk: Desk) -> None:
    assert desk.plan(0, 10, max_queued=0).plan.status == PlanStatus.READY


def test_only_what_waits_takes_room(desk: Desk) -> None:
    """Not what is worked on, what failed, or what another partition has."""
    desk.plan(-9, 0, operation=BACKFILL, campaign="early")
    desk.plan(0, 3, max_queued=3)
    desk.end(desk.begin(), TaskStatus.FAILED)
    desk.begin()
    report = desk.plan(1, 6, max_queued=3)
    assert (report.plan.slices, report.plan.status) == (2, PlanStatus.PARTIAL)


@pytest.mark.parametrize("bounded", [True, False], ids=["asked for again", "as a schedule fires"])
def test_the_rest_of_a_harvest_is_planned_tick_by_tick(desk: Desk, bounded: bool) -> None:
    """Each tick plans as much as was worked since; together they tile the window."""
    desk.plan(0, 10, max_queued=4)
    asked = (0, 10) if bounded else (None, None)
    for worked, planned in ((0, 4), (3, 7), (4, 10), (0, 10)):
        for _ in range(worked):
            desk.end(desk.begin())
        desk.plan(*asked, max_queued=4, now=10 + 1 / 6)
        assert task_windows(desk.database) == hourly(0, planned)
    assert statuses(desk) == ["PARTIAL", "PARTIAL", "PARTIAL", "READY", "SUCCEEDED"]
    desk.work()
    cursor = desk.cursor(desk.namespace())
    assert cursor is not None
    assert (cursor.anchor, cursor.value) == (at(0), at(10))


def test_the_rest_is_planned_though_new_time_came(desk: Desk) -> None:
    """Oldest first: what is new waits behind what is left."""
    desk.plan(0, 4, max_queued=2, now=5)
    desk.work()
    desk.plan(now=8, max_queued=3)
    assert task_windows(desk.database)[2:] == [(2, 3), (3, 4), (4, 5)]
    desk.plan(now=8, max_queued=0)
    assert holes(desk.database, desk.namespace(), hours(0, 7.5)) == []
    assert_owned_once(desk.database)


def test_a_first_plan_without_any_room_still_anchors(desk: Desk) -> None:
    """Where the harvest begins is what was asked for, not where the next trigger finds room."""
    desk.plan(-9, 0, operation=BACKFILL, campaign="early")
    full = open_desk(desk.database, limit_in_all=9)
    report = full.plan(0, 3)
    assert (report.plan.slices, report.plan.status) == (0, PlanStatus.PARTIAL)
    cursor = desk.cursor(desk.namespace())
    assert cursor is not None
    assert (cursor.anchor, cursor.value) == (at(0), at(0))
    assert column(desk.database, ing_cursor_event, "event_type") == ["ANCHOR", "ANCHOR"]
    desk.plan(now=3 + 1 / 6)
    assert task_windows(desk.database, ing_task.c.operation_code == "HARVEST") == hourly(0, 3)


@pytest.mark.parametrize(("newest_first", "first"), [(False, hourly(0, 4)), (True, hourly(6, 10))])
def test_a_first_backfill_without_any_room_still_anchors(
    desk: Desk, newest_first: bool, first: list[tuple[float, float]]
) -> None:
    desk.plan(20, 21)
    desk.begin()
    how: dict[str, Any] = {"operation": BACKFILL, "campaign": "early", "newest_first": newest_first}
    desk.plan(11, 12, operation=UPDATE, endpoint="list")
    full = open_desk(desk.database, limit_in_all=1)
    assert full.plan(0, 10, **how).plan.slices == 0
    cursor = desk.cursor(desk.namespace(**how))
    assert cursor is not None
    assert cursor.anchor == (at(10) if newest_first else at(0))
    assert (cursor.bound_from, cursor.bound_to) == (at(0), at(10))
    desk.plan(max_queued=4, **how)
    assert task_windows(desk.database, ing_task.c.operation_code == "BACKFILL") == first


def test_the_stock_in_all_holds_for_every_partition_together(database: Database) -> None:
    desk = set_up(database, limit_in_all=5)
    assert desk.plan(-3, 0, operation=BACKFILL, campaign="early").plan.status == PlanStatus.READY
    report = desk.plan(0, 4)
    assert (report.plan.slices, report.plan.status) == (2, PlanStatus.PARTIAL)
    assert report.json()["stock"]["limit_in_all"] == 5
    assert desk.plan(5, 6, operation=UPDATE, endpoint="list").plan.slices == 0
    assert desk.plan(operation=UPDATE, ids=("a",)).plan.slices == 0


@pytest.mark.parametrize(("own", "in_all", "planned"), [(3, 5, 3), (5, 3, 3), (0, 2, 2), (2, 0, 2), (0, 0, 8)])
def test_the_tighter_limit_holds(database: Database, own: int, in_all: int, planned: int) -> None:
    desk = set_up(database, limit_in_all=in_all)
    assert desk.plan(0, 8, max_queued=own).plan.slices == planned


@pytest.mark.parametrize("newest_first", [False, True])
def test_the_rest_of_a_campaign_is_planned_in_its_direction(desk: Desk, newest_first: bool) -> None:
    how: dict[str, Any] = {"operation": BACKFILL, "campaign": "early", "newest_first": newest_first, "max_queued": 4}
    order = hourly(0, 10)[::-1] if newest_first else hourly(0, 10)
    desk.plan(0, 10, **how)
    assert task_windows(desk.database) == sorted(order[:4])
    desk.plan(**how)
    assert task_windows(desk.database) == sorted(order[:4])
    desk.work()
    desk.plan(0, 10, **how)
    assert task_windows(desk.database) == sorted(order[:8])
    desk.work()
    desk.plan(**how)
    assert task_windows(desk.database) == hourly(0, 10)
    desk.work()
    assert desk.plan(**how).plan.slices == 0
    assert statuses(desk)[:4] == ["PARTIAL", "PARTIAL", "PARTIAL", "SUCCEEDED"]


def test_the_rest_of_a_refresh_by_time_is_planned_later(desk: Desk) -> None:
    how: dict[str, Any] = {"operation": UPDATE, "endpoint": "list", "max_queued": 4}
    desk.plan(0, 10, **how)
    for done in (8, 10):
        desk.work()
        desk.plan(0, 10, **how)
        assert task_windows(desk.database) == hourly(0, done)


@pytest.mark.parametrize("operation", [HARVEST, BACKFILL])
def test_a_plan_that_was_short_stays_partial_when_its_tasks_succeed(desk: Desk, operation: str) -> None:
    desk.plan(0, 4, operation=operation, max_queued=2)
    first, second = desk.begin_all()
    for run in (first, second):
        assert statuses(desk) == ["PARTIAL"]
        desk.end(run)
    assert statuses(desk) == ["PARTIAL"]
    assert {row["status_code"] for row in rows(desk.database, ing_task)} == {"SUCCEEDED"}


def test_a_plan_that_was_short_and_failed_is_failed(desk: Desk) -> None:
    desk.plan(0, 4, max_queued=2)
    for run in desk.begin_all():
        desk.end(run, TaskStatus.FAILED)
    assert statuses(desk) == ["FAILED"]


def test_the_same_trigger_again_does_not_plan_the_rest(desk: Desk) -> None:
    """A retried trigger is the same trigger: the rest is a later one's."""
    desk.plan(0, 4, max_queued=2, key="tick")
    desk.work()
    before = contents(desk.database)
    assert desk.plan(0, 4, max_queued=2, key="tick").created is False
    assert contents(desk.database) == before


def test_a_dry_run_shows_what_there_is_room_for(desk: Desk) -> None:
    report = desk.planner.dry_run(request(0, 10, max_queued=4))
    assert (report.plan.slices, report.json()["stock"]["limit"]) == (4, 4)
    assert rows(desk.database, ing_cursor) == []


def test_many_slices_find_room_for_just_so_many(desk: Desk) -> None:
    """More than are written at once, and the limit is not a multiple of it."""
    desk.plan(0, 2000, max_queued=1203)
    assert task_windows(desk.database) == hourly(0, 1203)
    desk.plan(0, 2000, max_queued=1300)
    assert task_windows(desk.database) == hourly(0, 1300)
