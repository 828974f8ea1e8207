"""Workers at one database, step by step: what may be done, what must hold after it, and how it comes to rest."""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from ingest_core.execution.ports import Run
from ingest_core.model.codes import (
    LIVE_TASKS,
    BatchStatus,
    EventType,
    Operation,
    PlanStatus,
    ResliceStatus,
    RunStatus,
    TaskStatus,
)
from ingest_core.model.errors import BadInput, Refused
from ingest_core.model.id_range import range_of
from ingest_core.model.partition import Partition
from ingest_core.model.scope import ScopeKind, WorkScope
from ingest_core.model.slice_codes import ResliceReason
from ingest_core.model.window import Window
from ingest_core.planning.request import PlanRequest
from ingest_core.store.cursors.events import append_event
from ingest_core.store.engine.database import Database
from ingest_core.store.queue.work_control import SqlWorkControl
from ingest_core.store.schema.tables import (
    ing_cursor,
    ing_plan,
    ing_schedule_instance,
    ing_task,
)
from tests.models.execution_laws import Laws, requests_in
from tests.models.execution_model import BROKEN, INSTANT, CursorModel, Oracle, Provider, TaskModel
from tests.models.execution_worker import LEASE, LOST, Step, Worker, attempt, overlapped
from tests.support.books import at
from tests.support.planning_store import BACKFILL, HARVEST, HOUR, SHELF, open_desk, request, set_up
from tests.support.planning_store import fired as trigger
from tests.support.tables import clear, contents, rows

BEGIN_HOUR, FIRST_HOUR = 0, 24
"""The provider's first record is no older than the one; the scene begins at the other."""

SOURCE: dict[str, Any] = {
    "window": {"unit": "HOUR", "format": "%Y-%m-%dT%H", "step": "PT2H", "lookback": "PT3H"},
    "slicing": {"split_field": "number", "split_max": 8},
}
LOOKBACK = 12
"""In the instants that ground is counted in; no record comes later than that."""

NAMES = ("ann", "bob")
"""Whose name two processes share, so that only the fence's number tells them apart."""

REFUSALS = {"BELOW_ANCHOR", "OUTSIDE_CAMPAIGN", "PARTITION_PAUSED"}


