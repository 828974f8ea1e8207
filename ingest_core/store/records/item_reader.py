"""Stored records for those who take them out: many, in order, and few at a time."""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from ingest_core.model.codes import ItemState
from ingest_core.model.record import Witnesses
from ingest_core.model.stored_item import ItemChoice, StoredItem
from ingest_core.model.task import Task
from ingest_core.store.engine.database import Database
from ingest_core.store.engine.dialect import select_by_ids
from ingest_core.store.schema.tables import ing_item

PAGE = 500
"""Records that are held at once."""

WITNESSES = 3
"""Records that are asked for when others are not found."""


class SqlItemReader:
    """Reads `ing_item` as of one moment, by index, without holding it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def count(self, choice: ItemChoice) -> int:
        """How many there are."""
        query = sa.select(sa.func.count()).select_from(ing_item).where(*_where(choice))
        with self._database.read() as connection:
            return int(connection.execute(query).scalar_one())

    def pages(self, choice: ItemChoice) -> Iterator[list[StoredItem]]:
        """The records by endpoint and update time, each once, as they were when reading began."""
        item = ing_item
        query = (
            sa.select(
                item.c.provider_id,
                item.c.endpoint_name,
                item.c.source_updated_at,
                item.c.source_version,
                item.c.state_code,
                item.c.record,
                item.c.payload,
            )
            .where(*_where(choice))
            .order_by(item.c.endpoint_name, item.c.source_updated_at, item.c.id)
            .execution_options(yield_per=PAGE)
        )
        with self._database.read() as connection:
            for part in connection.execute(query).partitions():
                yield [StoredItem(*row) for row in part]


def _where(choice: ItemChoice) -> list[sa.ColumnElement[bool]]:
    item = ing_item
    found: list[Any] = [item.c.provenance_code == choice.source]
    if choice.endpoint:
        found.append(item.c.endpoint_name == choice.endpoint)
    if choice.since:
        found.append(item.c.source_updated_at >= choice.since)
    if choice.until:
        found.append(item.c.source_updated_at < choice.until)
    return found


def read_witnesses(connection: sa.Connection, task: Task, ids: list[str]) -> Witnesses:
    """How many of these ids' records are stored and not GONE, and some others that are."""
    item = ing_item
    within = sa.and_(
        item.c.provenance_code == task.partition.provenance_code,
        item.c.endpoint_name == task.item_endpoint,
        item.c.state_code == ItemState.PRESENT.value,
    )
    at_stake = 0
    for start in range(0, len(ids), PAGE):
        named = select_by_ids(
            connection.dialect.name, [item.c.provider_id], within, item.c.provider_id, ids[start : start + PAGE]
        )
        at_stake += len(connection.execute(named).all())
    newest = sa.select(item.c.provider_id).where(within).order_by(item.c.source_updated_at.desc())
    found = connection.execute(newest.limit(len(ids) + WITNESSES)).scalars()
    return Witnesses(at_stake, tuple(one for one in found if one not in ids)[:WITNESSES])
