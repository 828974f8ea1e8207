"""Planning is one sequence: its order, its hooks, and what is left when it ends early."""

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from ingest_core.model.errors import BadInput, PatraError
from ingest_core.planning.request import PlanRequest, Trigger
from ingest_core.planning.steps import PlanSteps
from ingest_core.planning.window import resolve_harvest
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import ing_plan, ing_plan_slice, ing_schedule_instance, ing_task
from tests.support.planning_store import Desk, fired, request, set_up
from tests.support.tables import column, contents, rows

T = TypeVar("T")
ORDER = ["record", "compile", "resolve", "reslice", "estimate", "derive"]


@pytest.fixture
def desk(database: Database) -> Desk:
    """A desk with the source in the Registry."""
    return set_up(database)


class Watched(PlanSteps):
    """Notes each step; one of them may end with a failure, before its work or after it."""

    def __init__(self, failing: str | None = None, error: BaseException | None = None, *, late: bool = False) -> None:
        self.taken: list[str] = []
        self._failing, self._error, self._late = failing, error, late

    def _take(self, name: str, work: Callable[[], T]) -> T:
        self.taken.append(name)
        failing = self._error if name == self._failing else None
        if failing and not self._late:
            raise failing
        result = work()
        if failing:
            raise failing
        return result

    def record(self, work: Callable[[], Any]) -> Any:
        return self._take("record", work)

    def compile(self, work: Callable[[], Any]) -> Any:
        return self._take("compile", work)

    def resolve(self, work: Callable[[], Any]) -> Any:
        return self._take("resolve", work)

    def reslice(self, work: Callable[[], Any]) -> Any:
        return self._take("reslice", work)

    def estimate(self, work: Callable[[], Any]) -> Any:
        return self._take("estimate", work)

    def derive(self, work: Callable[[], Any]) -> Any:
        return self._take("derive", work)


def asked() -> tuple[PlanRequest, Trigger]:
    return request(0, 3), fired("tick")


def test_the_steps_come_in_one_order(desk: Desk) -> None:
    steps = Watched()
    desk.planner.plan(*asked(), steps=steps)
    assert steps.taken == ORDER


def test_a_dry_run_takes_the_steps_that_write_nothing(desk: Desk) -> None:
    steps = Watched()
    before = contents(desk.database)
    desk.planner.dry_run(asked()[0], steps=steps)
    assert steps.taken == ["compile", "resolve", "derive"]
    assert contents(desk.database) == before


@pytest.mark.parametrize(("plans", "times"), [(True, 2), (False, 1)], ids=["plan", "dry run"])
def test_the_window_is_resolved_once_to_look_and_once_under_the_lock(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, *, plans: bool, times: int
) -> None:
    resolved: list[object] = []

    def counting(*given: Any) -> Any:
        resolved.append(given)
        return resolve_harvest(*given)

    monkeypatch.setattr("ingest_core.planning.proposal.resolve_harvest", counting)
    if plans:
        desk.planner.plan(*asked())
    else:
        desk.planner.dry_run(asked()[0])
    assert len(resolved) == times


def test_a_query_that_does_not_compile_is_the_reason_on_its_trigger(desk: Desk) -> None:
    with pytest.raises(BadInput) as refused:
        desk.planner.plan(request(0, 3, query="nothing:1"), fired("tick"))
    (trigger,) = rows(desk.database, ing_schedule_instance)
    assert trigger["record_remarks"]["error"] == {"code": refused.value.code, "message": str(refused.value)}


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", ORDER[1:])
def test_what_fails_behind_the_first_step_leaves_its_reason_until_the_trigger_has_its_plan(
    desk: Desk, step: str, *, late: bool
) -> None:
    failure = PatraError("BROKEN", f"{step} broke", where="test")
    with pytest.raises(PatraError):
        desk.planner.plan(*asked(), steps=Watched(step, failure, late=late))
    has_its_plan = step == "derive" and late
    (remarks,) = column(desk.database, ing_schedule_instance, "record_remarks")
    assert remarks == (None if has_its_plan else {"error": {"code": "BROKEN", "message": str(failure)}})
    again = desk.planner.plan(*asked())
    assert (again.created, [again.plan.plan_id]) == (not has_its_plan, column(desk.database, ing_plan, "id"))
    assert column(desk.database, ing_schedule_instance, "record_remarks") == [None]
    assert len(rows(desk.database, ing_task)) == len(rows(desk.database, ing_plan_slice)) == 3


class Gone(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", ORDER)
def test_a_crash_between_any_two_steps_leaves_the_next_try_nothing_but_its_work(
    desk: Desk, step: str, *, late: bool
) -> None:
    with pytest.raises(Gone):
        desk.planner.plan(*asked(), steps=Watched(step, Gone(), late=late))
    desk.planner.plan(*asked())
    assert column(desk.database, ing_schedule_instance, "record_remarks") == [None]
    assert len(rows(desk.database, ing_plan)) == 1
    assert len(rows(desk.database, ing_task)) == len(rows(desk.database, ing_plan_slice)) == 3


def test_a_trigger_that_has_its_plan_finds_it_though_its_query_compiles_no_more(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = desk.planner.plan(*asked())
    before = contents(desk.database)

    def refuse(*_given: Any) -> Any:
        raise BadInput("QUERY_INVALID", "the field is gone", where="query")

    monkeypatch.setattr("ingest_core.planning.plan.compile_source", refuse)
    steps = Watched()
    again = desk.planner.plan(*asked(), steps=steps)
    assert (again.created, again.plan.plan_id, steps.taken) == (False, first.plan.plan_id, ["record"])
    assert contents(desk.database) == before
