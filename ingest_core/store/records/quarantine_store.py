"""Quarantine as people see and settle it."""

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from ingest_core.model.codes import Operation, QuarantineReason, QuarantineState
from ingest_core.model.errors import BadInput
from ingest_core.model.partition import Partition
from ingest_core.model.quarantine import (
    QuarantineCount,
    Quarantined,
    QuarantineEntry,
    QuarantineRecord,
    QuarantineReport,
    RefreshRequest,
    Settled,
    UsableRecord,
)
from ingest_core.model.slice_codes import SignalCode, SignalState
from ingest_core.model.window import Window
from ingest_core.store.engine.database import Database
from ingest_core.store.engine.dialect import locked, upsert
from ingest_core.store.schema.columns import partition_values
from ingest_core.store.schema.tables import (
    ing_item,
    ing_plan,
    ing_quarantine,
    ing_schedule_instance,
    ing_signal,
    ing_task,
)

_PAGE = 500
_IN_LIST = 500
_LINEAGE = ("plan_id", "slice_id", "task_id", "run_id", "batch_no")


class SqlQuarantineStore:
    """A RetryStore, and what the commands read and change."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def entries(
        self,
        source: str | None = None,
        limit: int = 1000,
        reason: QuarantineReason | None = None,
        state: QuarantineState | None = None,
    ) -> list[QuarantineEntry]:
        """Rejected records in short, newest first."""
        query = _chosen(source, reason, state).order_by(ing_quarantine.c.id.desc()).limit(limit)
        with self._database.read() as connection:
            return [_short(row) for row in connection.execute(query).mappings()]

    def count(
        self, source: str | None, reason: QuarantineReason | None = None, state: QuarantineState | None = None
    ) -> int:
        """How many there are."""
        counted = sa.select(sa.func.count()).select_from(_chosen(source, reason, state).subquery())
        with self._database.read() as connection:
            return int(connection.execute(counted).scalar_one())

    def tally(
        self,
        source: str | None = None,
        reason: QuarantineReason | None = None,
        state: QuarantineState | None = None,
    ) -> list[QuarantineCount]:
        """Number of rejected records by source, reason and state, the largest first."""
        chosen = _chosen(source, reason, state).subquery()
        key = [chosen.c[name] for name in ("provenance_code", "reason_code", "state_code")]
        query = sa.select(*key, sa.func.count()).group_by(*key).order_by(sa.func.count().desc(), *key)
        with self._database.read() as connection:
            return [QuarantineCount(*row) for row in connection.execute(query)]

    def stream(
        self, source: str | None, reason: QuarantineReason | None = None, state: QuarantineState | None = None
    ) -> Iterator[list[dict[str, Any]]]:
        """Unusable records whole, oldest first, as of one moment; no more than a few are held at once."""
        query = _chosen(source, reason, state).order_by(ing_quarantine.c.id).execution_options(yield_per=_PAGE)
        with self._database.read() as connection:
            for part in connection.execute(query).mappings().partitions():
                yield [_whole(row).json() for row in part]

    def entry(self, row_id: int) -> QuarantineReport:
        """Everything about one, and what became of it; BadInput when there is none."""
        table = ing_quarantine
        with self._database.read() as connection:
            row = connection.execute(sa.select(table).where(table.c.id == row_id)).mappings().first()
            if row is None:
                raise _unknown([row_id])
            task = sa.select(ing_task.c.window_from, ing_task.c.window_to).where(ing_task.c.id == row["task_id"])
            window = connection.execute(task).first()
            return QuarantineReport(
                record=_whole(row),
                window=Window(*window) if window else None,
                item=self._item(connection, row),
                signal=self._signal(connection, row),
            )

    def _item(self, connection: sa.Connection, row: sa.RowMapping) -> UsableRecord | None:
        """The usable record of the same id, if one is stored."""
        item = ing_item
        names = ("id", "source_updated_at", "last_run_id", "last_batch_no", "updated_at")
        query = sa.select(*(item.c[name] for name in names)).where(
            item.c.provenance_code == row["provenance_code"],
            item.c.endpoint_name == row["endpoint_name"],
            item.c.provider_id == row["provider_id"],
        )
        found = connection.execute(query).first()
        return UsableRecord(*found) if found else None

    def _signal(self, connection: sa.Connection, row: sa.RowMapping) -> RefreshRequest | None:
        """The refresh that waits for it or was made, if it was retried by id."""
        table = ing_signal
        query = sa.select(table.c.endpoint_name, table.c.state_code, table.c.updated_at).where(
            table.c.provenance_code == row["provenance_code"],
            table.c.provider_id == row["provider_id"],
            table.c.signal_code == SignalCode.QUARANTINE.value,
        )
        found = connection.execute(query.order_by(table.c.id.desc()).limit(1)).first()
        return RefreshRequest(*found) if found else None

    def named(self, row_ids: Sequence[int]) -> list[Quarantined]:
        """These rows, whatever their state; BadInput when one is unknown."""
        found = self._retryable(ing_quarantine.c.id.in_(row_ids), len(row_ids))
        missing = set(row_ids) - {one.row_id for one in found}
        if missing:
            raise _unknown(sorted(missing))
        return found

    def open_entries(self, source: str, reason: QuarantineReason | None, limit: int) -> list[Quarantined]:
        """A source's open rows, oldest first."""
        table = ing_quarantine
        chosen = sa.and_(
            table.c.provenance_code == source,
            table.c.state_code == QuarantineState.OPEN.value,
            table.c.reason_code == reason.value if reason else sa.true(),
        )
        return self._retryable(chosen, limit)

    def _retryable(self, which: sa.ColumnElement[bool], limit: int) -> list[Quarantined]:
        table, task, plan, instance = ing_quarantine, ing_task, ing_plan, ing_schedule_instance
        query = (
            sa.select(table, task.c.window_from, task.c.window_to, instance.c.trigger_params)
            .outerjoin(task, task.c.id == table.c.task_id)
            .outerjoin(plan, plan.c.id == table.c.plan_id)
            .outerjoin(instance, instance.c.id == plan.c.schedule_instance_id)
            .where(which)
            .order_by(table.c.id)
            .limit(limit)
        )
        with self._database.read() as connection:
            return [_retryable(row) for row in connection.execute(query).mappings()]

    def settle(self, row_ids: Sequence[int], state: QuarantineState, reason: str) -> list[Settled]:
        """Set the state of these rows; what changed. BadInput, and nothing changes, when one is unknown."""
        table, remarks = ing_quarantine, {"cause": "SETTLED", "reason": reason}

        def work(connection: sa.Connection) -> list[Settled]:
            query = sa.select(table.c.id, table.c.state_code).where(table.c.id.in_(row_ids)).order_by(table.c.id)
            before = {row.id: row.state_code for row in connection.execute(locked(query))}
            missing = sorted(set(row_ids) - set(before))
            if missing:
                raise _unknown(missing)
            self._set(connection, list(before), state, remarks)
            return [Settled(row_id, was, state.value) for row_id, was in before.items()]

        return self._database.transact(work)

    def signal(self, partition: Partition, campaign: str, entries: Sequence[Quarantined]) -> None:
        """The rows are RETRYING, and their ids wait to be refreshed, together."""
        remarks = {"cause": "RETRY", "campaign": campaign, "operation": Operation.UPDATE.value}
        ids = sorted({entry.provider_id for entry in entries if entry.provider_id is not None})

        def work(connection: sa.Connection) -> None:
            now = self._database.now(connection)
            common = {
                **partition_values(partition),
                "campaign": campaign,
                "signal_code": SignalCode.QUARANTINE.value,
                "state_code": SignalState.OPEN.value,
                "created_at": now,
                "updated_at": now,
            }
            key = ("campaign", "provenance_code", "endpoint_name", "provider_id")
            statement = upsert(connection.dialect.name, ing_signal, key, take=("state_code", "updated_at"))
            connection.execute(statement, [{**common, "provider_id": one} for one in ids])
            self._set(connection, [entry.row_id for entry in entries], QuarantineState.RETRYING, remarks)

        self._database.transact(work)

    def mark_retrying(self, row_ids: Sequence[int], campaign: str) -> None:
        """The rows wait for a campaign that reads their window."""
        remarks = {"cause": "RETRY", "campaign": campaign, "operation": Operation.BACKFILL.value}
        self._database.transact(lambda one: self._set(one, row_ids, QuarantineState.RETRYING, remarks))

    def give_up(self, row_ids: Sequence[int], reason: str) -> None:
        """The rows are open again: there will be no such campaign."""
        remarks = {"cause": "RETRY_FAILED", "reason": reason}
        self._database.transact(lambda one: self._set(one, row_ids, QuarantineState.OPEN, remarks))

    def _set(
        self, connection: sa.Connection, row_ids: Sequence[int], state: QuarantineState, remarks: dict[str, Any]
    ) -> None:
        values = {"state_code": state.value, "record_remarks": remarks, "updated_at": self._database.now(connection)}
        ordered = sorted(row_ids)
        for start in range(0, len(ordered), _IN_LIST):
            chosen = ing_quarantine.c.id.in_(ordered[start : start + _IN_LIST])
            connection.execute(sa.update(ing_quarantine).where(chosen).values(values))


