"""Re-slicing: what turned out too big is cut again, once, and children and parent own the same."""

from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from ingest_core.execution.ports import Run
from ingest_core.model.codes import ControlState, TaskStatus
from ingest_core.model.id_range import IdRange, Without, range_of, unset_part
from ingest_core.model.slice_codes import ResliceReason
from ingest_core.model.window import Window
from ingest_core.planning.estimate import WindowPart
from ingest_core.planning.reslice import ResliceReport
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import (
    ing_cursor,
    ing_partition_control,
    ing_plan,
    ing_plan_slice,
    ing_reslice_request,
    ing_task,
)
from tests.support.books import at
from tests.support.breaking import crash_at_every_step, together, while_uncommitted
from tests.support.planning_store import (
    BACKFILL,
    BACKFILLING,
    HARVESTING,
    Desk,
    assert_owned_once,
    holes,
    hours,
    open_desk,
    set_up,
)
from tests.support.tables import change, column, contents, rows

CAP = ResliceReason.RECORD_CAP
SPLIT = {"split_field": "number", "split_max": 1000}


@pytest.fixture
def desk(database: Database) -> Desk:
    """A desk with the source in the Registry."""
    return set_up(database)


@pytest.fixture
def neighbour(desk: Desk, other: Database) -> Desk:
    """Another process on the same database."""
    return open_desk(other)


def too_big(desk: Desk, start: float = 0, end: float = 1, **how: Any) -> Run:
    """A plan whose first slice turns out too big."""
    desk.plan(start, end, **how)
    run = desk.begin()
    desk.end(run, TaskStatus.PARTIAL, reslice=CAP)
    return run


def places(desk: Desk) -> list[WindowPart]:
    """What each task owns, in the order in which they were written."""
    return [
        (Window(row["window_from"], row["window_to"]), range_of(row["params"].get("range")))
        for row in rows(desk.database, ing_task)
    ]


def statuses(desk: Desk) -> list[str]:
    return column(desk.database, ing_plan, "status_code")


def requests(desk: Desk) -> list[str]:
    return column(desk.database, ing_reslice_request, "status_code")


def watermark(desk: Desk) -> Any:
    return column(desk.database, ing_cursor, "normalized_instant")[0]


def test_a_slice_that_turns_out_too_big_leaves_one_request_for_all_of_it(desk: Desk) -> None:
    run = too_big(desk, 0, 2)
    (asked,) = rows(desk.database, ing_reslice_request)
    lineage = run.task.lineage
    assert (asked["plan_id"], asked["slice_id"], asked["task_id"]) == (
        lineage.plan_id,
        lineage.slice_id,
        lineage.task_id,
    )
    assert (asked["remaining_from"], asked["remaining_to"], asked["range"]) == (at(0), at(1), None)
    assert (asked["reason_code"], asked["status_code"], asked["run_id"]) == ("RECORD_CAP", "OPEN", run.run_id)
    assert column(desk.database, ing_task, "status_code") == ["PARTIAL", "QUEUED"]
    assert watermark(desk) == at(0)


def test_a_request_commits_with_the_end_of_its_task(desk: Desk) -> None:
    """A crash leaves both or neither."""
    desk.plan(0, 1)
    run = desk.begin()

    def neither() -> None:
        assert (requests(desk), column(desk.database, ing_task, "status_code")) == ([], ["EXECUTING"])

    crash_at_every_step(desk.database, lambda: desk.end(run, TaskStatus.PARTIAL, reslice=CAP), neither)
    assert (requests(desk), column(desk.database, ing_task, "status_code")) == (["OPEN"], ["PARTIAL"])


def test_children_are_as_urgent_as_their_parent(desk: Desk) -> None:
    too_big(desk, priority=2)
    desk.reslicer.serve()
    assert column(desk.database, ing_task, "priority") == [2, 2, 2]


def test_a_task_that_ends_partial_for_other_reasons_asks_for_nothing(desk: Desk) -> None:
    desk.plan(0, 1)
    desk.end(desk.begin(), TaskStatus.PARTIAL)
    assert requests(desk) == []
    assert statuses(desk) == ["PARTIAL"]


