"""Laws of execution: whatever workers do, crash or repeat, the truth is stored, counted once, and no watermark lies."""

import itertools
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

from ingest_core.execution.ports import Run
from ingest_core.model.codes import BatchStatus, EventType, PlanStatus, ResliceStatus, RunStatus, TaskStatus
from ingest_core.model.errors import BadInput
from ingest_core.model.id_range import range_of
from ingest_core.model.record import Counts
from ingest_core.model.slice_codes import ResliceReason
from ingest_core.model.window import Window
from ingest_core.store.checkpoints import checkpoint_of
from ingest_core.store.cursor_store import append_event
from ingest_core.store.database import Database
from ingest_core.store.tables import (
    ing_cursor,
    ing_cursor_event,
    ing_item,
    ing_plan,
    ing_quarantine,
    ing_reslice_request,
    ing_task,
    ing_task_run,
    ing_task_run_batch,
)
from tests.support.execution_model import BROKEN, INSTANT, CursorModel, Oracle, Provider, TaskModel
from tests.support.execution_worker import LEASE, LOST, Step, Worker, attempt, overlapped
from tests.support.planning_store import BACKFILL, HOUR, open_desk, request, set_up
from tests.support.planning_store import fired as trigger
from tests.support.stores import at, clear, contents, rows

WORKERS = 3
LENGTHS = {"sqlite": (10, 50), "postgresql": (4, 50), "mysql": (3, 50)}
LONG_LENGTHS = {"sqlite": (150, 80), "postgresql": (60, 80), "mysql": (40, 80)}
"""How many walks, and how many steps each has."""

BEGIN_HOUR, FIRST_HOUR = 0, 24
"""The provider's first record is no older than the one; the walk begins at the other."""
SOURCE: dict[str, Any] = {
    "window": {"unit": "HOUR", "format": "%Y-%m-%dT%H", "step": "PT2H", "lookback": "PT3H"},
    "slicing": {"split_field": "number", "split_max": 8},
}
LOOKBACK_QUARTERS = 12
SLOW = list(HealthCheck)
REFUSALS = {"BELOW_ANCHOR", "OUTSIDE_CAMPAIGN"}
WHO = st.integers(0, WORKERS - 1)
WHICH = st.integers(0, 9999)
ENDS = st.sampled_from(
    [
        {"status": TaskStatus.FAILED},
        {"status": TaskStatus.PARTIAL},
        {"status": TaskStatus.PARTIAL, "reslice": ResliceReason.RECORD_CAP},
        {"status": TaskStatus.PARTIAL, "reslice": ResliceReason.RECORD_CAP},
        {"status": TaskStatus.QUEUED},
        {"status": TaskStatus.QUEUED, "retry_in": LEASE},
        {"status": TaskStatus.QUEUED, "anew": True},
    ]
)
"""How an attempt may end before its slice does."""


