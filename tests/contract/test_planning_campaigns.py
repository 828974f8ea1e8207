"""Campaigns: each goes on where it stopped, in its own direction, and leaves the harvest alone."""

from itertools import permutations
from typing import Any

import pytest

from ingest_core.model.codes import TaskStatus
from ingest_core.model.cursor import CursorState
from ingest_core.model.errors import BadInput, ExitCode
from ingest_core.model.namespace import Namespace
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import ing_cursor, ing_cursor_event, ing_schedule_instance, ing_task
from tests.support.books import at
from tests.support.planning_store import (
    BACKFILL,
    UPDATE,
    Desk,
    assert_owned_once,
    holes,
    hours,
    set_up,
    task_windows,
)
from tests.support.tables import change, column, contents, rows

BACKFILLS = ing_task.c.operation_code == "BACKFILL"


@pytest.fixture
def desk(database: Database) -> Desk:
    """A desk with the source in the Registry."""
    return set_up(database)


def fill(desk: Desk, start: float | None = None, end: float | None = None, **how: Any) -> Any:
    """Plan a backfill, of the campaign `early` if no other is named."""
    return desk.plan(start, end, **{"operation": BACKFILL, "campaign": "early", **how})


def cursor_of(desk: Desk, campaign: str = "early", **how: Any) -> CursorState:
    cursor = desk.cursor(desk.namespace(campaign, operation=BACKFILL, **how))
    assert cursor is not None
    return cursor


def harvest_cursor(desk: Desk) -> dict[str, Any]:
    (row,) = rows(desk.database, ing_cursor, ing_cursor.c.operation_code == "HARVEST")
    return row


def test_an_oldest_first_campaign_is_anchored_at_its_lower_end(desk: Desk) -> None:
    fill(desk, 0, 5)
    assert cursor_of(desk) == CursorState(value=at(0), anchor=at(0), bound_from=at(0), bound_to=at(5))
    (row,) = rows(desk.database, ing_cursor)
    assert (row["direction_code"], row["namespace_scope_code"], row["is_descending"]) == ("BACKFILL", "CUSTOM", 0)
    (anchor,) = rows(desk.database, ing_cursor_event)
    assert (anchor["event_type"], anchor["new_instant"]) == ("ANCHOR", at(0))
    assert (anchor["window_from"], anchor["window_to"]) == (at(0), at(5))


def test_a_newest_first_campaign_is_anchored_at_its_upper_end(desk: Desk) -> None:
    fill(desk, 0, 5, newest_first=True)
    expected = CursorState(value=at(5), anchor=at(5), bound_from=at(0), bound_to=at(5))
    assert cursor_of(desk, newest_first=True) == expected
    assert column(desk.database, ing_cursor, "is_descending") == [1]
    assert column(desk.database, ing_cursor_event, "new_instant") == [at(5)]


def test_the_newest_first_campaign_hands_out_its_newest_tasks_first(desk: Desk) -> None:
    fill(desk, 0, 4, newest_first=True)
    assert [run.task.window for run in desk.begin_all()] == [hours(hour, hour + 1) for hour in (3, 2, 1, 0)]


def test_the_two_directions_of_a_campaign_are_two_namespaces(desk: Desk) -> None:
    fill(desk, 0, 2)
    assert fill(desk, 0, 2, newest_first=True).plan.slices == 2
    assert len(rows(desk.database, ing_cursor)) == 2


@pytest.mark.parametrize("newest_first", [False, True])
def test_a_later_plan_of_a_campaign_goes_on_where_the_last_stopped(desk: Desk, newest_first: bool) -> None:
    """What failed is planned again, what was read is not, whatever was read beyond the hole."""
    fill(desk, 0, 4, newest_first=newest_first)
    for number, run in enumerate(desk.begin_all()):
        desk.end(run, TaskStatus.FAILED if number == 1 else TaskStatus.SUCCEEDED)
    assert cursor_of(desk, newest_first=newest_first).value == at(3 if newest_first else 1)
    assert fill(desk, newest_first=newest_first).plan.slices == 1
    assert desk.begin().task.window == (hours(2, 3) if newest_first else hours(1, 2))


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_frontier_runs_down_whatever_the_order_of_the_ends(desk: Desk, order: tuple[int, ...]) -> None:
    """It stands at the start of what was read without a hole from the upper end."""
    fill(desk, 0, 3, newest_first=True)
    runs = desk.begin_all()
    done: set[int] = set()
    for number in order:
        desk.end(runs[number])
        done.add(number)
        reached = next((hour for hour in range(3) if hour not in done), 3)
        assert cursor_of(desk, newest_first=True).value == at(3 - reached)