def test_children_of_the_same_plan_tile_their_parent_and_their_numbers_go_on(desk: Desk) -> None:
    run = too_big(desk, 0, 3)
    report = desk.reslicer.serve()
    assert (report.served, report.children, report.refused) == (1, 2, [])
    assert places(desk)[3:] == [(hours(0, 0.5), None), (hours(0.5, 1), None)]
    tasks, slices = rows(desk.database, ing_task)[3:], rows(desk.database, ing_plan_slice)
    assert [row["slice_no"] for row in slices] == [1, 2, 3, 4, 5]
    assert [row["slice_id"] for row in tasks] == [row["id"] for row in slices[3:]]
    assert {row["plan_id"] for row in (*tasks, *slices)} == {run.task.lineage.plan_id}
    assert {row["schedule_instance_id"] for row in tasks} == {run.task.lineage.schedule_instance_id}
    assert {row["status_code"] for row in tasks} == {"QUEUED"}
    assert {row["namespace_key"] for row in tasks} == {run.task.namespace.key}
    assert slices[0]["record_remarks"] == {"children": {"from": 4, "to": 5}}
    assert requests(desk) == ["SERVED"]
    assert_owned_once(desk.database)


def test_a_long_slice_is_cut_at_its_steps(database: Database) -> None:
    """A slice of a quiet time that was not."""
    desk = set_up(database, window={"step": "PT6H"})
    desk.plan(0, 6)
    change(database, ing_plan, provenance_config_snapshot=desk.spec(overrides={"window.step": "PT1H"}).json_value())
    desk.end(desk.begin(), TaskStatus.PARTIAL, reslice=CAP)
    desk.reslicer.serve()
    assert places(desk)[1:] == [(hours(hour, hour + 1), None) for hour in range(6)]


def test_serving_again_makes_nothing(desk: Desk) -> None:
    too_big(desk)
    desk.reslicer.serve()
    before = contents(desk.database)
    assert desk.reslicer.serve() == ResliceReport()
    assert contents(desk.database) == before


def test_two_that_serve_at_once_make_the_children_once(desk: Desk, neighbour: Desk) -> None:
    too_big(desk)
    first, second = while_uncommitted(desk.database, desk.reslicer.serve, neighbour.reslicer.serve)
    assert (first.children, second.children) == (2, 0)
    assert places(desk)[1:] == [(hours(0, 0.5), None), (hours(0.5, 1), None)]


def test_many_that_serve_many_at_once_make_each_child_once(desk: Desk, neighbour: Desk) -> None:
    desk.plan(0, 4)
    for run in desk.begin_all():
        desk.end(run, TaskStatus.PARTIAL, reslice=CAP)
    reports = together(*(one.reslicer.serve for one in (desk, neighbour) * 2))
    assert sum(report.served for report in reports) == 4
    assert sorted(places(desk)[4:]) == [(hours(half / 2, half / 2 + 0.5), None) for half in range(8)]
    assert sorted(column(desk.database, ing_plan_slice, "slice_no")) == list(range(1, 13))
    assert requests(desk) == ["SERVED"] * 4


def test_a_crash_while_serving_leaves_the_request_open_and_no_child(desk: Desk) -> None:
    too_big(desk)
    before = contents(desk.database)

    def nothing_happened() -> None:
        assert contents(desk.database) == before

    assert crash_at_every_step(desk.database, desk.reslicer.serve, nothing_happened).children == 2


def test_the_plan_goes_on_while_children_live_and_ends_with_them(desk: Desk) -> None:
    too_big(desk)
    assert statuses(desk) == ["READY"]
    desk.reslicer.serve()
    assert statuses(desk) == ["READY"]
    first, second = desk.begin_all()
    desk.end(second)
    assert (statuses(desk), watermark(desk)) == (["READY"], at(0))
    desk.end(first)
    assert (statuses(desk), watermark(desk)) == (["SUCCEEDED"], at(1))


def test_a_plan_waits_for_an_open_request_though_all_its_tasks_ended(desk: Desk) -> None:
    too_big(desk, 0, 2)
    desk.end(desk.begin())
    assert statuses(desk) == ["READY"]


def test_a_plan_whose_child_failed_is_partial(desk: Desk) -> None:
    too_big(desk)
    desk.reslicer.serve()
    first, second = desk.begin_all()
    desk.end(first)
    desk.end(second, TaskStatus.FAILED)
    assert (statuses(desk), watermark(desk)) == (["PARTIAL"], at(0.5))


