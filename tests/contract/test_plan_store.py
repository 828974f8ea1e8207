"""Triggers and plans: once each, whole or not at all."""

from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from ingest_core.model.codes import SchedulerCode, TaskStatus
from ingest_core.model.cursor import CursorState
from ingest_core.model.errors import BadInput, ExitCode
from ingest_core.planning.ports import PlanTransaction
from ingest_core.planning.proposal import NOTHING_NEEDED
from ingest_core.planning.report import PlanReport
from ingest_core.planning.request import Trigger
from ingest_core.store.schema.tables import (
    ing_cursor,
    ing_cursor_event,
    ing_partition_control,
    ing_plan,
    ing_plan_slice,
    ing_schedule_instance,
    ing_task,
)
from tests.support.books import NAMESPACE, PARTITION, SPEC, as_compiled, at
from tests.support.breaking import crash_at_every_step, together, while_uncommitted
from tests.support.tables import change, column, contents, rows
from tests.support.wiring import Stores
from tests.support.working import begin, claim, derivation, finish, plan_harvest, request, trigger


def windows(stores: Stores) -> list[tuple[float, float]]:
    """The tasks' windows in hours, in order."""
    hour = timedelta(hours=1)
    return sorted(
        ((row["window_from"] - at(0)) / hour, (row["window_to"] - at(0)) / hour)
        for row in rows(stores.database, ing_task)
    )


def test_a_plan_is_stored_with_slices_tasks_and_anchor(stores: Stores) -> None:
    report = plan_harvest(stores, at(0), at(3), key="first")
    (plan,) = rows(stores.database, ing_plan)
    (fired,) = rows(stores.database, ing_schedule_instance)
    (cursor,) = rows(stores.database, ing_cursor)
    (anchor,) = rows(stores.database, ing_cursor_event)
    slices, tasks = rows(stores.database, ing_plan_slice), rows(stores.database, ing_task)
    assert (report.plan.plan_id, report.plan.slices, report.plan.tasks, report.created) == (plan["id"], 3, 3, True)
    assert (plan["status_code"], plan["window_from"], plan["window_to"]) == ("READY", at(0), at(3))
    assert plan["schedule_instance_id"] == fired["id"]
    assert windows(stores) == [(0, 1), (1, 2), (2, 3)]
    assert [row["slice_no"] for row in slices] == [1, 2, 3]
    assert {row["status_code"] for row in slices} == {"READY"}
    assert [row["slice_id"] for row in tasks] == [row["id"] for row in slices]
    assert {(row["plan_id"], row["schedule_instance_id"]) for row in tasks} == {(plan["id"], fired["id"])}
    assert {(row["status_code"], row["fence_no"], row["lease_count"]) for row in tasks} == {("QUEUED", 0, 0)}
    assert (cursor["normalized_instant"], cursor["anchor_instant"]) == (at(0), at(0))
    assert (anchor["event_type"], anchor["new_instant"], anchor["plan_id"]) == ("ANCHOR", at(0), plan["id"])
    assert column(stores.database, ing_partition_control, "control_code") == ["ACTIVE"]
    for table in (ing_schedule_instance, ing_plan, ing_plan_slice, ing_task, ing_cursor, ing_cursor_event):
        for row in rows(stores.database, table):
            found = (row["provenance_code"], row["endpoint_name"], row["operation_code"])
            assert found == ("books", "list", "HARVEST"), table.name


def test_a_plan_of_many_slices_numbers_them_in_order(stores: Stores) -> None:
    assert plan_harvest(stores, at(0), at(603)).plan.tasks == 603
    assert column(stores.database, ing_plan_slice, "slice_no") == list(range(1, 604))
    assert column(stores.database, ing_task, "window_from") == [at(hour) for hour in range(603)]


def test_the_same_trigger_again_finds_its_plan_and_makes_nothing(stores: Stores) -> None:
    first = plan_harvest(stores, at(0), at(2), key="tick")
    before = contents(stores.database)
    again = plan_harvest(stores, at(0), at(2), key="tick")
    assert (again.created, again.plan) == (False, first.plan)
    assert (again.json()["tasks_created"], again.json()["tasks_existing"]) == (0, 2)
    assert contents(stores.database) == before


def test_the_same_trigger_from_two_at_once_makes_one_plan(stores: Stores, others: Stores) -> None:
    reports = together(
        *(partial(plan_harvest, worker, at(0), at(5), "tick") for worker in (stores, others, stores, others))
    )
    assert sorted(report.created for report in reports) == [False, False, False, True]
    assert len({report.plan.plan_id for report in reports}) == 1
    assert len(rows(stores.database, ing_schedule_instance)) == 1
    assert windows(stores) == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]


