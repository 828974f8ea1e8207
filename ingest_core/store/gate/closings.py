"""Partitions whose rate limiter is closed: claims pass them by until it opens."""

from datetime import datetime

import sqlalchemy as sa

from ingest_core.model.codes import Operation
from ingest_core.model.partition import Partition
from ingest_core.store.engine.dialect import insert_new
from ingest_core.store.schema.columns import PARTITION_COLUMNS, in_partition, partition_values
from ingest_core.store.schema.tables import ing_gate_use, ing_partition_control


def note_use(connection: sa.Connection, key: str, partition: Partition) -> None:
    """Remember that requests of the partition stand under this limiter."""
    statement = insert_new(connection.dialect.name, ing_gate_use, "rate_key")
    connection.execute(statement.values(rate_key=key, **partition_values(partition)))


def close_partitions(
    connection: sa.Connection, key: str, until: datetime, now: datetime, only: Partition | None = None
) -> None:
    """Let claims pass by the partitions under this limiter, or one of them, until it opens."""
    table = ing_partition_control
    which = in_partition(table, only) if only is not None else _under(key)
    connection.execute(sa.update(table).where(which).values(closed_until=until, updated_at=now))


def open_partitions(connection: sa.Connection, key: str, now: datetime) -> None:
    """Let tasks of the partitions under this limiter be claimed again.

    If another limiter of such a partition is closed, the next task that meets it closes the partition again.
    """
    table = ing_partition_control
    closed = table.c.closed_until > now
    connection.execute(sa.update(table).where(_under(key), closed).values(closed_until=None, updated_at=now))


def partitions_under(connection: sa.Connection, key: str) -> list[Partition]:
    """The partitions whose requests stand under this limiter."""
    use = ing_gate_use
    query = sa.select(*(use.c[name] for name in PARTITION_COLUMNS)).where(use.c.rate_key == key).order_by(use.c.id)
    return [Partition(row[0], row[1], Operation(row[2])) for row in connection.execute(query)]


def _under(key: str) -> sa.ColumnElement[bool]:
    table, use = ing_partition_control, ing_gate_use
    same = (use.c[name] == table.c[name] for name in PARTITION_COLUMNS)
    return sa.exists(sa.select(use.c.id).where(use.c.rate_key == key, *same))