def test_what_a_child_left_is_planned_by_the_next_trigger_and_nothing_else(desk: Desk) -> None:
    too_big(desk)
    desk.reslicer.serve()
    first, second = desk.begin_all()
    desk.end(first)
    desk.end(second, TaskStatus.FAILED)
    desk.plan(0, 1)
    assert places(desk)[3:] == [(hours(0.5, 1), None)]


def test_a_child_may_be_cut_again_down_to_the_providers_unit(desk: Desk) -> None:
    """An hour of sixty minutes: halved until nothing can be halved, and all of it is owned at every moment."""
    too_big(desk)
    refused: list[str] = []
    for _ in range(8):
        refused += desk.reslicer.serve().refused
        for run in desk.begin_all():
            first = run.task.window.start == at(0)
            ending: dict[str, Any] = {"status": TaskStatus.PARTIAL, "reslice": CAP} if first else {}
            desk.end(run, **ending)
        assert_owned_once(desk.database)
        if not refused:
            assert holes(desk.database, desk.namespace(), hours(0, 1)) == []
    assert len(refused) == 1
    assert "cannot be cut any smaller" in refused[0]
    starts = sorted({window.end for window, _ in places(desk) if window.start == at(0)})
    assert starts[0] == at(1 / 60)
    assert (statuses(desk), watermark(desk)) == (["PARTIAL"], at(0))


def test_a_slice_that_cannot_be_cut_is_refused_and_its_plan_says_so(database: Database) -> None:
    desk = set_up(database, window={"unit": "HOUR", "format": "%Y-%m-%dT%H"})
    too_big(desk)
    report = desk.reslicer.serve()
    assert (report.served, report.children, len(report.refused)) == (0, 0, 1)
    assert (requests(desk), statuses(desk)) == (["REFUSED"], ["PARTIAL"])
    (cut,) = rows(desk.database, ing_plan_slice)
    assert "cannot be cut any smaller" in cut["record_remarks"]["reslice_refused"]
    assert cut["status_code"] == "PARTIAL"
    assert desk.reslicer.serve() == ResliceReport()
    assert watermark(desk) == at(0)


def test_a_refused_slice_is_planned_again_by_the_next_trigger(database: Database) -> None:
    """No gap: what cannot be read whole is tried again, and the watermark waits."""
    desk = set_up(database, window={"unit": "HOUR", "format": "%Y-%m-%dT%H"})
    too_big(desk)
    desk.reslicer.serve()
    assert desk.plan(0, 2).plan.slices == 2


def test_a_plan_with_a_refused_slice_ends_partial_when_the_others_succeed(database: Database) -> None:
    desk = set_up(database, window={"unit": "HOUR", "format": "%Y-%m-%dT%H"})
    too_big(desk, 0, 2)
    desk.reslicer.serve()
    assert statuses(desk) == ["READY"]
    desk.work()
    assert statuses(desk) == ["PARTIAL"]


def test_a_unit_of_time_is_split_by_a_second_field_where_there_is_one(database: Database) -> None:
    desk = set_up(database, window={"unit": "HOUR", "format": "%Y-%m-%dT%H"}, slicing=SPLIT)
    too_big(desk)
    assert desk.reslicer.serve().children == 3
    assert places(desk)[1:] == [
        (hours(0, 1), IdRange("number", None, 500, Without.EXCLUDED)),
        (hours(0, 1), IdRange("number", 501, None)),
        (hours(0, 1), unset_part("number")),
    ]
    first, second, unset = desk.begin_all()
    desk.end(first)
    desk.end(unset)
    desk.end(second, TaskStatus.PARTIAL, reslice=CAP)
    (asked,) = rows(desk.database, ing_reslice_request, ing_reslice_request.c.status_code == "OPEN")
    assert range_of(asked["range"]) == IdRange("number", 501, None)
    desk.reslicer.serve()
    parts = sorted((part for _, part in places(desk)[4:] if part), key=lambda part: part.start or 0)
    assert (parts[0].start, parts[-1].end) == (501, None)
    assert all(one.end is not None and one.end + 1 == other.start for one, other in pairwise(parts))
    assert watermark(desk) == at(0)
    desk.work()
    assert (statuses(desk), watermark(desk)) == (["SUCCEEDED"], at(1))


