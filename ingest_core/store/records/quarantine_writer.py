"""Unusable records into `ing_quarantine`, and out of it once they come back usable."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ingest_core.execution.ports import Batch, Run
from ingest_core.model.codes import Operation, PlanStatus, QuarantineReason, QuarantineState
from ingest_core.model.record import BadId, PageOutcome, Rejected
from ingest_core.model.task import Task
from ingest_core.store.engine.dialect import locked, select_by_ids, upsert
from ingest_core.store.schema.tables import ing_plan, ing_quarantine

_IN_LIST = 500
UNSETTLED = (QuarantineState.OPEN.value, QuarantineState.RETRYING.value)


def _written(state: QuarantineState) -> sa.ColumnElement[str]:
    """The state in the statement's own text: PyMySQL takes no parameters after the values of many rows."""
    return sa.literal_column(f"'{state.value}'")


_OPEN_UNLESS_DISCARDED = sa.case(
    (ing_quarantine.c.state_code == _written(QuarantineState.DISCARDED), _written(QuarantineState.DISCARDED)),
    else_=_written(QuarantineState.OPEN),
)


@dataclass(frozen=True)
class QuarantineWriter:
    """Writes what a page says of unusable records, inside the page's transaction."""

    connection: sa.Connection
    run: Run
    batch: Batch
    now: datetime

    def write(self, page: PageOutcome) -> None:
        """Usable and deleted records leave quarantine, unusable ones enter it or are open in it again."""
        if self._any_unsettled():
            bad = {entry.provider_id for entry in page.rejected if entry.provider_id}
            self._release({one.provider_id for one in page.records} - bad, "USABLE")
            self._release({one.provider_id for one in page.gone} - bad, "GONE")
            self._reopen(bad)
        self._add([*page.rejected, *page.notes])

    def _mine(self) -> list[sa.ColumnElement[bool]]:
        table, task = ing_quarantine, self.run.task
        source = task.partition.provenance_code
        return [table.c.provenance_code == source, table.c.endpoint_name == task.item_endpoint]

    def _any_unsettled(self) -> bool:
        """Spares a clean source the search by id."""
        table = ing_quarantine
        query = sa.select(sa.literal(1)).where(*self._mine(), table.c.state_code.in_(UNSETTLED)).limit(1)
        return self.connection.execute(query).first() is not None

    def _release(self, ids: set[str], cause: str) -> None:
        """Leave rows that were seen after this page was requested: this page is older."""
        wanted = ing_quarantine.c.state_code.in_(UNSETTLED)
        seen_before = ing_quarantine.c.updated_at < self.batch.asked_at
        remarks = {"cause": cause, "run_id": self.run.run_id, "batch_no": self.batch.batch_no}
        for found in self._find(ids, wanted, seen_before):
            _set_state(self.connection, found, QuarantineState.RELEASED, remarks, self.now)

    def _reopen(self, ids: set[str]) -> None:
        """A retry that brought the record back unusable, even if in other words, is over."""
        remarks = {"cause": "UNUSABLE_AGAIN", "run_id": self.run.run_id, "batch_no": self.batch.batch_no}
        for found in self._find(ids, ing_quarantine.c.state_code == QuarantineState.RETRYING.value):
            _set_state(self.connection, found, QuarantineState.OPEN, remarks, self.now)

    def _find(self, ids: set[str], *which: sa.ColumnElement[bool]) -> Iterator[list[int]]:
        """The rows of these ids, locked in order, some at a time; most pages have none."""
        table, ordered = ing_quarantine, sorted(ids)
        dialect_name, within = self.connection.dialect.name, sa.and_(*self._mine(), *which)
        for start in range(0, len(ordered), _IN_LIST):
            query = select_by_ids(
                dialect_name, [table.c.id], within, table.c.provider_id, ordered[start : start + _IN_LIST]
            )
            if seen := list(self.connection.execute(query).scalars()):
                again = sa.select(table.c.id).where(table.c.id.in_(seen), *which).order_by(table.c.id)
                yield list(self.connection.execute(locked(again)).scalars())

    def _add(self, rejected: list[Rejected]) -> None:
        if not rejected:
            return
        table = ing_quarantine
        statement = upsert(
            self.connection.dialect.name,
            table,
            ("provenance_code", "endpoint_name", "fragment_hash", "reason_code"),
            take=("updated_at",),
            add=("seen_count",),
            also={"state_code": _OPEN_UNLESS_DISCARDED},
        )
        rows = [self._row(entry) for entry in rejected]
        self.connection.execute(statement, sorted(rows, key=lambda row: (row["fragment_hash"], row["reason_code"])))

    def _row(self, entry: Rejected) -> dict[str, Any]:
        task = self.run.task
        return {
            "provenance_code": task.partition.provenance_code,
            "endpoint_name": task.item_endpoint,
            "operation_code": task.partition.operation_code.value,
            "provider_id": entry.provider_id,
            "reason_code": entry.reason.value,
            "json_path": entry.json_path,
            "fragment": entry.fragment,
            "fragment_hash": entry.fragment_hash,
            "plan_id": task.lineage.plan_id,
            "slice_id": task.lineage.slice_id,
            "task_id": task.lineage.task_id,
            "run_id": self.run.run_id,
            "batch_no": self.batch.batch_no,
            "state_code": QuarantineState.OPEN.value,
            "seen_count": 1,
            "created_at": self.now,
            "updated_at": self.now,
        }