class Walk(RuleBasedStateMachine):
    """Workers on connections of their own, one step at a time or two at once; the oracle is asked after each."""

    def __init__(self, databases: Sequence[Database]) -> None:
        super().__init__()
        self.database = databases[0]
        self.databases = databases
        clear(self.database)
        for one in databases:
            one.clock_shift = timedelta(0)
        shift = at(FIRST_HOUR) - self.database.now()  # once: time goes on by itself, but not by a quarter of an hour
        for one in databases:
            one.clock_shift = shift
        self.quarters = 0
        self.provider, self.oracle = Provider(), Oracle()
        set_up(self.database, **SOURCE)
        self.workers = [
            Worker(f"worker {number}", open_desk(one), self.provider, self.oracle, self.now)
            for number, one in enumerate(databases)
        ]
        self.past: list[Step] = []
        self.fired: list[tuple[Any, str]] = []
        self.finished: list[Run] = []
        self.keys = itertools.count(1)
        self.apart = True

    def now(self) -> datetime:
        """The time, but for the moments the walk itself takes."""
        return at(FIRST_HOUR) + self.quarters * INSTANT

    # --- steps ----------------------------------------------------------------------------------

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
        for worker in self.workers:
            if worker.held and worker.held.task.lease == step.lease:
                worker.crash()

    def next_step(self, worker: Worker) -> Step:
        """The worker's next step, and what more must hold after it."""
        step, advancing = worker.next_step(), worker.behind
        ending = worker.held.run if worker.held and worker.held.checkpoint.ended else None

        def settle(result: Any) -> None:
            if result is None and not worker.held and not advancing and self.apart:
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

    def planning(self, worker: Worker, wanted: Any, key: str) -> Step:
        """Plan what is asked for; what cannot be is refused."""

        def call() -> Any:
            try:
                return worker.desk.planner.plan(wanted, trigger(key))
            except BadInput as refusal:
                if refusal.code not in REFUSALS:
                    raise
                return None

        return Step(call, lambda _: self.meet())

    def serving(self, worker: Worker) -> Step:
        """Cut again what asked for it: children tile their parents."""

        def settle(_: Any) -> None:
            met = self.meet()
            served = set(_with_status(self.database, ResliceStatus.SERVED))
            newly = [key for key in served if not self.oracle.requests[key]]
            self.oracle.requests.update(dict.fromkeys(newly, True))
            parents = Counter(cell for key in newly for cell in self.oracle.tasks[key].cells())
            assert parents == Counter(cell for task in met for cell in task.cells()) or not self.apart

        return Step(worker.desk.reslicer.serve, settle)

    def repair(self, worker: Worker) -> Step:
        """Bring every watermark up to its events."""
        return Step(worker.desk.cursors.repair, lambda _: self.watermarks_are_at_their_frontiers())

    def delivery(self, which: int) -> Step | None:
        """Something that was done, once more: all of it if the lease was lost, else what may be repeated."""
        steps = [
            step for step in self.past if step.repeatable or (step.lease and not self.oracle.holds(step.lease))
        ]
        return steps[which % len(steps)] if steps else None

    def event(self, worker: Worker, which: int) -> Step | None:
        """A coverage event, once more."""
        if not self.finished:
            return None
        run = self.finished[which % len(self.finished)]
        task = run.task
        parts = (task.lineage.task_id, task.window.json(), *([task.range.json()] if task.range else []))

        def append(connection: sa.Connection) -> None:
            now = worker.desk.database.now(connection)
            append_event(
                connection,
                task.namespace,
                EventType.COVERAGE,
                task.window,
                now=now,
                as_of=now,
                lineage={"plan_id": task.lineage.plan_id, "task_id": task.lineage.task_id},
                key_parts=parts,
                new_instant=task.window.end,
                part=task.range,
            )

        return Step(lambda: worker.desk.database.transact(append), lambda _: None)

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
                task = TaskModel(row["plan_id"], row["namespace_key"], window, part, self.now())
                self.oracle.tasks[row["id"]] = task
                met.append(task)
        return met

    # --- what happens ---------------------------------------------------------------------------

    @rule(quarters=st.integers(1, 6))
    def time_passes(self, quarters: int) -> None:
        self.quarters += quarters
        for one in self.databases:
            one.clock_shift += quarters * INSTANT

    @rule(number=st.integers(0, 11), late=st.integers(0, LOOKBACK_QUARTERS))
    def a_record_changes(self, number: int, late: int) -> None:
        self.provider.change(number, self.now() - late * INSTANT)

    @initialize(hours=st.lists(st.integers(BEGIN_HOUR, FIRST_HOUR - 4), max_size=12), start=st.integers(15, 21))
    def it_begins(self, hours: list[int], start: int) -> None:
        for number, hour in enumerate(hours):
            self.provider.change(number, at(hour))
        self.fire(0, request(start, FIRST_HOUR - 1))

    @rule(who=WHO)
    def a_schedule_fires(self, who: int) -> None:
        self.fire(who, request())

    @rule(who=WHO, start=st.integers(8, 30), span=st.integers(1, 8))
    def somebody_harvests(self, who: int, start: int, span: int) -> None:
        self.fire(who, request(start, start + span))

    @rule(who=WHO, start=st.integers(0, 24), span=st.integers(1, 9), down=st.booleans())
    def somebody_backfills(self, who: int, start: int, span: int, down: bool) -> None:
        self.fire(who, request(start, start + span, operation=BACKFILL, campaign="old", newest_first=down))

    def fire(self, who: int, wanted: Any) -> None:
        """A trigger of its own."""
        self.fired.append((wanted, f"walk {next(self.keys)}"))
        self.take(self.planning(self.workers[who], *self.fired[-1]))

    @precondition(lambda self: self.fired)
    @rule(who=WHO, which=WHICH)
    def a_trigger_fires_again(self, who: int, which: int) -> None:
        known = len(self.oracle.tasks)
        wanted, key = self.fired[which % len(self.fired)]
        if any(row["scheduler_log_id"] == key for row in self.planned_triggers()):
            self.take(self.planning(self.workers[who], wanted, key))
            assert len(self.oracle.tasks) == known

    def planned_triggers(self) -> list[dict[str, Any]]:
        """The triggers that made a plan."""
        with self.database.read() as connection:
            query = sa.text(
                "SELECT scheduler_log_id FROM ing_schedule_instance i JOIN ing_plan p ON p.schedule_instance_id = i.id"
            )
            return [dict(row) for row in connection.execute(query).mappings()]

    @precondition(lambda self: self.oracle.tasks)
    @rule(who=WHO, steps=st.integers(1, 12))
    def a_worker_works(self, who: int, steps: int) -> None:
        for _ in range(steps):
            self.take(self.next_step(self.workers[who]))
            self.all_is_as_told()

    @precondition(lambda self: any(worker.held and worker.held.run for worker in self.workers))
    @rule(who=WHO, how=ENDS)
    def an_attempt_ends_early(self, who: int, how: dict[str, Any]) -> None:
        running = [worker for worker in self.workers if worker.held and worker.held.run]
        self.take(running[who % len(running)].end(**how))

    @precondition(lambda self: any(worker.waits for worker in self.workers))
    @rule(who=WHO)
    def a_page_does_not_come(self, who: int) -> None:
        waiting = [worker for worker in self.workers if worker.waits]
        self.take(waiting[who % len(waiting)].fail_page())

    @precondition(lambda self: any(worker.held for worker in self.workers))
    @rule(who=WHO)
    def a_lease_is_renewed(self, who: int) -> None:
        holding = [worker for worker in self.workers if worker.held]
        self.take(holding[who % len(holding)].renew())

    @precondition(lambda self: any(worker.held for worker in self.workers))
    @rule(who=WHO)
    def a_worker_crashes(self, who: int) -> None:
        holding = [worker for worker in self.workers if worker.held]
        holding[who % len(holding)].crash()

    @precondition(lambda self: self.oracle.expired(self.now()))
    @rule(who=WHO)
    def expired_leases_are_given_back(self, who: int) -> None:
        self.take(self.expiry(self.workers[who]))

    @precondition(lambda self: not all(self.oracle.requests.values()))
    @rule(who=WHO)
    def requests_are_served(self, who: int) -> None:
        self.take(self.serving(self.workers[who]))

    @precondition(lambda self: self.finished)
    @rule(who=WHO)
    def watermarks_are_repaired(self, who: int) -> None:
        self.take(self.repair(self.workers[who]))

    @precondition(lambda self: self.past)
    @rule(which=WHICH)
    def something_is_delivered_again(self, which: int) -> None:
        step = self.delivery(which)
        if step:
            self.take(step)

    @precondition(lambda self: self.finished)
    @rule(who=WHO, which=WHICH)
    def an_event_is_delivered_again(self, who: int, which: int) -> None:
        step = self.event(self.workers[who], which)
        if step:
            self.take(step)

    @precondition(lambda self: self.oracle.tasks)
    @rule(who=WHO, more=st.integers(1, WORKERS - 1), kinds=st.tuples(st.integers(0, 7), st.integers(0, 7)), which=WHICH)
    def two_at_once(self, who: int, more: int, kinds: tuple[int, int], which: int) -> None:
        """The second does its step while the first is about to commit."""
        one, other = self.workers[who], self.workers[(who + more) % WORKERS]
        first, second = (self.any_step(worker, kind, which) for worker, kind in zip((one, other), kinds, strict=True))
        self.apart = False
        try:
            results = overlapped(one.desk.database, first, second)
            for step, result in zip((first, second), results, strict=True):
                self.settle(step, result)
        finally:
            self.apart = True

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

    # --- what must hold -------------------------------------------------------------------------

    @invariant()
    def all_is_as_told(self) -> None:
        self.tasks_are_as_told()
        self.attempts_are_as_told()
        self.every_record_is_counted_once()
        self.plans_end_with_their_tasks()
        self.no_watermark_lies()

    def tasks_are_as_told(self) -> None:
        stored = {
            row["id"]: (
                row["status_code"],
                row["lease_owner"],
                row["fence_no"],
                row["expiry_count"],
                row["attempt_count"],
                checkpoint_of(row["checkpoint"]),
            )
            for row in rows(self.database, ing_task)
        }
        told = {
            key: (task.status, task.owner, task.fence, task.expiries, task.attempts, task.checkpoint)
            for key, task in self.oracle.tasks.items()
        }
        assert stored == told

    def attempts_are_as_told(self) -> None:
        runs = {row["id"]: (row["task_id"], row["status_code"]) for row in rows(self.database, ing_task_run)}
        assert runs == self.oracle.runs
        working = [task_id for task_id, status in runs.values() if status == RunStatus.RUNNING]
        assert len(working) == len(set(working)), "two attempts at a task at once"
        covered = [row["task_id"] for row in rows(self.database, ing_cursor_event) if row["event_type"] == "COVERAGE"]
        assert sorted(covered) == sorted(self.oracle.covered)

    def every_record_is_counted_once(self) -> None:
        stored = {
            row["id"]: (row["task_id"], BatchStatus(row["status_code"]), _counts(row))
            for row in rows(self.database, ing_task_run_batch)
        }
        assert stored == self.oracle.batches
        items = {
            row["provider_id"]: (row["source_updated_at"], row["payload"]) for row in rows(self.database, ing_item)
        }
        assert items == self.oracle.items
        counted = [counts for _, _, counts in stored.values() if counts]
        assert sum(one.inserted for one in counted) == len(items)
        broken = sum(one.quarantined for one in counted)
        assert sum(row["seen_count"] for row in rows(self.database, ing_quarantine)) == broken

    def plans_end_with_their_tasks(self) -> None:
        waiting = set(_with_status(self.database, ResliceStatus.OPEN))
        with_tasks = {task.plan_id for task in self.oracle.tasks.values()}
        for row in rows(self.database, ing_plan):
            told = self.oracle.plan_status(row["id"], waiting.__contains__)
            assert row["status_code"] == told or row["id"] not in with_tasks, (row["id"], told)

    def no_watermark_lies(self) -> None:
        """Never above what was not read, never backwards."""
        for row in rows(self.database, ing_cursor):
            known, value = self.oracle.cursors[row["namespace_key"]], row["normalized_instant"]
            assert known.at_most(value), f"{value} has passed {known.frontier()}, which was not read"
            assert known.not_behind(value), f"{value} was {known.seen}"
            known.seen = value

    def watermarks_are_at_their_frontiers(self) -> None:
        for row in rows(self.database, ing_cursor):
            told = self.oracle.cursors[row["namespace_key"]].frontier()
            assert row["normalized_instant"] == told or not self.apart

    # --- the end --------------------------------------------------------------------------------

    def teardown(self) -> None:
        if sys.exc_info()[0] is None:
            self.everything_comes_to_rest()

    def everything_comes_to_rest(self) -> None:
        """All workers die; one that is left works everything off, and the store holds the truth."""
        for worker in self.workers:
            worker.crash()
        self.time_passes(4 * LOOKBACK_QUARTERS)
        self.work_off(request())
        anchor = self.oracle.cursors[self.workers[0].desk.namespace().key].anchor
        self.work_off(request(BEGIN_HOUR, (anchor - at(0)) / HOUR, operation=BACKFILL, campaign="rest"))
        self.assert_truth()

    def work_off(self, wanted: Any) -> None:
        """Plan and work until nothing is left."""
        worker = self.workers[-1]
        for _ in range(10):
            self.take(self.expiry(worker))
            self.take(self.serving(worker))
            self.take(self.planning(worker, wanted, f"walk {next(self.keys)}"))
            while self.oracle.due(self.now()) or worker.held or worker.behind:
                self.take(self.next_step(worker))
            self.all_is_as_told()
            if not self.oracle.live():
                return
            self.time_passes(3)
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
        self.watermarks_are_at_their_frontiers()