def test_the_frontier_of_a_newest_first_campaign_is_where_its_event_says(desk: Desk) -> None:
    fill(desk, 0, 3, newest_first=True)
    first, second, _third = desk.begin_all()
    desk.end(second)
    desk.end(first)
    (row,) = rows(desk.database, ing_cursor)
    assert (row["normalized_instant"], row["cursor_value"]) == (at(1), "2020-01-01T01:00:00.000000Z")
    assert (row["version"], row["task_id"]) == (1, second.task.lineage.task_id)
    desk.cursors.repair()
    assert rows(desk.database, ing_cursor) == [row]


def test_a_campaign_that_is_done_plans_nothing_more(desk: Desk) -> None:
    for newest_first in (False, True):
        fill(desk, 0, 3, newest_first=newest_first)
        desk.work()
        report = fill(desk, 0, 3, newest_first=newest_first)
        assert (report.plan.slices, report.plan.status) == (0, "SUCCEEDED")
        assert "nothing to fill" in report.json()["reason"]


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize(("start", "end"), [(-1, 3), (0, 6), (-1, 6), (None, 6), (-1, None)])
def test_a_request_outside_the_campaign_is_refused(
    desk: Desk, start: float | None, end: float | None, newest_first: bool
) -> None:
    """It would otherwise be reported as done."""
    fill(desk, 0, 5, newest_first=newest_first)
    desk.work()
    before = contents(desk.database)
    with pytest.raises(BadInput, match="early") as refused:
        fill(desk, start, end, newest_first=newest_first)
    assert (refused.value.code, refused.value.exit_code) == ("OUTSIDE_CAMPAIGN", ExitCode.BAD_INPUT)
    after = contents(desk.database)
    assert [name for name in before if before[name] != after[name]] == ["ing_schedule_instance"]


def test_a_request_within_the_campaign_plans_that_part_alone(desk: Desk) -> None:
    desk.plan(20, 21)
    fill(desk, 0, 10, max_queued=2)
    desk.work()
    fill(desk, 5, 7)
    assert task_windows(desk.database, BACKFILLS) == [(0, 1), (1, 2), (5, 6), (6, 7)]
    fill(desk)
    assert holes(desk.database, desk.namespace("early", operation=BACKFILL), hours(0, 10)) == []
    assert_owned_once(desk.database)


def test_a_campaign_without_a_name_is_called_by_what_was_asked_for(desk: Desk) -> None:
    report = fill(desk, 0, 24, campaign=None, max_queued=5)
    assert report.json()["campaign"] == "shelf-list-2020-01-01-2020-01-02"
    desk.work()
    assert fill(desk, 0, 24, campaign="shelf-list-2020-01-01-2020-01-02").plan.slices == 19
    assert fill(desk, 0, 24, campaign=None).plan.slices == 0
    assert fill(desk, 0, 12, campaign=None).plan.slices == 12  # another period is another campaign


def test_campaigns_do_not_see_each_other(desk: Desk) -> None:
    fill(desk, 0, 3, campaign="one")
    desk.work()
    assert fill(desk, 0, 3, campaign="two").plan.slices == 3


@pytest.mark.parametrize("newest_first", [False, True])
def test_a_backfill_stops_at_the_watermark_of_the_harvest(desk: Desk, newest_first: bool) -> None:
    desk.plan(5, 7)
    report = fill(desk, 0, 9, newest_first=newest_first)
    assert (report.plan.start, report.plan.end) == (at(0), at(5))
    assert task_windows(desk.database, BACKFILLS) == [(hour, hour + 1) for hour in range(5)]
    steps = {step["step"]: step["value"] for step in report.plan.remarks["audit"]}
    assert steps["forward"] == "2020-01-01T05:00:00.000000Z"


