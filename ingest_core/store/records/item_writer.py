"""Records into `ing_item`, in bulk and exactly counted."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from ingest_core.execution.deletion import decide_deletions, now_gone
from ingest_core.execution.overwrite import PageWrites, Stored, decide_fills, decide_overwrites
from ingest_core.execution.ports import Batch, Run
from ingest_core.model.canonical import hash_text
from ingest_core.model.clock import CLOCK_SLACK
from ingest_core.model.codes import GoneReason, ItemState, OnEqual, OnRefresh, Operation
from ingest_core.model.instant import EPOCH
from ingest_core.model.record import Counts, Gone, PageOutcome, Record
from ingest_core.store.engine.bulk import BulkInsert, insert_rows
from ingest_core.store.engine.dialect import locked, select_by_ids, upsert
from ingest_core.store.outbox.writer import write_messages
from ingest_core.store.records.quarantine_writer import QuarantineWriter
from ingest_core.store.schema.tables import ing_item

_IN_LIST = 1000
_RACE_ATTEMPTS = 5
_OWN = ("provider_id", "source_updated_at", "source_version", "payload", "payload_hash", "record")
_CHANGED = (
    "source_updated_at",
    "source_version",
    "payload",
    "payload_hash",
    "record",
    "expr_hash",
    "state_code",
    "refresh_checked_at",
    "last_run_id",
    "last_batch_no",
    "updated_at",
)
_GONE = ("gone_at", "gone_reason_code", "merged_into")
_PRESENT = dict.fromkeys(_GONE)
NO_PAYLOAD = "{}"
"""Stands for the payload of a record that was deleted before it was ever stored."""

NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""Stands for its update time where the provider gives none: whatever comes later is newer."""