def _with_status(database: Database, status: ResliceStatus) -> list[int]:
    """The tasks whose re-slice requests are so."""
    found = rows(database, ing_reslice_request, ing_reslice_request.c.status_code == status.value)
    return [row["task_id"] for row in found]


def _counts(row: dict[str, Any]) -> Counts | None:
    """What a page came to, each record once."""
    if row["status_code"] != BatchStatus.SUCCEEDED:
        return None
    stats = row["stats"]
    names = ("inserted", "updated", "skipped", "failed")
    counts = Counts(row["record_count"], *(stats[name] for name in names), older=stats["skippedOlder"], equal=stats["skippedEqual"])
    assert counts.received == counts.inserted + counts.updated + counts.skipped + counts.quarantined
    return counts


@pytest.fixture
def databases(database: Database, other: Database) -> Iterator[list[Database]]:
    """One database over every worker's own connections."""
    more = [Database(database.url.render_as_string(hide_password=False)) for _ in range(WORKERS - 2)]
    yield [database, other, *more]
    for one in more:
        one.close()


def walk(databases: list[Database], lengths: tuple[int, int], **how: Any) -> None:
    """So many walks of so many steps."""
    walks, steps = lengths
    profile = settings(
        max_examples=walks, stateful_step_count=steps, deadline=None, suppress_health_check=SLOW, report_multiple_bugs=False, **how
    )
    run_state_machine_as_test(lambda: Walk(databases), settings=profile)  # type: ignore[arg-type]


@pytest.mark.timeout(300)
def test_whatever_workers_do_the_truth_is_stored_and_no_watermark_lies(databases: list[Database], dialect: str) -> None:
    walk(databases, LENGTHS[dialect], derandomize=True, database=None, phases=[Phase.generate])


@pytest.mark.long
@pytest.mark.timeout(900)
def test_on_long_walks_too_the_truth_is_stored_and_no_watermark_lies(databases: list[Database], dialect: str) -> None:
    walk(databases, LONG_LENGTHS[dialect], print_blob=True)