def test_a_trigger_written_twice_at_once_is_one_row(stores: Stores, others: Stores) -> None:
    wanted = request(at(0), at(1))
    first, second = while_uncommitted(
        stores.database,
        lambda: stores.plans.record_trigger(trigger("tick"), wanted, PARTITION),
        lambda: others.plans.record_trigger(trigger("tick"), wanted, PARTITION),
    )
    assert first == second
    assert len(rows(stores.database, ing_schedule_instance)) == 1


def test_a_plan_derived_twice_at_once_is_one_plan(stores: Stores, others: Stores) -> None:
    first, second = while_uncommitted(
        stores.database, derivation(stores, at(0), at(2), "tick"), derivation(others, at(0), at(2), "tick")
    )
    assert (first.created, second.created) == (True, False)
    assert first.plan == second.plan


def test_a_trigger_key_used_for_another_request_is_refused(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(1), key="tick")
    before = contents(stores.database)
    with pytest.raises(BadInput, match="tick") as refused:
        plan_harvest(stores, at(0), at(2), key="tick")
    assert (refused.value.code, refused.value.exit_code) == ("TRIGGER_REUSED", ExitCode.BAD_INPUT)
    assert contents(stores.database) == before


def test_trigger_keys_of_different_schedulers_are_different(registered: Stores) -> None:
    wanted = request(at(0), at(1))
    by_hand = registered.planner.plan(wanted, Trigger(SchedulerCode.CLI, "same"))
    by_prefect = registered.planner.plan(wanted, Trigger(SchedulerCode.PREFECT, "same"))
    assert by_hand.plan.plan_id != by_prefect.plan.plan_id


def test_what_live_tasks_will_read_is_not_planned_again(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(2))
    claim(stores)
    begin(stores)
    report = plan_harvest(stores, at(0), at(2))
    assert (report.plan.slices, report.plan.status) == (0, "SUCCEEDED")
    assert report.json()["reason"] == NOTHING_NEEDED
    assert plan_harvest(stores, at(0), at(4)).plan.slices == 2
    assert windows(stores) == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_what_failed_is_planned_again_and_what_was_read_is_not(stores: Stores) -> None:
    plan_harvest(stores, at(0), at(3))
    for status in (TaskStatus.SUCCEEDED, TaskStatus.FAILED, TaskStatus.SUCCEEDED):
        finish(stores, begin(stores), status)
    assert plan_harvest(stores, at(0), at(3)).plan.slices == 1
    assert windows(stores) == [(0, 1), (1, 2), (1, 2), (2, 3)]


def test_a_crash_while_planning_leaves_nothing_of_the_plan(stores: Stores) -> None:
    derive = derivation(stores, at(0), at(3))
    before = contents(stores.database)

    def nothing_remains() -> None:
        assert contents(stores.database) == before

    report = crash_at_every_step(stores.database, derive, nothing_remains)
    assert report.created
    assert windows(stores) == [(0, 1), (1, 2), (2, 3)]
    assert column(stores.database, ing_cursor_event, "event_type") == ["ANCHOR"]


def test_two_first_planners_at_once_make_one_anchor_and_each_window_once(stores: Stores, others: Stores) -> None:
    first, second = while_uncommitted(
        stores.database, derivation(stores, at(0), at(3)), derivation(others, at(0), at(4))
    )
    assert (first.plan.slices, second.plan.slices) == (3, 1)
    assert windows(stores) == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert column(stores.database, ing_cursor_event, "event_type") == ["ANCHOR"]
    assert column(stores.database, ing_cursor, "anchor_instant") == [at(0)]


def test_two_later_planners_at_once_make_each_window_once(stores: Stores, others: Stores) -> None:
    plan_harvest(stores, at(0), at(1))
    first, second = while_uncommitted(
        stores.database, derivation(stores, at(0), at(3)), derivation(others, at(0), at(4))
    )
    assert (first.plan.slices, second.plan.slices) == (2, 1)
    assert windows(stores) == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_many_planners_at_once_make_each_window_once(stores: Stores, others: Stores) -> None:
    together(*(partial(plan_harvest, worker, at(0), at(6)) for worker in (stores, others, stores, others)))
    assert windows(stores) == [(hour, hour + 1) for hour in range(6)]
    assert column(stores.database, ing_cursor_event, "event_type") == ["ANCHOR"]


