"""Pauses, fuses and triggers: who may plan, and what is written when nobody may."""

from collections.abc import Callable
from functools import partial

import pytest

from ingest_core.model.codes import ControlState
from ingest_core.model.errors import BadInput, ExitCode, PatraError, Refused
from ingest_core.planning.estimate import SizesAsked
from ingest_core.planning.ports import Control, PlanTransaction
from ingest_core.planning.request import PlanRequest, Trigger
from ingest_core.planning.steps import PlanSteps
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import ing_partition_control, ing_plan, ing_schedule_instance, ing_task
from tests.support.breaking import together, while_uncommitted
from tests.support.planning_store import BACKFILL, HARVESTING, Desk, fired, open_desk, request, set_up, task_windows
from tests.support.tables import change, column, contents, rows

STOPPED = [ControlState.PAUSED, ControlState.FUSED]


@pytest.fixture
def desk(database: Database) -> Desk:
    """A desk with the source in the Registry."""
    return set_up(database)


@pytest.fixture
def neighbour(desk: Desk, other: Database) -> Desk:
    """Another process on the same database."""
    return open_desk(other)


def asked(key: str) -> tuple[PlanRequest, Trigger]:
    """A harvest of three hours, and who asks for it."""
    return request(0, 3), fired(key)


def lock_control(transaction: PlanTransaction) -> Control:
    return transaction.lock_control(HARVESTING)


def read_control(transaction: PlanTransaction) -> Control:
    return transaction.control(HARVESTING)


def stop(desk: Desk, state: ControlState, reason: str | None = "quota is used up") -> None:
    """Stop the partition, as an operator or a fuse does."""
    desk.plans.transact(lock_control)
    change(desk.database, ing_partition_control, control_code=state.value, reason=reason)


def test_a_partition_nobody_knows_is_active_and_its_control_is_made_once(desk: Desk) -> None:
    assert [desk.plans.transact(lock_control) for _ in range(2)] == [Control(), Control()]
    (row,) = rows(desk.database, ing_partition_control)
    found = (row["provenance_code"], row["endpoint_name"], row["operation_code"], row["control_code"])
    assert found == ("shelf", "list", "HARVEST", "ACTIVE")


def test_reading_a_control_makes_none(desk: Desk) -> None:
    with desk.plans.look() as transaction:
        assert read_control(transaction) == Control()
    assert desk.plans.transact(read_control) == Control()
    assert rows(desk.database, ing_partition_control) == []


def test_a_control_asked_for_by_many_at_once_is_one_row(desk: Desk, neighbour: Desk) -> None:
    asked = together(*(partial(one.plans.transact, lock_control) for one in (desk, neighbour) * 3))
    assert asked == [Control()] * 6
    assert len(rows(desk.database, ing_partition_control)) == 1


def test_a_control_says_why_a_partition_rests(desk: Desk) -> None:
    stop(desk, ControlState.FUSED, "12 of 15 pages failed")
    assert desk.plans.transact(lock_control) == Control(ControlState.FUSED, "12 of 15 pages failed")


def test_a_control_stays_locked_until_the_plan_is_stored(desk: Desk, neighbour: Desk) -> None:
    """Who asks for it meanwhile waits, and then sees the plan."""
    desk.plans.transact(lock_control)

    def plans_seen(transaction: PlanTransaction) -> int:
        lock_control(transaction)
        return len(rows(neighbour.database, ing_plan))

    wanted, trigger = asked("tick")
    instance_id, compiled = desk.plans.record_trigger(trigger, wanted, HARVESTING), desk.planner.compile(wanted)
    derive = partial(desk.planner.derive, wanted, trigger, instance_id, compiled)
    _, seen = while_uncommitted(desk.database, derive, lambda: neighbour.plans.transact(plans_seen))
    assert seen == 1


@pytest.mark.parametrize("state", STOPPED)
def test_a_partition_that_rests_is_not_planned_for(desk: Desk, state: ControlState) -> None:
    desk.plan(0, 1)
    stop(desk, state)
    before = contents(desk.database)
    with pytest.raises(Refused, match="quota is used up") as refused:
        desk.plan(0, 2)
    assert int(refused.value.exit_code) == 4
    assert refused.value.code == f"PARTITION_{state}"
    assert "shelf.list.harvest" in str(refused.value)
    after = contents(desk.database)
    assert [name for name in before if before[name] != after[name]] == ["ing_schedule_instance"]


@pytest.mark.parametrize("state", STOPPED)
def test_the_trigger_of_a_partition_that_rests_says_why_it_made_nothing(desk: Desk, state: ControlState) -> None:
    stop(desk, state)
    with pytest.raises(Refused):
        desk.plan(0, 1, key="too soon")
    (trigger,) = rows(desk.database, ing_schedule_instance)
    assert trigger["record_remarks"]["error"]["code"] == f"PARTITION_{state}"
    assert "quota is used up" in trigger["record_remarks"]["error"]["message"]


