"""The paging law's bench on the product's own planner, queue, ledger and cursors."""

from dataclasses import replace
from datetime import timedelta
from functools import lru_cache
from threading import Event

import sqlalchemy as sa

from ingest_core.execution.ports import Run, RunOutcome
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.task import Task
from ingest_core.store.engine.database import Database
from ingest_core.store.ledger.run_ledger import SqlRunLedger
from ingest_core.store.schema.tables import (
    ing_cursor,
    ing_cursor_event,
    ing_item,
    ing_quarantine,
    ing_task,
    ing_task_run,
    ing_task_run_batch,
)
from tests.models.habit_pages import BEGIN, Killed
from tests.models.habit_provider import HabitProvider
from tests.models.habits import Habits, Source, Stop, blocks_of, unit_seconds
from tests.models.paging_law import Ended
from tests.support.books import compiled
from tests.support.tables import clear, rows
from tests.support.upstream import ScriptedGate
from tests.support.wiring import runner_of, wire
from tests.support.working import plan_harvest

LEASE_SECONDS = 600


@lru_cache(maxsize=4096)
def spec_of(habits: Habits, source: Source) -> SpecSnapshot:
    """What the plan runs on."""
    return compiled(**blocks_of(habits, source))


def hurried(task: Task) -> Task:
    """The task with time for one page."""
    assert task.budget is not None
    return replace(task, budget=task.budget.model_copy(update={"max_duration_sec": 0}))


class MortalLedger(SqlRunLedger):
    """A RunLedger whose worker may die before it ends a task, once."""

    dies = False

    def finish(self, run: Run, outcome: RunOutcome) -> None:
        """End the attempt, unless the worker dies first."""
        if self.dies:
            self.dies = False
            raise Killed
        super().finish(run, outcome)


class SqlBench:
    """A Bench on a migrated database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._ledger = MortalLedger(database)
        self._stores = replace(wire(database), ledger=self._ledger)
        self._hurried = False

    def plan(self, habits: Habits, source: Source) -> None:
        """Begin anew with a plan of the whole window."""
        self._database.clock_shift = timedelta(0)
        self._hurried = source.hurried
        self._ledger.dies = habits.stop is not None and habits.stop[1] == Stop.KILLED_AT_END
        clear(self._database)
        until = BEGIN + timedelta(seconds=habits.units * unit_seconds(habits))
        plan_harvest(self._stores, BEGIN, until, spec=spec_of(habits, source))

    def work(self, provider: HabitProvider, stop: Event) -> bool:
        """Work the next task, or cut what waits to be cut; whether there was anything to do."""
        queue = self._stores.queue
        task = queue.claim("ann", LEASE_SECONDS)
        if task is None:
            return bool(self._stores.reslicer.serve().children) or self._hurry()
        try:
            runner_of(self._stores, provider, stop, ScriptedGate()).run(hurried(task) if self._hurried else task)
        except Killed:
            self._database.clock_shift += timedelta(seconds=2 * LEASE_SECONDS)
            queue.give_back_expired()
        return True

    def _hurry(self) -> bool:
        """Make tasks due that wait for a later time; whether there are any."""
        now = self._database.now_sql()
        waiting = sa.update(ing_task).where(ing_task.c.status_code == "QUEUED", ing_task.c.scheduled_at > now)
        with self._database.write() as connection:
            return connection.execute(waiting.values(scheduled_at=now)).rowcount > 0

    def read(self, ended: Ended) -> None:
        """What is stored."""
        database = self._database
        ended.tasks, ended.runs = rows(database, ing_task), rows(database, ing_task_run)
        ended.batches = rows(database, ing_task_run_batch)
        ended.events = rows(database, ing_cursor_event, ing_cursor_event.c.event_type == "COVERAGE")
        ended.items = {row["provider_id"]: row["state_code"] for row in rows(database, ing_item)}
        ended.quarantine = rows(database, ing_quarantine)
        ended.watermark = rows(database, ing_cursor)[0]["normalized_instant"]
