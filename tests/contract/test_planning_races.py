"""Planners among workers: whatever happens at any moment of a plan, all is owned once and nothing is lost."""

import itertools
import random
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any, TypeVar

import pytest
import sqlalchemy as sa

from ingest_core.execution.ports import Run
from ingest_core.model.codes import Operation, TaskStatus
from ingest_core.model.slice_codes import ResliceReason
from ingest_core.model.task import FlowRun, Task
from ingest_core.planning.report import PlanReport
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import (
    ing_cursor,
    ing_cursor_event,
    ing_partition_control,
    ing_plan,
    ing_plan_slice,
    ing_task,
)
from tests.support.breaking import DEADLINE_SECONDS, PATIENCE_SECONDS, together
from tests.support.planning_store import (
    BACKFILL,
    HARVEST,
    HARVESTING,
    Desk,
    assert_owned_once,
    fired,
    holes,
    hours,
    open_desk,
    request,
    set_up,
    task_windows,
)
from tests.support.tables import column, rows

pytestmark = pytest.mark.long

A = TypeVar("A")
B = TypeVar("B")

MOST_STEPS = 80
LOOKS = ("FROM ing_task", "FROM ing_reslice_request", "FROM ing_cursor", "FROM ing_partition_control")
"""Where a plan looks at what others change."""

MOMENTS = pytest.mark.parametrize(
    "among", [LOOKS, pytest.param(("",), marks=pytest.mark.long)], ids=["each look", "each statement"]
)
Among = tuple[str, ...]

Meanwhile = Callable[[Desk, Run], None]


@pytest.fixture
def desk(database: Database) -> Desk:
    """A desk with the source in the Registry."""
    return set_up(database)


@pytest.fixture
def neighbour(desk: Desk, other: Database) -> Desk:
    """Another process on the same database."""
    return open_desk(other)


