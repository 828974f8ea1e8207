"""Rows stored under a DETAIL endpoint, merged into those of the SEARCH endpoint that owns the records."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import count, groupby
from typing import Any

import sqlalchemy as sa

from ingest_core.model.record_merge import PendingMerge, RecordMerge
from ingest_core.registry.ownership import owners
from ingest_core.registry.rows import Rows
from ingest_core.store.engine.database import Database
from ingest_core.store.engine.dialect import analyze_new, locked, plans_by_counts, select_by_ids
from ingest_core.store.records.item_owner import hold_registry, live_endpoints
from ingest_core.store.records.twins import ITEM_COLUMNS, QUARANTINE_COLUMNS, Joined, Twin, join_items, join_quarantined
from ingest_core.store.schema.tables import ing_item, ing_quarantine

CHUNK = 500
"""Rows that leave a DETAIL endpoint in one transaction."""


@dataclass(frozen=True)
class _Kind:
    """A table with rows by endpoint: the key its chunks follow, what tells twins, and how two become one."""

    table: sa.Table
    columns: tuple[str, ...]
    key: str
    identity: tuple[str, ...]
    join: Callable[[Twin, Twin, datetime], Joined]
    stamped: bool
    """Whether a row that only moves gets a new `updated_at`; in quarantine it says when the record was last seen."""


_ITEMS = _Kind(ing_item, ITEM_COLUMNS, "provider_id", ("provider_id",), join_items, stamped=True)
_QUARANTINE = _Kind(
    ing_quarantine,
    QUARANTINE_COLUMNS,
    "fragment_hash",
    ("fragment_hash", "reason_code"),
    join_quarantined,
    stamped=False,
)


@dataclass(frozen=True)
class _Chunk:
    """Rows that left their endpoint, of which some had a twin, and the key of the last."""

    last: str
    rows: int
    twins: int


class SqlRecordMerge:
    """Merges in transactions of a few rows each: what a crash left is merged by the next call."""

    def __init__(self, database: Database, chunk: int = CHUNK) -> None:
        self._database = database
        self._size = chunk

    def pending(self, sources: Iterable[Rows]) -> list[PendingMerge]:
        """How many rows `merge` would take up if these sources were in force; nothing is written."""
        found = []
        with self._database.read() as connection:
            for rows in sources:
                code = rows["reg_provenance"][0]["provenance_code"]
                for endpoint, owner in owners(rows["reg_prov_endpoint_def"]).items():
                    counts = [_count(connection, table, code, endpoint) for table in (ing_item, ing_quarantine)]
                    if any(counts):
                        found.append(PendingMerge(code, endpoint, owner, *counts))
        return found

    def merge(self, sources: Iterable[str] | None = None, most_chunks: int | None = None) -> list[RecordMerge]:
        """Merge the rows whose endpoint has an owner, of these sources or of all; `most_chunks` of each table."""
        wanted = None if sources is None else set(sources)
        with self._database.read() as connection:
            pairs = [pair for pair in _pairs(live_endpoints(connection)) if wanted is None or pair.source in wanted]
        if pairs and plans_by_counts(self._database.dialect_name):
            self._database.transact(lambda connection: analyze_new(connection, ing_item, ing_quarantine))
        done = []
        for pair in pairs:
            items = list(self._chunks(pair, _ITEMS, most_chunks))
            quarantined = list(self._chunks(pair, _QUARANTINE, most_chunks))
            merged = sum(chunk.twins for chunk in items)
            moved = sum(chunk.rows for chunk in items) - merged
            done.append(replace(pair, merged=merged, moved=moved, quarantined=sum(one.rows for one in quarantined)))
        return [pair for pair in done if pair.rows]

    def _chunks(self, pair: RecordMerge, kind: _Kind, most: int | None) -> Iterator[_Chunk]:
        last = ""
        for _ in range(most) if most is not None else count():
            chunk = self._database.transact(partial(self._chunk, pair, kind, last))
            if chunk is None:
                return
            yield chunk
            last = chunk.last

    def _chunk(self, pair: RecordMerge, kind: _Kind, start: str, connection: sa.Connection) -> _Chunk | None:
        """Merge the next rows, while no source is applied; none are left, or the Registry has another owner."""
        hold_registry(connection)
        if owners(live_endpoints(connection, pair.source)).get(pair.endpoint) != pair.into:
            return None
        rows = self._rows(connection, pair, kind, start)
        if not rows:
            return None
        now, own = self._database.now(connection), _owned(connection, pair, kind, [row[kind.key] for row in rows])
        twins = [(own[_identity(kind, row)], row) for row in rows if _identity(kind, row) in own]
        moved = [row["id"] for row in rows if _identity(kind, row) not in own]
        _join(connection, kind.table, pair.into, [kind.join(mine, second, now) for mine, second in twins])
        _move(
            connection, kind.table, moved, {"endpoint_name": pair.into, **({"updated_at": now} if kind.stamped else {})}
        )
        return _Chunk(rows[-1][kind.key], len(rows), len(twins))

    def _rows(self, connection: sa.Connection, pair: RecordMerge, kind: _Kind, start: str) -> Sequence[Twin]:
        """The next rows of the DETAIL endpoint, locked; those of earlier chunks have left it."""
        key = kind.table.c[kind.key]
        query = _select(kind).where(_under(kind.table, pair.source, pair.endpoint), key >= start)
        found = connection.execute(locked(query.order_by(key).limit(self._size)))
        return [dict(row) for row in found.mappings()]


def _pairs(endpoints: Sequence[dict[str, Any]]) -> Iterator[RecordMerge]:
    """Every DETAIL endpoint in force that has an owner."""
    by_source = sorted(endpoints, key=lambda row: row["provenance_code"])
    for source, rows in groupby(by_source, key=lambda row: row["provenance_code"]):
        yield from (RecordMerge(source, endpoint, owner) for endpoint, owner in owners(list(rows)).items())


def _under(table: sa.Table, source: str, endpoint: str) -> sa.ColumnElement[bool]:
    return sa.and_(table.c.provenance_code == source, table.c.endpoint_name == endpoint)


def _select(kind: _Kind) -> sa.Select[Any]:
    return sa.select(*(kind.table.c[name] for name in kind.columns))


def _identity(kind: _Kind, row: Twin) -> tuple[Any, ...]:
    return tuple(row[name] for name in kind.identity)


def _count(connection: sa.Connection, table: sa.Table, source: str, endpoint: str) -> int:
    query = sa.select(sa.func.count()).select_from(table).where(_under(table, source, endpoint))
    return int(connection.execute(query).scalar_one())


def _owned(connection: sa.Connection, pair: RecordMerge, kind: _Kind, keys: list[str]) -> dict[tuple[Any, ...], Twin]:
    """The owner's rows with these keys, locked in the order in which pages lock them."""
    table, ordered = kind.table, sorted(set(keys))
    columns = [table.c[name] for name in kind.columns]
    within = _under(table, pair.source, pair.into)
    query = select_by_ids(connection.dialect.name, columns, within, table.c[kind.key], ordered)
    found = [dict(row) for row in connection.execute(locked(query)).mappings()]
    return {_identity(kind, row): row for row in found}


def _join(connection: sa.Connection, table: sa.Table, owner: str, joined: list[Joined]) -> None:
    """Of two rows one goes before the other takes its key."""
    if joined:
        connection.execute(sa.delete(table).where(table.c.id.in_([one.dropped for one in joined])))
        changes = [{"row": one.kept, "endpoint_name": owner, **one.values} for one in joined]
        connection.execute(sa.update(table).where(table.c.id == sa.bindparam("row")), changes)


def _move(connection: sa.Connection, table: sa.Table, ids: list[int], values: dict[str, Any]) -> None:
    if ids:
        connection.execute(sa.update(table).where(table.c.id.in_(ids)).values(values))