class Scene:
    """Workers on connections of their own, one step at a time or two at once, and the oracle that is told."""

    def __init__(self, databases: Sequence[Database]) -> None:
        self.database, self.databases = databases[0], databases
        clear(self.database)
        for one in databases:
            one.clock_shift = timedelta(0)
        shift = at(FIRST_HOUR) - self.database.now()  # once: time goes on by itself, but not by a quarter of an hour
        for one in databases:
            one.clock_shift = shift
        self.instants, self.provider, self.oracle = 0, Provider(), Oracle()
        self.laws = Laws(self.database, self.oracle)
        set_up(self.database, **SOURCE)
        self.workers = [
            Worker(name, open_desk(one), self.provider, self.oracle, self.now)
            for name, one in zip(itertools.cycle(NAMES), databases, strict=False)
        ]
        self.past: list[Step] = []
        self.fired: list[tuple[PlanRequest, str]] = []
        self.finished: list[Run] = []
        self.keys = itertools.count(1)
        self.apart = True

    def now(self) -> datetime:
        """The time, but for the moments the walk itself takes."""
        return at(FIRST_HOUR) + self.instants * INSTANT

    def take(self, step: Step) -> None:
        """One step with nobody else at work; without a lease that holds it must be refused and change nothing."""
        stale = step.lease is not None and not self.oracle.holds(step.lease)
        before = contents(self.database) if stale else None
        self.settle(step, attempt(step))
        assert before is None or contents(self.database) == before, "a stale fence wrote"

    def settle(self, step: Step, result: Any) -> None:
        """Tell the oracle what was done."""
        holds = step.lease is None or self.oracle.holds(step.lease)
        assert (result is not LOST) == holds, f"{step.lease}: it holds: {holds}, but the call says {result}"
        if result is LOST:
            self.forget(step)
            return
        step.settle(result)
        if step.lease:
            self.past.append(step)

    def forget(self, step: Step) -> None:
        """Whoever learns that its lease is lost drops the work."""
        assert step.lease is not None
        for worker in self.workers:
            worker.drop(step.lease)

    def next_step(self, worker: Worker) -> Step:
        """The worker's next step, and what more must hold after it."""
        step, advancing = worker.next_step(), worker.behind
        ending = worker.held.run if worker.held and worker.held.checkpoint.ended else None

        def settle(result: Any) -> None:
            if result == [] and self.apart:
                assert not self.oracle.due(self.now()), "nothing was claimed though something is due"
            step.settle(result)
            if advancing and self.apart:
                assert result == self.oracle.cursors[advancing.key].frontier()
            if ending:
                self.finished.append(ending)

        return Step(step.call, settle, step.lease, step.repeatable)

    def expiry(self, worker: Worker) -> Step:
        """Give back what dead workers hold."""

        def settle(number: int) -> None:
            expired = self.oracle.expired(self.now())
            assert number == len(expired) or not self.apart
            self.oracle.gave_back(self.now())

        return Step(worker.desk.queue.give_back_expired, settle)

    def planning(self, worker: Worker, wanted: PlanRequest, key: str) -> Step:
        """Plan what is asked for; what cannot be is refused."""

        def call() -> Any:
            try:
                return worker.desk.planner.plan(wanted, trigger(key))
            except (BadInput, Refused) as refusal:
                if refusal.code not in REFUSALS:
                    raise
                return None

        return Step(call, lambda _: self.meet())

    def serving(self, worker: Worker) -> Step:
        """Cut again what asked for it: children tile their parents."""

        def settle(_: Any) -> None:
            met = self.meet()
            served = set(requests_in(self.database, ResliceStatus.SERVED))
            newly = [key for key in served if not self.oracle.requests[key]]
            self.oracle.requests.update(dict.fromkeys(newly, True))
            parents = Counter(cell for key in newly for cell in self.oracle.tasks[key].cells(self.oracle.rest[key]))
            assert parents == Counter(cell for task in met for cell in task.cells()) or not self.apart

        return Step(worker.desk.reslicer.serve, settle)

    def cancelling(self, worker: Worker, task_id: int, *, whole_plan: bool) -> Step:
        """Cancel a task, or the plan it is of."""
        plan_id = self.oracle.tasks[task_id].plan_id
        scope = WorkScope(ScopeKind.PLAN, str(plan_id)) if whole_plan else WorkScope(ScopeKind.TASK, str(task_id))

        def settle(number: int) -> None:
            meant = {
                key
                for key, task in self.oracle.tasks.items()
                if key == task_id or (whole_plan and task.plan_id == plan_id)
            }
            live = {key for key in meant if self.oracle.tasks[key].status in LIVE_TASKS}
            assert number == len(live) or not self.apart
            waiting = set(requests_in(self.database, ResliceStatus.OPEN))
            if whole_plan and self.oracle.plan_status(plan_id, waiting) in (PlanStatus.READY, PlanStatus.PARTIAL):
                self.oracle.cancelled_plans.add(plan_id)
            self.oracle.cancelled(live)
            if self.oracle.plan_status(plan_id, waiting) == PlanStatus.CANCELLED:
                self.oracle.cancelled_plans.add(plan_id)

        return Step(lambda: SqlWorkControl(worker.desk.database).cancel(scope), settle)

    def retrying(self, worker: Worker, task_id: int) -> Step:
        """Have a task tried again, if it did not succeed and nobody cuts it smaller."""
        scope = WorkScope(ScopeKind.TASK, str(task_id))

        def settle(number: int) -> None:
            cut = {*requests_in(self.database, ResliceStatus.OPEN), *requests_in(self.database, ResliceStatus.SERVED)}
            again = self.oracle.unfinished(set(self.oracle.tasks) - cut) & {task_id}
            assert number == len(again) or not self.apart
            self.oracle.retried(again, self.now())

        return Step(lambda: SqlWorkControl(worker.desk.database).retry(scope), settle)

    def controlling(self, worker: Worker, operation: Operation, *, pause: bool) -> Step:
        """Let a partition rest, or work again."""
        control, partition = SqlWorkControl(worker.desk.database), Partition(SHELF, "list", operation)

        def settle(_: Any) -> None:
            (self.oracle.paused.add if pause else self.oracle.paused.discard)(operation)

        return Step(lambda: (control.pause if pause else control.resume)([partition], "a walk"), settle)

    def repair(self, worker: Worker) -> Step:
        """Bring every watermark up to its events."""
        return Step(
            worker.desk.cursors.repair, lambda _: self.laws.watermarks_are_at_their_frontiers() if self.apart else None
        )

    def delivery(self, which: int) -> Step | None:
        """Something that was done, once more: all of it if the lease was lost, else what may be repeated."""
        steps = [step for step in self.past if step.repeatable or (step.lease and not self.oracle.holds(step.lease))]
        return steps[which % len(steps)] if steps else None

    def event(self, worker: Worker, which: int) -> Step | None:
        """A coverage event, once more."""
        if not self.finished:
            return None
        run = self.finished[which % len(self.finished)]
        task = run.task
        parts = (task.lineage.task_id, task.window.json(), *([task.range.json()] if task.range else []))

        def append(connection: sa.Connection) -> bool:
            now = worker.desk.database.now(connection)
            return append_event(
                connection,
                task.namespace,
                EventType.COVERAGE,
                task.window,
                now=now,
                as_of=now,
                lineage={"plan_id": task.lineage.plan_id, "task_id": task.lineage.task_id},
                key_parts=parts,
                value=task.window.end,
                part=task.range,
            )

        return Step(lambda: not worker.desk.database.transact(append), _true)

    def time_passes(self, instants: int) -> None:
        """Everybody's clock, which is the database's, is that much later."""
        self.instants += instants
        for one in self.databases:
            one.clock_shift += instants * INSTANT

    def fire(self, worker: Worker, wanted: PlanRequest) -> None:
        """A trigger of its own."""
        self.fired.append((wanted, f"walk {next(self.keys)}"))
        self.take(self.planning(worker, *self.fired[-1]))

    def fire_again(self, worker: Worker, which: int) -> None:
        """A trigger that has fired before makes nothing new, if it made a plan."""
        known = len(self.oracle.tasks)
        wanted, key = self.fired[which % len(self.fired)]
        if key in self.planned_triggers():
            self.take(self.planning(worker, wanted, key))
            assert len(self.oracle.tasks) == known

    def planned_triggers(self) -> set[str]:
        """The triggers that made a plan."""
        instance = ing_schedule_instance
        query = sa.select(instance.c.scheduler_log_id).join(ing_plan, ing_plan.c.schedule_instance_id == instance.c.id)
        with self.database.read() as connection:
            return set(connection.execute(query).scalars())

    def any_step(self, worker: Worker, kind: int, which: int) -> Step:
        """One of all that a process may do; most of the time, its work."""
        others: list[Callable[[], Step | None]] = [
            lambda: self.expiry(worker),
            lambda: self.serving(worker),
            lambda: self.repair(worker),
            lambda: self.event(worker, which),
            lambda: self.planning(worker, request(), f"walk {next(self.keys)}"),
        ]
        step = others[kind]() if kind < len(others) else None
        return step or self.next_step(worker)

    def overtake(self, slow: Worker, other: Worker, steps: int) -> None:
        """The other claims all there is, and begins with what was the slow one's."""
        assert slow.held is not None
        lost = slow.held.task.lease.task_id
        other.crash()
        self.time_passes(LEASE // INSTANT)
        self.take(self.expiry(other))
        self.take(other.claim(len(self.oracle.tasks)))
        other.leased.sort(key=lambda task: task.lease.task_id != lost)
        for _ in range(steps):
            self.take(self.next_step(other))

    def cut_smallest(self, worker: Worker) -> None:
        """Of what is due, the smallest turns out too big and is cut again; what else was claimed is given back."""
        self.take(worker.claim(len(self.oracle.tasks)))
        worker.leased.sort(key=lambda task: sum(1 for _ in self.oracle.tasks[task.lease.task_id].cells()))
        if worker.leased:
            self.take(self.next_step(worker))
            self.take(worker.end(TaskStatus.PARTIAL, reslice=ResliceReason.RECORD_CAP))
            self.take(self.serving(worker))
        while worker.leased:
            self.take(worker.release())

    def repeat(self, worker: Worker) -> None:
        """What was done last is delivered again, if it may be or must be refused; and the last event too."""
        last, event = self.past[-1:], self.event(worker, len(self.finished) - 1)
        again = [step for step in last if step.repeatable or (step.lease and not self.oracle.holds(step.lease))]
        for step in [*again, *([event] if event else [])]:
            self.take(step)

    def take_both(self, one: Worker, first: Step, second: Step) -> None:
        """The second step is taken while the first, of that worker, is about to commit."""
        self.apart = False
        try:
            results = overlapped(one.desk.database, first, second)
            for step, result in zip((first, second), results, strict=True):
                self.settle(step, result)
        finally:
            self.apart = True

    def meet(self) -> list[TaskModel]:
        """Tasks, requests and cursors that are new."""
        for row in rows(self.database, ing_cursor):
            value = row["normalized_instant"]
            model = CursorModel(row["anchor_instant"], row["is_descending"], value)
            known = self.oracle.cursors.setdefault(row["namespace_key"], model)
            assert (known.anchor, known.descending) == (model.anchor, model.descending)
        met = []
        for row in rows(self.database, ing_task):
            if row["id"] not in self.oracle.tasks:
                window, part = Window(row["window_from"], row["window_to"]), range_of(row["params"].get("range"))
                operation = Operation(row["operation_code"])
                task = TaskModel(row["plan_id"], operation, row["namespace_key"], window, part, self.now())
                self.oracle.tasks[row["id"]] = task
                met.append(task)
        return met

    def all_is_as_told(self) -> None:
        """Every law holds at this moment."""
        self.laws.hold()

    def everybody_dies(self) -> None:
        """No worker knows anything, what they held is given back, and nothing is paused."""
        for worker in self.workers:
            worker.crash()
        for operation in (HARVEST, BACKFILL):
            self.take(self.controlling(self.workers[0], operation, pause=False))
        self.time_passes(LEASE // INSTANT)
        self.take(self.expiry(self.workers[0]))
        self.all_is_as_told()

    def everything_comes_to_rest(self) -> None:
        """All workers die but one, which works everything off; the store holds the truth, and again when it changes."""
        self.everybody_dies()
        self.time_passes(4 * LOOKBACK)
        self.work_off(request())
        anchor = self.oracle.cursors[self.workers[0].desk.namespace().key].anchor
        self.work_off(request(BEGIN_HOUR, (anchor - at(0)) / HOUR, operation=BACKFILL, campaign="rest"))
        self.assert_truth()
        for number in self.provider.truth:
            self.provider.change(number, self.now())
        self.time_passes(LOOKBACK)
        self.work_off(request())
        self.assert_truth()

    def work_off(self, wanted: PlanRequest) -> None:
        """Plan and work until nothing is left."""
        worker = self.workers[-1]
        for _ in range(10):
            self.take(self.expiry(worker))
            self.take(self.serving(worker))
            known = len(self.oracle.tasks)
            self.take(self.planning(worker, wanted, f"walk {next(self.keys)}"))
            while self.oracle.due(self.now()) or worker.held or worker.leased or worker.behind:
                self.take(self.next_step(worker))
            self.all_is_as_told()
            if self.oracle.live():
                self.time_passes(3)
            elif len(self.oracle.tasks) == known:
                return  # a part that was live kept the missing parts of its window from being planned until now
        raise AssertionError("it never comes to rest")

    def assert_truth(self) -> None:
        """What the provider has now, each record in its newest version, and nothing under way."""
        truth = {
            one.provider_id: (one.changed_at, one.payload)
            for one in self.provider.truth.values()
            if one.number != BROKEN
        }
        assert self.oracle.items == truth  # and the store holds what the oracle was told
        assert not self.oracle.live()
        assert {status for _, status in self.oracle.runs.values()} <= set(RunStatus) - {RunStatus.RUNNING}
        assert BatchStatus.RUNNING not in {status for _, status, _ in self.oracle.batches.values()}
        assert PlanStatus.READY not in {row["status_code"] for row in rows(self.database, ing_plan)}
        self.take(self.repair(self.workers[0]))
        self.laws.watermarks_are_at_their_frontiers()


def _true(answer: object) -> None:
    assert answer