def test_an_oldest_first_campaign_follows_the_harvest_up_to_its_own_end(desk: Desk) -> None:
    desk.plan(5, 12)
    fill(desk, 0, 9)
    for _ in range(7):
        desk.end(desk.begin())  # the harvest's, which are more urgent
    assert harvest_cursor(desk)["normalized_instant"] == at(12)
    desk.work()
    fill(desk)
    assert task_windows(desk.database, BACKFILLS) == [(hour, hour + 1) for hour in range(9)]


@pytest.mark.parametrize("newest_first", [False, True])
def test_a_campaign_without_an_end_leaves_to_the_harvest_what_is_the_harvests(desk: Desk, newest_first: bool) -> None:
    """Its end is where the harvest began, and stays there however far the harvest goes on."""
    desk.plan(5, 9)
    desk.work()
    assert fill(desk, 0, newest_first=newest_first).plan.end == at(5)
    assert cursor_of(desk, newest_first=newest_first).bound_to == at(5)
    desk.work()
    assert fill(desk, 0, newest_first=newest_first).plan.slices == 0
    assert task_windows(desk.database, BACKFILLS) == [(hour, hour + 1) for hour in range(5)]


def test_a_campaign_without_an_end_and_without_a_harvest_ends_where_its_first_plan_did(desk: Desk) -> None:
    first = fill(desk, 0, now=3)
    desk.work()
    again = fill(desk, 0, now=6)
    assert cursor_of(desk).bound_to == first.plan.end
    assert (again.plan.slices, again.plan.end) == (0, first.plan.end)


def test_a_campaign_that_an_earlier_version_left_open_stays_open(desk: Desk) -> None:
    desk.plan(5, 9)
    desk.work()
    fill(desk, 0)
    desk.work()
    change(desk.database, ing_cursor, ing_cursor.c.operation_code == "BACKFILL", bound_to=None)
    assert fill(desk, 0).plan.end == at(9)


def test_a_backfill_never_touches_the_cursor_of_the_harvest(desk: Desk) -> None:
    desk.plan(5, 7)
    before = harvest_cursor(desk)
    namespace: Namespace = desk.namespace()
    for newest_first in (False, True):
        fill(desk, 0, 9, newest_first=newest_first)
    runs = [run for run in desk.begin_all() if run.task.namespace != namespace]
    for run in runs:
        desk.end(run)
        desk.cursors.advance(namespace)
    assert len(runs) == 10
    assert harvest_cursor(desk) == before


def test_a_backfill_of_what_is_above_the_watermark_is_empty_and_says_so(desk: Desk) -> None:
    desk.plan(5, 7)
    report = fill(desk, 6, 7)
    assert (report.plan.slices, report.plan.status) == (0, "SUCCEEDED")
    assert "nothing to fill yet" in report.json()["reason"]
    assert column(desk.database, ing_cursor, "operation_code") == ["HARVEST"]  # nothing was begun


def test_a_refresh_by_time_goes_on_where_it_stopped_and_has_its_own_cursor(desk: Desk) -> None:
    desk.plan(0, 2)
    how = {"operation": UPDATE, "endpoint": "list"}
    desk.plan(0, 3, **how)
    desk.work()
    desk.plan(0, 5, **how)
    assert task_windows(desk.database, ing_task.c.operation_code == "UPDATE") == [(hour, hour + 1) for hour in range(5)]
    found = {row["operation_code"]: row for row in rows(desk.database, ing_cursor)}
    assert found["UPDATE"]["cursor_key"] == "refresh_checked_at"
    assert (found["UPDATE"]["normalized_instant"], found["HARVEST"]["normalized_instant"]) == (at(3), at(2))


def test_the_trigger_of_a_request_outside_the_campaign_says_so(desk: Desk) -> None:
    fill(desk, 0, 5)
    with pytest.raises(BadInput):
        fill(desk, 0, 6)
    assert rows(desk.database, ing_schedule_instance)[-1]["record_remarks"]["error"]["code"] == "OUTSIDE_CAMPAIGN"