def at_step(
    database: Database, step: int, first: Callable[[], A], second: Callable[[], B], among: Among, *, waits: bool = True
) -> tuple[A, B | None, bool]:
    """Do `second`, on other connections, before the n-th statement of `first` of a kind; whether it came to that.

    If `second` has to wait for `first`, `first` goes on; one that never waits is done before.
    """
    steps, asked = itertools.count(1), list[Future[B]]()
    patience = PATIENCE_SECONDS if waits or database.dialect_name == "sqlite" else DEADLINE_SECONDS

    def interrupt(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        if any(text in statement.replace("\n", "") for text in among) and next(steps) == step:
            asked.append(pool.submit(second))
            wait(asked, timeout=patience)
            assert waits or asked[0].done() or database.dialect_name == "sqlite", "a worker waits for a planner"

    with ThreadPoolExecutor(1) as pool:
        sa.event.listen(database.engine, "before_cursor_execute", interrupt)
        try:
            one = first()
        finally:
            sa.event.remove(database.engine, "before_cursor_execute", interrupt)
        two = [future.result(DEADLINE_SECONDS) for future in asked]
    return one, two[0] if two else None, bool(two)


def derivation(desk: Desk, start: float, end: float, **how: Any) -> Callable[[], PlanReport]:
    """Planning up to its last step, and that step still to be done: one transaction."""
    wanted, trigger = request(start, end, **how), fired()
    instance_id, compiled = desk.plans.record_trigger(trigger, wanted, HARVESTING), desk.planner.compile(wanted)
    return lambda: desk.planner.derive(wanted, trigger, instance_id, compiled)


def succeeds(desk: Desk, run: Run) -> None:
    desk.finish(run)


def fails(desk: Desk, run: Run) -> None:
    desk.finish(run, TaskStatus.FAILED)


def is_too_big(desk: Desk, run: Run) -> None:
    desk.finish(run, TaskStatus.PARTIAL, reslice=ResliceReason.RECORD_CAP)


def is_cut_again(desk: Desk, run: Run) -> None:
    is_too_big(desk, run)
    desk.reslicer.serve()


@MOMENTS
@pytest.mark.parametrize("meanwhile", [succeeds, fails, is_too_big, is_cut_again])
def test_a_task_that_ends_at_any_moment_of_a_plan_is_owned_once(
    desk: Desk, neighbour: Desk, meanwhile: Meanwhile, among: Among
) -> None:
    """What was live when the plan looked, or was read, is not planned again."""
    for step in range(1, MOST_STEPS):
        hour = 2 * step
        derivation(desk, hour, hour + 1)()
        run = next(run for run in desk.begin_all() if run.task.window == hours(hour, hour + 1))
        ends, waits = partial(meanwhile, neighbour, run), meanwhile is is_cut_again
        derive = derivation(desk, hour, hour + 2)
        report, _, came = at_step(desk.database, step, derive, ends, among, waits=waits)
        planned = task_windows(desk.database, ing_task.c.plan_id == report.plan.plan_id)
        may_be = [[(hour + 1, hour + 2)], *([[(hour, hour + 1), (hour + 1, hour + 2)]] if meanwhile is fails else [])]
        assert planned in may_be, f"step {step}"
        assert_owned_once(desk.database)
        if not came:
            break
    assert not came, f"{MOST_STEPS} steps and no end"
    assert step > len(LOOKS)
    desk.plan(2, hour + 2)
    assert holes(desk.database, desk.namespace(), hours(2, hour + 2)) == []
    assert_owned_once(desk.database)


@MOMENTS
@pytest.mark.parametrize("operation", [HARVEST, BACKFILL])
def test_a_first_plan_at_any_moment_of_another_makes_each_window_once(
    desk: Desk, neighbour: Desk, operation: Operation, among: Among
) -> None:
    """There is no cursor to lock yet: the partition's control is."""
    for step in range(1, MOST_STEPS):
        forget(desk.database)
        mine, other = (derivation(one, 0, 3, operation=operation) for one in (desk, neighbour))
        one, two, came = at_step(desk.database, step, mine, other, among)
        assert one.plan.slices + (two.plan.slices if two else 0) == 3, f"step {step}"
        assert task_windows(desk.database) == [(0, 1), (1, 2), (2, 3)]
        assert column(desk.database, ing_cursor_event, "event_type") == ["ANCHOR"]
        if not came:
            break
    assert not came, f"{MOST_STEPS} steps and no end"
    assert step > len(LOOKS)


def forget(database: Database) -> None:
    """All that was ever planned."""
    with database.write() as connection:
        for table in (ing_cursor_event, ing_cursor, ing_task, ing_plan_slice, ing_plan, ing_partition_control):
            connection.execute(sa.delete(table))


@pytest.mark.parametrize(
    "among", [("ing_schedule_instance", "ing_plan"), pytest.param(("",), marks=pytest.mark.long)], ids=["some", "each"]
)
def test_the_same_trigger_at_any_moment_of_itself_makes_one_plan(desk: Desk, neighbour: Desk, among: Among) -> None:
    for step in range(1, MOST_STEPS):
        fire = partial(Desk.plan, start=2 * step, end=2 * step + 2, key=f"tick {step}")
        one, two, came = at_step(desk.database, step, partial(fire, desk), partial(fire, neighbour), among)
        if two is None:
            break
        assert one.plan.plan_id == two.plan.plan_id
        assert {one.created, two.created} == {True, False}, f"step {step}"
    assert not came, f"{MOST_STEPS} steps and no end"
    assert task_windows(desk.database) == [(hour, hour + 1) for hour in range(2, 2 * step + 2)]
    assert step > 5


def test_many_first_planners_of_many_operations_at_once_own_nothing_twice(desk: Desk, neighbour: Desk) -> None:
    backfills = [partial(Desk.plan, start=-4, end=0, operation=BACKFILL, campaign=name) for name in "ab"]
    plans = [partial(Desk.plan, start=0, end=4), *backfills]
    together(*(partial(plan, one) for plan in plans for one in (desk, neighbour)))
    assert_owned_once(desk.database)
    assert column(desk.database, ing_cursor_event, "event_type") == ["ANCHOR"] * 3
    assert len(rows(desk.database, ing_plan)) == 6


def test_planners_and_workers_in_a_crowd_own_nothing_twice_and_forget_nothing(desk: Desk, neighbour: Desk) -> None:
    """Four at once, round after round, each with its own dice."""
    dice = random.Random(4)
    desk.plan(0, 6)
    for end in range(7, 12):
        works = [
            partial(_one_of_the_crowd, one, end, dice.randrange(1 << 30)) for one in (desk, neighbour, desk, neighbour)
        ]
        together(*works)
        assert_owned_once(desk.database)
    desk.reslicer.serve()
    desk.plan(0, 12)
    assert holes(desk.database, desk.namespace(), hours(0, 12)) == []


def _one_of_the_crowd(desk: Desk, end: float, seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(3):
        what = dice.randrange(4)
        if what == 0:
            desk.plan(0, end)
        elif what == 1:
            desk.reslicer.serve()
        else:
            task = desk.queue.claim("ann", 600)
            if task:
                _end_somehow(desk, task, dice)


def _end_somehow(desk: Desk, task: Task, dice: random.Random) -> None:
    run = desk.ledger.begin_run(task, FlowRun())
    dice.choice([succeeds, succeeds, fails, is_too_big])(desk, run)