def test_records_without_the_field_that_are_too_many_for_a_query_are_not_covered(
    database: Database,
) -> None:
    desk = set_up(database, window={"unit": "HOUR", "format": "%Y-%m-%dT%H"}, slicing=SPLIT)
    too_big(desk)
    desk.reslicer.serve()
    for run in desk.begin_all():
        part = run.task.range
        ending: dict[str, Any] = {"status": TaskStatus.PARTIAL, "reslice": CAP} if part and part.is_unset else {}
        desk.end(run, **ending)
    (asked,) = rows(desk.database, ing_reslice_request, ing_reslice_request.c.status_code == "OPEN")
    assert range_of(asked["range"]) == unset_part("number")
    (refused,) = desk.reslicer.serve().refused
    assert "without number cannot be cut any smaller" in refused
    assert (statuses(desk), watermark(desk)) == (["PARTIAL"], at(0))
    assert places(desk)[4:] == []


def test_a_range_from_before_the_upgrade_leaves_records_without_the_field_to_a_part(database: Database) -> None:
    """It answered for them, and was never asked for them: its children do both."""
    desk = set_up(database, window={"unit": "HOUR", "format": "%Y-%m-%dT%H"}, slicing=SPLIT)
    too_big(desk)
    desk.reslicer.serve()
    first, second, unset = desk.begin_all()
    old = {"range": IdRange("number", None, 500).json()}
    change(database, ing_task, ing_task.c.id == first.task.lease.task_id, params={**first.task.params, **old})
    mine = ing_plan_slice.c.id == unset.task.lineage.slice_id
    change(database, ing_plan_slice, mine, slice_signature_hash="0" * 64)  # of a plan that had no such slice
    desk.end(second)
    desk.end(unset, TaskStatus.CANCELLED)
    run = replace(first, task=replace(first.task, range=IdRange("number", None, 500)))
    desk.end(run, TaskStatus.PARTIAL, reslice=CAP)
    desk.reslicer.serve()
    assert places(desk)[4:] == [
        (hours(0, 1), IdRange("number", None, 250, Without.EXCLUDED)),
        (hours(0, 1), IdRange("number", 251, 500)),
        (hours(0, 1), unset_part("number")),
    ]
    desk.work()
    assert watermark(desk) == at(1)


def test_a_newest_first_campaign_passes_what_was_cut_again(desk: Desk) -> None:
    how: dict[str, Any] = {"operation": BACKFILL, "campaign": "early", "newest_first": True}
    too_big(desk, 0, 2, **how)
    assert desk.plan(**how).plan.slices == 0
    desk.reslicer.serve()
    desk.work()
    assert (statuses(desk)[0], watermark(desk)) == ("SUCCEEDED", at(0))


def test_a_partition_is_served_alone_if_asked_for(desk: Desk) -> None:
    too_big(desk, -2, -1, operation=BACKFILL, campaign="early")
    too_big(desk)
    waiting = {one: desk.plans.open_reslices(one, 10) for one in (HARVESTING, BACKFILLING, None)}
    assert [len(found) for found in waiting.values()] == [1, 1, 2]
    assert desk.plans.open_reslices(None, 1) == waiting[BACKFILLING]  # the oldest
    assert desk.reslicer.serve(HARVESTING).served == 1
    assert requests(desk) == ["OPEN", "SERVED"]


@pytest.mark.parametrize("state", [ControlState.PAUSED, ControlState.FUSED])
def test_a_partition_that_rests_is_not_cut_again_until_it_works(desk: Desk, state: ControlState) -> None:
    too_big(desk)
    change(desk.database, ing_partition_control, control_code=state.value)
    before = contents(desk.database)
    assert desk.reslicer.serve() == ResliceReport()
    assert contents(desk.database) == before
    change(desk.database, ing_partition_control, control_code=ControlState.ACTIVE.value)
    assert desk.reslicer.serve().served == 1


def test_a_planner_and_a_server_at_once_own_nothing_twice(desk: Desk, neighbour: Desk) -> None:
    too_big(desk, 0, 2)
    report, again = while_uncommitted(desk.database, desk.reslicer.serve, partial(neighbour.plan, 0, 3))
    assert (report.children, again.plan.slices) == (2, 1)
    assert_owned_once(desk.database)