def test_an_empty_window_is_a_plan_without_slices_and_sets_no_anchor(stores: Stores) -> None:
    now = stores.database.now()
    report = plan_harvest(stores, now - timedelta(minutes=1), None)
    assert (report.plan.slices, report.plan.status) == (0, "SUCCEEDED")
    assert "nothing to harvest yet" in report.json()["reason"]
    assert rows(stores.database, ing_cursor) == []


def test_a_harvest_below_the_anchor_is_refused_and_leaves_its_trigger_alone(stores: Stores) -> None:
    plan_harvest(stores, at(5), at(6))
    before = contents(stores.database)
    with pytest.raises(BadInput, match="BACKFILL") as refused:
        plan_harvest(stores, at(4), at(6), key="too early")
    assert (refused.value.code, refused.value.exit_code) == ("BELOW_ANCHOR", ExitCode.BAD_INPUT)
    fired = rows(stores.database, ing_schedule_instance)[-1]
    assert fired["scheduler_log_id"] == "too early"
    after = contents(stores.database)
    assert [name for name in before if before[name] != after[name]] == ["ing_schedule_instance"]


def test_looking_at_a_plan_writes_nothing(registered: Stores) -> None:
    plan_harvest(registered, at(0), at(1))
    before = contents(registered.database)
    assert registered.planner.dry_run(request(at(0), at(3))).plan.slices == 2
    assert contents(registered.database) == before


def test_looking_does_not_wait_for_a_planner(stores: Stores, others: Stores) -> None:
    plan_harvest(stores, at(0), at(1))

    def look() -> bool:
        wanted, compiled = request(at(0), at(2)), as_compiled(SPEC)
        resolved = others.planner.resolve(wanted, compiled)
        others.planner.estimate(wanted, compiled, resolved, others.database.now())
        return len(rows(others.database, ing_plan)) == 1  # the other plan is not there yet

    _, seen_before = while_uncommitted(stores.database, derivation(stores, at(0), at(2)), look, patience_seconds=10)
    assert seen_before


def test_the_namespace_stays_locked_until_the_plan_is_stored(stores: Stores, others: Stores) -> None:
    plan_harvest(stores, at(0), at(1))

    def plans_seen_under_the_lock(transaction: PlanTransaction) -> int:
        transaction.lock_cursor(NAMESPACE)
        return len(rows(others.database, ing_plan))

    _, seen = while_uncommitted(
        stores.database,
        derivation(stores, at(0), at(2)),
        lambda: others.plans.transact(plans_seen_under_the_lock),
    )
    assert seen == 2


def plan_without_bounds(stores: Stores, hour: int) -> PlanReport:
    """A harvest as a schedule fires it, when everything up to that hour is safe."""
    wanted, fired = request(None, None), trigger()
    instance_id = stores.plans.record_trigger(fired, wanted, PARTITION)
    return stores.planner.derive(wanted, fired, instance_id, as_compiled(SPEC), at(hour) + SPEC.time.lag)


def test_what_is_settled_is_remembered_up_to_the_first_hole(stores: Stores) -> None:
    """The next plan reads the events above the mark alone, and the hole is planned again."""
    plan_harvest(stores, at(0), at(3))
    for status in (TaskStatus.SUCCEEDED, TaskStatus.FAILED, TaskStatus.SUCCEEDED):
        finish(stores, begin(stores), status)
    stores.cursors.advance(NAMESPACE)
    assert plan_without_bounds(stores, 3).plan.slices == 1
    with stores.plans.look() as transaction:
        assert transaction.lock_cursor(NAMESPACE) == CursorState(value=at(1), anchor=at(0), settled=at(1))
    finish(stores, begin(stores))
    stores.cursors.advance(NAMESPACE)
    assert plan_without_bounds(stores, 4).plan.slices == 1
    assert column(stores.database, ing_cursor, "settled_instant") == [at(3)]


def test_a_query_before_this_one_is_found_unless_a_trigger_asked_it(stores: Stores) -> None:
    other = replace(NAMESPACE, key="0" * 64)
    with stores.plans.look() as transaction:
        assert transaction.predecessor(other) is None
    plan_harvest(stores, at(0), at(6), "standing")
    with stores.plans.look() as transaction:
        assert transaction.predecessor(other) == at(0)
        assert transaction.predecessor(NAMESPACE) is None
        assert transaction.predecessor(replace(other, cursor_key="another")) is None
    change(stores.database, ing_schedule_instance, trigger_params={"query": "type:book"})
    with stores.plans.look() as transaction:
        assert transaction.predecessor(other) is None