def read_bad_ids(connection: sa.Connection, task: Task, ids: list[str]) -> dict[str, BadId]:
    """Which of these ids' details failed before; those that were released are forgotten."""
    table, found = ing_quarantine, dict[str, BadId]()
    for start in range(0, len(ids), _IN_LIST):
        query = sa.select(table.c.provider_id, table.c.seen_count, table.c.state_code).where(
            table.c.provenance_code == task.partition.provenance_code,
            table.c.endpoint_name == task.item_endpoint,
            table.c.provider_id.in_(ids[start : start + _IN_LIST]),
            table.c.reason_code == QuarantineReason.DETAIL_FAILED.value,
            table.c.state_code != QuarantineState.RELEASED.value,
        )
        for provider_id, times, state in connection.execute(query):
            found[provider_id] = BadId(times, QuarantineState(state))
    return found


def count_known(connection: sa.Connection, task: Task, rejected: list[Rejected]) -> int:
    """How many of these are in quarantine already, by their id or as they are; those released are forgotten."""
    named = [entry.provider_id for entry in rejected if entry.provider_id]
    ids = _present(connection, task, ing_quarantine.c.provider_id, named)
    hashes = _present(connection, task, ing_quarantine.c.fragment_hash, [entry.fragment_hash for entry in rejected])
    return sum(entry.provider_id in ids or entry.fragment_hash in hashes for entry in rejected)


def _present(connection: sa.Connection, task: Task, column: sa.Column[Any], values: list[str]) -> set[str]:
    """Which of these values the column has among the task's records."""
    table, found = ing_quarantine, set[str]()
    for start in range(0, len(values), _IN_LIST):
        query = sa.select(column).where(
            table.c.provenance_code == task.partition.provenance_code,
            table.c.endpoint_name == task.item_endpoint,
            column.in_(values[start : start + _IN_LIST]),
            table.c.state_code != QuarantineState.RELEASED.value,
        )
        found.update(connection.execute(query).scalars())
    return found


def settle_retries(connection: sa.Connection, plan_id: int, ended: PlanStatus, now: datetime) -> None:
    """What a campaign read for and did not see again is gone; if it could not read all, the rows are open again."""
    plan, table = ing_plan, ing_quarantine
    about = sa.select(plan.c.provenance_code, plan.c.endpoint_name, plan.c.operation_code, plan.c.record_remarks)
    row = connection.execute(about.where(plan.c.id == plan_id)).one()
    campaign = (row.record_remarks or {}).get("campaign")
    if row.operation_code != Operation.BACKFILL.value or campaign is None:
        return
    query = sa.select(table.c.id, table.c.record_remarks).where(
        table.c.provenance_code == row.provenance_code,
        table.c.endpoint_name == row.endpoint_name,
        table.c.state_code == QuarantineState.RETRYING.value,
    )
    waiting = connection.execute(locked(query.order_by(table.c.id))).all()
    found = [one.id for one in waiting if (one.record_remarks or {}).get("campaign") == campaign]
    whole = ended == PlanStatus.SUCCEEDED
    state, cause = (QuarantineState.RELEASED, "NOT_SEEN_AGAIN") if whole else (QuarantineState.OPEN, "RETRY_FAILED")
    for start in range(0, len(found), _IN_LIST):
        remarks = {"cause": cause, "campaign": campaign, "plan_id": plan_id}
        _set_state(connection, found[start : start + _IN_LIST], state, remarks, now)


def _set_state(
    connection: sa.Connection, ids: list[int], state: QuarantineState, remarks: dict[str, Any], now: datetime
) -> None:
    values = {"state_code": state.value, "record_remarks": remarks, "updated_at": now}
    connection.execute(sa.update(ing_quarantine).where(ing_quarantine.c.id.in_(ids)).values(values))
