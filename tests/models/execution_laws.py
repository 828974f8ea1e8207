"""What must hold at any moment of execution: the store against the oracle, which only knows what was done."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa

from ingest_core.model.codes import BatchStatus, EventType, ResliceStatus, RunStatus
from ingest_core.model.record import Counts
from ingest_core.model.window import Window
from ingest_core.store.engine.database import Database
from ingest_core.store.ledger.checkpoints import checkpoint_of
from ingest_core.store.schema.tables import (
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
from tests.models.execution_model import Oracle
from tests.support.tables import rows

Look = Callable[..., Sequence[Any]]
"""Some columns of every row of a table."""


def _look(connection: sa.Connection, table: sa.Table, *names: str) -> Sequence[Any]:
    return connection.execute(sa.select(*(table.c[name] for name in names))).all()


class Laws:
    """Compares a store with its oracle."""

    def __init__(self, database: Database, oracle: Oracle) -> None:
        self.database = database
        self.oracle = oracle

    def hold(self) -> None:
        """All of them, at this moment."""
        with self.database.read() as connection:
            look = partial(_look, connection)
            self.tasks_are_as_told(look)
            self.attempts_are_as_told(look)
            self.every_record_is_counted_once(look)
            self.plans_end_with_their_tasks(look)
            self.no_watermark_lies(look)

    def tasks_are_as_told(self, look: Look) -> None:
        names = (
            "id",
            "status_code",
            "lease_owner",
            "fence_no",
            "expiry_count",
            "blamed_count",
            "attempt_count",
            "checkpoint",
        )
        stored = {key: (*plain, checkpoint_of(place)) for key, *plain, place in look(ing_task, *names)}
        assert stored == {
            key: (task.status, task.owner, task.fence, task.expiries, task.blamed, task.attempts, task.checkpoint)
            for key, task in self.oracle.tasks.items()
        }

    def attempts_are_as_told(self, look: Look) -> None:
        runs = {key: (task_id, status) for key, task_id, status in look(ing_task_run, "id", "task_id", "status_code")}
        assert runs == self.oracle.runs
        working = [task_id for task_id, status in runs.values() if status == RunStatus.RUNNING]
        assert len(working) == len(set(working)), "two attempts at a task at once"
        events = look(ing_cursor_event, "event_type", "task_id", "window_from", "window_to")
        covered = [(task_id, Window(*window)) for kind, task_id, *window in events if kind == EventType.COVERAGE]
        assert sorted(covered) == sorted(self.oracle.covered)

    def every_record_is_counted_once(self, look: Look) -> None:
        pages = look(ing_task_run_batch, "id", "task_id", "status_code", "record_count", "stats")
        stored = {key: (task_id, BatchStatus(status), _counts(*counted)) for key, task_id, status, *counted in pages}
        assert stored == self.oracle.batches
        versions = look(ing_item, "provider_id", "source_updated_at", "payload")
        assert {name: (changed_at, payload) for name, changed_at, payload in versions} == self.oracle.items
        counted = [counts for _, _, counts in stored.values() if counts]
        assert sum(one.inserted for one in counted) == len(versions)
        broken = sum(one.quarantined for one in counted)
        assert sum(number for (number,) in look(ing_quarantine, "seen_count")) == broken

    def plans_end_with_their_tasks(self, look: Look) -> None:
        requests = look(ing_reslice_request, "task_id", "status_code")
        waiting = {task_id for task_id, status in requests if status == ResliceStatus.OPEN}
        with_tasks = {task.plan_id for task in self.oracle.tasks.values()}
        for key, status in look(ing_plan, "id", "status_code"):
            told = self.oracle.plan_status(key, waiting)
            assert status == told or key not in with_tasks, (key, status, told)

    def no_watermark_lies(self, look: Look) -> None:
        """Never above what was not read, never backwards."""
        for key, value in look(ing_cursor, "namespace_key", "normalized_instant"):
            known = self.oracle.cursors[key]
            assert known.at_most(value), f"{value} has passed {known.frontier()}, which was not read"
            assert known.not_behind(value), f"{value} was {known.seen}"
            known.seen = value

    def watermarks_are_at_their_frontiers(self) -> None:
        for row in rows(self.database, ing_cursor):
            told = self.oracle.cursors[row["namespace_key"]].frontier()
            assert row["normalized_instant"] == told


def requests_in(database: Database, status: ResliceStatus) -> list[int]:
    """The tasks whose re-slice requests are so."""
    found = rows(database, ing_reslice_request, ing_reslice_request.c.status_code == status.value)
    return [row["task_id"] for row in found]


def _counts(received: int, stats: dict[str, Any] | None) -> Counts | None:
    """What a page came to, each record once; none if it has not come."""
    if not stats:
        return None
    names = ("inserted", "updated", "skipped", "failed")
    skips = {"older": stats["skippedOlder"], "equal": stats["skippedEqual"], "gone": stats["gone"]}
    counts = Counts(received, *(stats[name] for name in names), **skips)
    assert received == counts.inserted + counts.updated + counts.skipped + counts.gone + counts.quarantined
    assert counts.skipped == counts.older + counts.equal
    return counts
