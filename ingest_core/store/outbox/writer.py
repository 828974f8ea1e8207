"""Messages into `ing_outbox_message`, in the transaction of the page they tell about."""

from collections.abc import Iterator, Mapping
from datetime import datetime

import sqlalchemy as sa

from ingest_core.execution.deletion import now_gone
from ingest_core.execution.overwrite import PageWrites, Stored, rank
from ingest_core.execution.ports import Batch, Run
from ingest_core.model.codes import OutboxStatus
from ingest_core.model.message import ChangeType, RecordChange, message_of
from ingest_core.model.record import Gone
from ingest_core.store.engine.dialect import insert_new
from ingest_core.store.schema.tables import ing_outbox_message


def write_messages(
    connection: sa.Connection,
    run: Run,
    batch: Batch,
    verdict: PageWrites,
    stored: Mapping[str, Stored],
    now: datetime,
) -> None:
    """A message for each record that was inserted, changed or deleted; one that is there already stays as it is.

    The records' rows are locked, so the messages of one record are numbered in the order of its versions.
    """
    lineage = {
        "plan_id": run.task.lineage.plan_id,
        "slice_id": run.task.lineage.slice_id,
        "task_id": run.task.lineage.task_id,
        "run_id": run.run_id,
        "batch_no": batch.batch_no,
    }
    source, endpoint = run.task.partition.provenance_code, run.task.item_endpoint
    messages = [message_of(change, source, endpoint, lineage) for change in changes_of(verdict, stored, batch.asked_at)]
    if not messages:
        return
    rows = [
        {
            "dedup_key": message.dedup_key,
            "ordering_key": message.ordering_key,
            "topic": message.topic,
            "payload": message.payload,
            "status_code": OutboxStatus.PENDING.value,
            "created_at": now,
            "next_attempt_at": now,
        }
        for message in messages
    ]
    statement = insert_new(connection.dialect.name, ing_outbox_message, "dedup_key")
    if connection.dialect.insert_executemany_returning:  # many rows in one statement, not one each
        statement = statement.returning(ing_outbox_message.c.id)
    connection.execute(statement, rows)


def changes_of(verdict: PageWrites, stored: Mapping[str, Stored], asked_at: datetime) -> Iterator[RecordChange]:
    """What the verdict changed, record by record."""
    for record in verdict.insert.values():
        yield RecordChange(
            ChangeType.INSERTED,
            record.provider_id,
            record.updated_at,
            record.version,
            record.payload_hash,
            record.fields,
        )
    for record in verdict.update.values():
        newer = rank(record) > rank(stored[record.provider_id])
        yield RecordChange(
            ChangeType.UPDATED,
            record.provider_id,
            record.updated_at,
            record.version,
            record.payload_hash,
            record.fields,
            None if newer else asked_at,
        )
    for provider_id, fields in verdict.fill.items():
        known = stored[provider_id]
        yield RecordChange(
            ChangeType.UPDATED, provider_id, known.updated_at, known.version, known.payload_hash, fields, asked_at
        )
    for provider_id, one in verdict.mark_gone.items():
        if provider_id in stored:  # consumers know no record that was never stored
            yield from _deletion(one, stored[provider_id], asked_at)


def _deletion(one: Gone, known: Stored, asked_at: datetime) -> Iterator[RecordChange]:
    """The change, if it is news: the record was there, or only now it is known what it was merged into."""
    after = now_gone(one, known, asked_at)
    if known.gone_at is not None and after.merged_into == known.merged_into:
        return
    yield RecordChange(
        ChangeType.GONE,
        one.provider_id,
        after.updated_at,
        after.version,
        after.payload_hash,
        known.fields or {},
        None if after.updated_at > known.updated_at else asked_at,
        Gone(one.provider_id, after.gone_at, after.gone_reason or one.reason, after.merged_into),
    )