def _chosen(source: str | None, reason: QuarantineReason | None, state: QuarantineState | None) -> sa.Select[Any]:
    table = ing_quarantine
    wanted = {"provenance_code": source, "reason_code": reason, "state_code": state}
    return sa.select(table).where(*(table.c[name] == str(value) for name, value in wanted.items() if value))


def _short(row: sa.RowMapping) -> QuarantineEntry:
    return QuarantineEntry(
        row_id=row["id"],
        source=row["provenance_code"],
        endpoint=row["endpoint_name"],
        provider_id=row["provider_id"],
        reason_code=row["reason_code"],
        json_path=row["json_path"],
        state=row["state_code"],
    )


def _whole(row: sa.RowMapping) -> QuarantineRecord:
    return QuarantineRecord(
        entry=_short(row),
        operation=row["operation_code"],
        fragment=row["fragment"],
        fragment_hash=row["fragment_hash"],
        **{name: row[name] for name in _LINEAGE},
        seen_count=row["seen_count"],
        remarks=row["record_remarks"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _retryable(row: sa.RowMapping) -> Quarantined:
    """A refresh by id has a window in name only."""
    timed = row["operation_code"] != Operation.UPDATE.value and row["window_from"] is not None
    return Quarantined(
        row_id=row["id"],
        source=row["provenance_code"],
        endpoint=row["endpoint_name"],
        provider_id=row["provider_id"],
        seen_count=row["seen_count"],
        window=Window(row["window_from"], row["window_to"]) if timed else None,
        query=(row["trigger_params"] or {}).get("query"),
    )


def _unknown(row_ids: list[int]) -> BadInput:
    return BadInput(
        "QUARANTINE_UNKNOWN",
        f"there is no row {', '.join(map(str, row_ids))}",
        where="quarantine",
        remedy="see: patra quarantine list",
    )