def test_a_trigger_that_was_refused_plans_once_the_partition_works_again(desk: Desk) -> None:
    stop(desk, ControlState.PAUSED)
    with pytest.raises(Refused):
        desk.plan(0, 2, key="tick")
    change(desk.database, ing_partition_control, control_code=ControlState.ACTIVE.value)
    assert desk.plan(0, 2, key="tick").plan.slices == 2
    assert len(rows(desk.database, ing_schedule_instance)) == 1


@pytest.mark.parametrize("state", STOPPED)
def test_a_trigger_that_has_its_plan_finds_it_even_while_the_partition_rests(desk: Desk, state: ControlState) -> None:
    first = desk.plan(0, 2, key="tick")
    stop(desk, state)
    again = desk.plan(0, 2, key="tick")
    assert (again.created, again.plan.plan_id) == (False, first.plan.plan_id)


def test_another_operation_of_the_same_endpoint_goes_on_while_one_rests(desk: Desk) -> None:
    stop(desk, ControlState.PAUSED)
    assert desk.plan(0, 2, operation=BACKFILL, campaign="early").plan.slices == 2


def test_a_partition_paused_just_before_the_last_step_is_not_planned_for(desk: Desk) -> None:
    """Estimating may take long: what holds is the control under the lock."""

    class PausedMeanwhile(PlanSteps):
        def estimate(self, work: Callable[[], SizesAsked]) -> SizesAsked:
            sizes = work()
            stop(desk, ControlState.PAUSED)
            return sizes

    with pytest.raises(Refused):
        desk.planner.plan(*asked("tick"), steps=PausedMeanwhile())
    assert (rows(desk.database, ing_plan), rows(desk.database, ing_task)) == ([], [])


@pytest.mark.parametrize("state", STOPPED)
def test_a_dry_run_of_a_partition_that_rests_is_refused_too(desk: Desk, state: ControlState) -> None:
    stop(desk, state)
    with pytest.raises(Refused):
        desk.planner.dry_run(asked("tick")[0])


def refusal_of(desk: Desk, key: str, **how: float) -> PatraError:
    with pytest.raises(PatraError) as refused:
        desk.plan(**how, key=key)
    return refused.value


def test_a_request_that_cannot_be_planned_is_noted_on_its_trigger(desk: Desk) -> None:
    desk.plan(5, 6)
    refusal = refusal_of(desk, "too early", start=4, end=6)
    assert (refusal.code, refusal.exit_code) == ("BELOW_ANCHOR", ExitCode.BAD_INPUT)
    trigger = rows(desk.database, ing_schedule_instance)[-1]
    assert trigger["record_remarks"]["error"]["code"] == "BELOW_ANCHOR"
    assert task_windows(desk.database) == [(5, 6)]


def test_a_plan_is_found_by_its_key_with_what_it_came_to(desk: Desk) -> None:
    report = desk.plan(0, 3)
    with desk.plans.look() as transaction:
        found = transaction.find_plan(report.plan.plan_key)
        assert transaction.find_plan(report.plan.plan_key + "x") is None
    assert found is not None
    assert found == report.plan
    assert (found.slices, found.tasks, found.status) == (3, 3, "READY")
    assert found.remarks["sliceCount"] == 3


def test_plan_keys_of_triggers_and_operations_are_different(desk: Desk) -> None:
    keys = [desk.plan(0, 1, key="a").plan.plan_key, desk.plan(0, 1, key="b").plan.plan_key]
    keys.append(desk.plan(0, 1, operation=BACKFILL, key="c").plan.plan_key)
    assert len(set(keys)) == 3 == len(column(desk.database, ing_plan, "plan_key"))


def test_the_same_trigger_again_makes_nothing_whatever_became_of_its_tasks(desk: Desk) -> None:
    first = desk.plan(0, 3, key="tick")
    desk.work()
    before = contents(desk.database)
    again = desk.plan(0, 3, key="tick")
    assert (again.created, again.plan.plan_id) == (False, first.plan.plan_id)
    assert (again.json()["tasks_created"], again.json()["tasks_existing"]) == (0, 3)
    assert contents(desk.database) == before


def test_a_trigger_key_used_for_another_operation_is_refused(desk: Desk) -> None:
    desk.plan(0, 1, key="tick")
    before = contents(desk.database)
    with pytest.raises(BadInput, match="tick"):
        desk.plan(0, 1, key="tick", operation=BACKFILL)
    assert contents(desk.database) == before
