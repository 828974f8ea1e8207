"""Attempts and pages: every writing transaction begins with the fence."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

import sqlalchemy as sa

from ingest_core.execution.ports import Batch, Run, RunOutcome
from ingest_core.model.canonical import hash_of
from ingest_core.model.checkpoint import Checkpoint
from ingest_core.model.clock import CLOCK_SLACK
from ingest_core.model.codes import BatchStatus, EventType, Operation, RunStatus, TaskStatus
from ingest_core.model.errors import PagingLoop
from ingest_core.model.record import Arrivals, BadId, Counts, PageOutcome, Rejected, Witnesses
from ingest_core.model.task import FlowRun, Task
from ingest_core.model.window import Window
from ingest_core.store.cursors.events import append_event
from ingest_core.store.engine.database import Database
from ingest_core.store.engine.dialect import analyze_new, plans_by_counts
from ingest_core.store.ledger.checkpoints import checkpoint_json
from ingest_core.store.ledger.estimates import note_arrivals, note_reading
from ingest_core.store.ledger.lease import fenced_update
from ingest_core.store.ledger.reslice_requests import request_reslice
from ingest_core.store.ledger.settle import close_batches, close_runs, count_weak_end, settle_task
from ingest_core.store.ledger.transitions import move, move_one
from ingest_core.store.records.item_owner import under_owner
from ingest_core.store.records.item_reader import read_witnesses
from ingest_core.store.records.item_writer import ItemWriter
from ingest_core.store.records.quarantine_writer import count_known, read_bad_ids
from ingest_core.store.schema.columns import partition_values
from ingest_core.store.schema.tables import ing_item, ing_quarantine, ing_task, ing_task_run, ing_task_run_batch

T = TypeVar("T")
_ABANDONED = {"code": "ABANDONED", "message": "another attempt took the task over"}


class SqlRunLedger:
    """A RunLedger; with `publishing`, a message for each changed record commits with its page."""

    def __init__(self, database: Database, *, publishing: bool = False) -> None:
        self._database = database
        self._publishing = publishing

    def _fenced(self, run: Run, work: Callable[[sa.Connection, datetime], T]) -> T:
        """One transaction whose first statement is the fence."""

        def guarded(connection: sa.Connection) -> T:
            fenced_update(self._database, connection, run.task.lease, run.attempt_no)
            return work(connection, self._database.now(connection))

        return self._database.transact(guarded)

    def begin_run(self, task: Task, flow: FlowRun) -> Run:
        """Open an attempt; older ones left open are closed as abandoned."""

        def work(connection: sa.Connection, now: datetime) -> Run:
            close_runs(connection, task.lease.task_id, _ABANDONED, now)
            result = connection.execute(
                sa.insert(ing_task_run).values(
                    schedule_instance_id=task.lineage.schedule_instance_id,
                    plan_id=task.lineage.plan_id,
                    slice_id=task.lineage.slice_id,
                    task_id=task.lineage.task_id,
                    **partition_values(task.partition),
                    attempt_no=task.attempt_no,
                    fence_no=task.lease.fence_no,
                    lease_owner=task.lease.owner,
                    flow_run_id=flow.flow_run_id,
                    flow_task_run_id=flow.flow_task_run_id,
                    status_code=RunStatus.RUNNING.value,
                    checkpoint=checkpoint_json(task.checkpoint),
                    window_from=task.window.start,
                    window_to=task.window.end,
                    expr_hash=task.expr_hash,
                    started_at=now,
                    created_at=now,
                    updated_at=now,
                )
            )
            connection.execute(
                sa.update(ing_task)
                .where(ing_task.c.id == task.lease.task_id)
                .values(started_at=sa.func.coalesce(ing_task.c.started_at, self._database.now_sql()))
            )
            key = result.inserted_primary_key
            assert key is not None
            return Run(int(key[0]), task.attempt_no, task)

        def guarded(connection: sa.Connection) -> Run:
            begun = TaskStatus.EXECUTING.value
            fenced_update(self._database, connection, task.lease, status_code=begun, attempt_count=task.attempt_no)
            return work(connection, self._database.now(connection))

        return self._database.transact(guarded)

    def open_batch(self, run: Run, page_no: int, batch_no: int, token: str | None, before_hash: str) -> Batch:
        """Write down that a page is about to be asked for."""
        task, table = run.task, ing_task_run_batch

        def work(connection: sa.Connection, now: datetime) -> Batch:
            repeated = connection.execute(
                sa.select(table.c.batch_no).where(table.c.run_id == run.run_id, table.c.before_hash == before_hash)
            ).scalar()
            if repeated is not None:
                raise PagingLoop(f"page {page_no} asks for what batch {repeated} of run {run.run_id} asked for")
            result = connection.execute(
                sa.insert(table).values(
                    plan_id=task.lineage.plan_id,
                    slice_id=task.lineage.slice_id,
                    task_id=task.lineage.task_id,
                    run_id=run.run_id,
                    **partition_values(task.partition),
                    batch_no=batch_no,
                    page_no=page_no,
                    page_size=task.spec.paging.page_size,
                    before_token=token,
                    before_hash=before_hash,
                    idempotent_key=hash_of(run.run_id, batch_no, before_hash),
                    expr_hash=task.expr_hash,
                    status_code=BatchStatus.RUNNING.value,
                    asked_at=now,
                    created_at=now,
                    updated_at=now,
                )
            )
            key = result.inserted_primary_key
            assert key is not None
            return Batch(int(key[0]), batch_no, page_no, now)

        return self._fenced(run, work)

    def commit_page(self, run: Run, batch: Batch, page: PageOutcome, checkpoint: Checkpoint) -> Counts:
        """Records, messages, quarantine, ledger and checkpoint together; a page that was committed is only read."""
        table = ing_task_run_batch

        def work(connection: sa.Connection, now: datetime) -> Counts:
            row = connection.execute(
                sa.select(table.c.status_code, table.c.stats).where(table.c.id == batch.batch_id)
            ).one()
            if row.status_code == BatchStatus.SUCCEEDED.value:
                return _counts_of(row.stats)
            owned = replace(run, task=under_owner(connection, run.task, lock=True))
            counts = ItemWriter(connection, owned, batch, now, self._publishing).write(page)
            move_one(
                connection,
                table,
                batch.batch_id,
                BatchStatus.SUCCEEDED,
                record_count=counts.received,
                after_token=page.after_token,
                id_hashes=page.id_hashes,
                request_digest=page.request_digest,
                response_digest=page.response_digest,
                stats=_stats_of(counts, page),
                committed_at=now,
                updated_at=now,
            )
            connection.execute(
                sa.update(ing_task)
                .where(ing_task.c.id == run.task.lease.task_id)
                .values(checkpoint=checkpoint_json(checkpoint), expiry_count=0, blamed_count=0)
            )
            return counts

        counts = self._fenced(run, work)
        if batch.batch_no == 1 and plans_by_counts(self._database.dialect_name):
            self._database.transact(lambda connection: analyze_new(connection, ing_item, ing_quarantine))
        return counts

    def fail_batch(self, run: Run, batch: Batch, error: dict[str, Any]) -> None:
        """Close a page that did not come."""
        table = ing_task_run_batch

        def work(connection: sa.Connection, now: datetime) -> None:
            move(connection, table, BatchStatus.FAILED, table.c.id == batch.batch_id, error=error, updated_at=now)

        self._fenced(run, work)

    def seen_ids(self, task: Task, since: datetime, until: datetime | None = None) -> bytes:
        """The id hashes of every page of the task that is committed and was asked for in that time."""
        table = ing_task_run_batch
        query = (
            sa.select(table.c.id_hashes)
            .where(
                table.c.task_id == task.lease.task_id,
                table.c.status_code == BatchStatus.SUCCEEDED.value,
                table.c.asked_at >= since,
                *([table.c.asked_at < until] if until else []),
            )
            .order_by(table.c.id)
        )
        with self._database.read() as connection:
            return b"".join(row for row in connection.execute(query).scalars() if row)

    def bad_ids(self, task: Task, ids: list[str]) -> dict[str, BadId]:
        """Which of these ids' details failed before; those that were released are forgotten."""
        with self._database.read() as connection:
            return read_bad_ids(connection, under_owner(connection, task), ids)

    def witnesses(self, task: Task, ids: list[str]) -> Witnesses:
        """How many of these ids' records are stored and not GONE, and some others that are."""
        with self._database.read() as connection:
            return read_witnesses(connection, under_owner(connection, task), ids)

    def known_bad(self, task: Task, rejected: list[Rejected]) -> int:
        """How many of these are in quarantine already, by their id or as they are."""
        with self._database.read() as connection:
            return count_known(connection, under_owner(connection, task), rejected)

    def finish(self, run: Run, outcome: RunOutcome) -> None:
        """End the attempt and settle the task, its slice, its plan and, on success, its coverage."""
        self._fenced(run, lambda connection, now: self._finish(connection, run, outcome, now))

    def _finish(self, connection: sa.Connection, run: Run, outcome: RunOutcome, now: datetime) -> None:
        task, status = run.task, outcome.task_status
        requeued = status == TaskStatus.QUEUED
        values: dict[str, Any] = {
            "lease_owner": None,
            "leased_until": None,
            "last_error": outcome.error,
            "finished_at": None if requeued else now,
        }
        if requeued:
            values["scheduled_at"] = now + outcome.retry_in
        if outcome.checkpoint is not None:
            values["checkpoint"] = checkpoint_json(outcome.checkpoint)
        move_one(connection, ing_task, task.lease.task_id, status, **values)
        if outcome.error:
            close_batches(connection, [task.lease.task_id], outcome.error, now)
        ended = RunStatus.FAILED if requeued else RunStatus(status.value)
        ending = {"stats": outcome.stats, "error": outcome.error, "finished_at": now, "updated_at": now}
        move_one(connection, ing_task_run, run.run_id, ended, **ending)
        covered = task.window if status == TaskStatus.SUCCEEDED else outcome.covered
        if covered and task.spec.window is not None:  # a refresh by id covers no time
            self._cover(connection, run, outcome, covered, now)
        if status == TaskStatus.SUCCEEDED and task.spec.window is not None:
            note_reading(connection, task, outcome.stats, now)
        if outcome.reslice:
            rest = Window(covered.end if covered else task.window.start, task.window.end)
            request_reslice(connection, task, run.run_id, outcome.reslice, rest, now)
        if task.partition.operation_code == Operation.HARVEST and outcome.arrivals != Arrivals():
            note_arrivals(self._database, connection, task, outcome.arrivals, now)
        if status == TaskStatus.SUCCEEDED and outcome.stats.get("weakEnd"):
            count_weak_end(connection, task.lineage.plan_id, now)
        if not requeued:
            settle_task(connection, task.lineage.plan_id, task.lineage.slice_id, status, now)

    def _cover(self, connection: sa.Connection, run: Run, outcome: RunOutcome, covered: Window, now: datetime) -> None:
        """The coverage event commits with the end of the task; the watermark follows later."""
        task = run.task
        assert outcome.as_of is not None
        # Asked for by a clock that was ahead and has been set back: when that was is not known, so nothing is covered.
        misdated = outcome.as_of > now + CLOCK_SLACK
        append_event(
            connection,
            task.namespace,
            EventType.VOID if misdated else EventType.COVERAGE,
            covered,
            now=now,
            as_of=outcome.as_of,
            lineage={
                "schedule_instance_id": task.lineage.schedule_instance_id,
                "plan_id": task.lineage.plan_id,
                "slice_id": task.lineage.slice_id,
                "task_id": task.lineage.task_id,
                "run_id": run.run_id,
                "expr_hash": task.expr_hash,
            },
            key_parts=(task.lineage.task_id, covered.json(), *([task.range.json()] if task.range else [])),
            value=covered.end,
            observed_max=outcome.observed_max,
            part=task.range,
        )


def _stats_of(counts: Counts, page: PageOutcome) -> dict[str, Any]:
    return {
        "itemsCount": counts.received,
        "inserted": counts.inserted,
        "updated": counts.updated,
        "skipped": counts.skipped,
        "skippedOlder": counts.older,
        "skippedEqual": counts.equal,
        "gone": counts.gone,
        "failed": counts.quarantined,
        "late": counts.late,
        "hasNext": page.has_next,
        **page.http_stats,
    }


def _counts_of(stats: dict[str, Any]) -> Counts:
    names = ("itemsCount", "inserted", "updated", "skipped", "failed", "late", "skippedOlder", "skippedEqual", "gone")
    return Counts(*(stats.get(name, 0) for name in names))