@dataclass(frozen=True)
class ItemWriter:
    """Writes one page's records inside the page's transaction."""

    connection: sa.Connection
    run: Run
    batch: Batch
    now: datetime
    publishing: bool = False

    def write(self, page: PageOutcome) -> Counts:
        """Every record of the page, counted once."""
        verdict = self._write_records(sorted(page.records, key=lambda record: record.provider_id), page.gone)
        QuarantineWriter(self.connection, self.run, self.batch, self.now).write(page)
        return Counts(
            received=len(page.records) + len(page.gone) + len(page.rejected) + page.outside,
            inserted=len(verdict.insert),
            updated=len(verdict.update) + len(verdict.fill),
            skipped=verdict.skipped + page.outside,
            quarantined=len(page.rejected),
            late=self._late(verdict.changed),
            older=verdict.older,
            equal=verdict.equal,
            gone=verdict.gone,
        )

    def _late(self, changed: list[Record]) -> int:
        """How many were news although their time had been read: they came after that reading."""
        watermark, window = self.run.task.watermark, self.run.task.window
        if watermark is None or self.run.task.partition.operation_code != Operation.HARVEST:
            return 0
        return sum(window.start <= record.updated_at < min(watermark, window.end) for record in changed)

    def _write_records(self, records: list[Record], gone: list[Gone]) -> PageWrites:
        """Decide against the locked rows; a row another worker inserted meanwhile is decided again."""
        ids = sorted({one.provider_id for one in records} | {one.provider_id for one in gone})
        with_fields = self._fills or (self.publishing and bool(gone))
        for _ in range(_RACE_ATTEMPTS):
            stored = self._stored(ids, with_fields=with_fields)
            verdict = self._decide(records, gone, stored)
            new = {name: one for name, one in verdict.mark_gone.items() if name not in stored}
            try:
                with self.connection.begin_nested():
                    self._insert(list(verdict.insert.values()), new)
            except IntegrityError:
                continue
            self._update(verdict, stored)
            if self.publishing:
                write_messages(self.connection, self.run, self.batch, verdict, stored, self.now)
            return verdict
        raise RuntimeError(f"run {self.run.run_id}, batch {self.batch.batch_no}: records kept being inserted elsewhere")

    def _decide(self, records: list[Record], gone: list[Gone], stored: dict[str, Stored]) -> PageWrites:
        asked_at = self.batch.asked_at
        deletions, records = decide_deletions(gone, records, stored, asked_at)
        if self._fills:
            return decide_fills(records, stored, asked_at).with_deletions(deletions)
        return decide_overwrites(records, stored, self._on_equal, asked_at).with_deletions(deletions)

    def _stored(self, ids: list[str], *, with_fields: bool) -> dict[str, Stored]:
        found: dict[str, Stored] = {}
        names = ("id", "provider_id", "source_updated_at", "payload_hash", "refresh_checked_at", "source_version")
        columns = [ing_item.c[name] for name in (*names, *_GONE, *(["record"] if with_fields else []))]
        dialect_name, within = self.connection.dialect.name, sa.and_(*self._mine())
        for start in range(0, len(ids), _IN_LIST):
            query = select_by_ids(dialect_name, columns, within, ing_item.c.provider_id, ids[start : start + _IN_LIST])
            for row in self.connection.execute(locked(query)):
                found[row.provider_id] = Stored(
                    row.id,
                    row.source_updated_at,
                    row.payload_hash,
                    # A moment that has not come yet was written by a clock that was ahead: this page is newer.
                    row.refresh_checked_at if row.refresh_checked_at <= self.now + CLOCK_SLACK else EPOCH,
                    row.source_version,
                    row.record if with_fields else None,
                    row.gone_at,
                    GoneReason(row.gone_reason_code) if row.gone_reason_code else None,
                    row.merged_into,
                )
        return found

    @property
    def _on_equal(self) -> OnEqual:
        """A refresh always takes what has changed."""
        task = self.run.task
        return OnEqual.CHANGED if task.partition.operation_code == Operation.UPDATE else task.spec.on_equal

    @property
    def _fills(self) -> bool:
        """Whether a refresh may only fill in what is empty."""
        task = self.run.task
        refreshes = task.partition.operation_code == Operation.UPDATE
        return refreshes and task.spec.on_refresh == OnRefresh.FILL_EMPTY

    def _mine(self) -> list[sa.ColumnElement[bool]]:
        source = self.run.task.partition.provenance_code
        return [ing_item.c.provenance_code == source, ing_item.c.endpoint_name == self.run.task.item_endpoint]

    def _insert(self, records: list[Record], gone: dict[str, Gone]) -> None:
        """Write new rows in the order of their ids, so that two pages never wait for each other."""
        shared = self._shared_values()
        rows: list[tuple[Any, ...]] = [_own_values(record) for record in records]
        if not gone:
            insert_rows(self.connection, BulkInsert(ing_item, _OWN, rows, shared))
            return
        del shared["state_code"]
        more = ("state_code", *_GONE)
        rows = [(*row, ItemState.PRESENT.value, *_PRESENT.values()) for row in rows]
        rows += [self._gone_row(one) for one in gone.values()]
        rows.sort(key=lambda row: str(row[0]))
        insert_rows(self.connection, BulkInsert(ing_item, (*_OWN, *more), rows, shared))

    def _gone_row(self, one: Gone) -> tuple[Any, ...]:
        """A record that was deleted before it was ever stored."""
        own: tuple[Any, ...] = (one.provider_id, one.at or NO_TIME, None, NO_PAYLOAD, hash_text(NO_PAYLOAD), {})
        return (*own, ItemState.GONE.value, one.at or self.batch.asked_at, one.reason.value, one.merged_into)

    def _update(self, verdict: PageWrites, stored: dict[str, Stored]) -> None:
        if verdict.update:
            key = ("provenance_code", "endpoint_name", "provider_id")
            statement = upsert(self.connection.dialect.name, ing_item, key, (*_CHANGED, *_GONE))
            shared = self._shared_values() | _PRESENT
            rows = [shared | dict(zip(_OWN, _own_values(one), strict=True)) for one in verdict.update.values()]
            self.connection.execute(statement, rows)
        if verdict.fill:
            self._fill(verdict.fill, stored)
        self._mark_gone(verdict.mark_gone, stored)
        seen = sorted(stored[provider_id].item_id for provider_id in verdict.seen)
        for start in range(0, len(seen), _IN_LIST):
            self.connection.execute(
                sa.update(ing_item)
                .where(
                    ing_item.c.id.in_(seen[start : start + _IN_LIST]),
                    sa.or_(
                        ing_item.c.refresh_checked_at < self.batch.asked_at,  # else a page asked for later was faster
                        ing_item.c.refresh_checked_at > self.now + CLOCK_SLACK,
                    ),
                )
                .values(refresh_checked_at=self.batch.asked_at, expr_hash=self.run.task.expr_hash)
            )

    def _mark_gone(self, gone: dict[str, Gone], stored: dict[str, Stored]) -> None:
        """Set stored records GONE; payload and common fields stay."""
        known = {name: stored[name] for name in sorted(gone) if name in stored}
        rows = [_gone_values(now_gone(gone[name], one, self.batch.asked_at), one) for name, one in known.items()]
        if not rows:
            return
        changed = ("source_updated_at", "source_version", "refresh_checked_at", *_GONE)
        statement = (
            sa.update(ing_item)
            .where(ing_item.c.id == sa.bindparam("item_id"))
            .values(
                **{name: sa.bindparam(f"new_{name}", type_=ing_item.c[name].type) for name in changed},
                state_code=ItemState.GONE.value,
                expr_hash=self.run.task.expr_hash,
                last_run_id=self.run.run_id,
                last_batch_no=self.batch.batch_no,
                updated_at=self.now,
            )
        )
        self.connection.execute(statement, rows)

    def _fill(self, fill: dict[str, dict[str, Any]], stored: dict[str, Stored]) -> None:
        """Write common fields alone; the payload stays what it was."""
        statement = (
            sa.update(ing_item)
            .where(ing_item.c.id == sa.bindparam("item_id"))
            .values(
                record=sa.bindparam("fields", type_=ing_item.c.record.type),
                refresh_checked_at=self.batch.asked_at,
                expr_hash=self.run.task.expr_hash,
                last_run_id=self.run.run_id,
                last_batch_no=self.batch.batch_no,
                updated_at=self.now,
            )
        )
        rows = [{"item_id": stored[name].item_id, "fields": fields} for name, fields in sorted(fill.items())]
        self.connection.execute(statement, rows)

    def _shared_values(self) -> dict[str, Any]:
        """What all new rows of the page have in common."""
        task = self.run.task
        return {
            "provenance_code": task.partition.provenance_code,
            "endpoint_name": task.item_endpoint,
            "expr_hash": task.expr_hash,
            "state_code": ItemState.PRESENT.value,
            "refresh_checked_at": self.batch.asked_at,
            "first_run_id": self.run.run_id,
            "first_batch_no": self.batch.batch_no,
            "last_run_id": self.run.run_id,
            "last_batch_no": self.batch.batch_no,
            "created_at": self.now,
            "updated_at": self.now,
        }


def _own_values(record: Record) -> tuple[Any, ...]:
    """What only this record's row has, in the order of `_OWN`."""
    return (
        record.provider_id,
        record.updated_at,
        record.version,
        record.payload,
        record.payload_hash,
        record.fields,
    )


def _gone_values(after: Stored, known: Stored) -> dict[str, Any]:
    """A GONE record's own values, as parameters."""
    return {
        "item_id": known.item_id,
        "new_source_updated_at": after.updated_at,
        "new_source_version": after.version,
        "new_refresh_checked_at": after.checked_at,
        "new_gone_at": after.gone_at,
        "new_gone_reason_code": after.gone_reason,
        "new_merged_into": after.merged_into,
    }
