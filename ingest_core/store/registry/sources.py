"""Sources in the `reg_*` tables, with their history."""

from dataclasses import dataclass

import sqlalchemy as sa

from ingest_core.model.canonical import canonical_json
from ingest_core.model.errors import BadInput
from ingest_core.model.source_change import RowChange, RowVersion
from ingest_core.model.source_summary import EndpointSummary, SourceSummary
from ingest_core.registry.rows import Row, Rows
from ingest_core.store.engine.database import Database
from ingest_core.store.engine.dialect import locked
from ingest_core.store.registry.live_work import refuse_live_work
from ingest_core.store.registry.postponed import BY_RATE, bring_forward
from ingest_core.store.schema.tables import SOURCE_TABLES, ing_schema_info, sys_dict_item


class SqlRegistryStore:
    """A RegistryStore; a changed row is closed and a new one opened, so that history stays."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def rows(self, source: str) -> Rows:
        """The rows in force; BadInput when there is no such source."""
        with self._database.read(snapshot=True) as connection:
            found = {name: open_rows(connection, table, source) for name, table in SOURCE_TABLES.items()}
            if not found["reg_provenance"]:
                raise _unknown(connection, source)
            codes = connection.execute(sa.select(sys_dict_item.c.type_code, sys_dict_item.c.item_code)).mappings().all()
        rows = {name: [_content(row) for row in rows] for name, rows in found.items()}
        return {**rows, "sys_dict_item": [dict(code) for code in codes]}

    def changes(self, sources: list[Rows]) -> list[RowChange]:
        """What applying these would change; nothing is written."""
        with self._database.read() as connection:
            return [change.shown() for rows in sources for change in _differences(connection, rows)]

    def apply(self, sources: list[Rows]) -> list[RowChange]:
        """Make these the rows in force, all or none; what changed, nothing when nothing did."""
        return self._database.transact(lambda connection: self._apply(connection, sources))

    def _apply(self, connection: sa.Connection, sources: list[Rows]) -> list[RowChange]:
        # One apply at a time: two that compare at once would both insert.
        connection.execute(locked(sa.select(ing_schema_info.c.id)))
        now = self._database.now(connection)
        differences = [one for rows in sources for one in _differences(connection, rows)]
        for table in SOURCE_TABLES.values():
            stale = [one.closes for one in differences if one.table is table and one.closes is not None]
            if stale:
                closing = sa.update(table).where(table.c.id.in_(stale))
                connection.execute(closing.values(closed_at=now, updated_at=now))
            new = [one.row for one in differences if one.table is table and one.closes is None]
            if new:
                columns = dict.fromkeys(name for row in new for name in row)
                stamped = [{**dict.fromkeys(columns), **row, "created_at": now, "updated_at": now} for row in new]
                connection.execute(sa.insert(table), stamped)
        for source in sorted({one.row["provenance_code"] for one in differences if one.table.name == _RATES}):
            bring_forward(connection, source, BY_RATE, now)  # they were put off by a rate that no longer holds
        return [one.shown() for one in differences]

    def remove(self, source: str) -> list[RowChange]:
        """Close all rows of a source, so that it can no longer be planned; Refused while it has live work."""
        return self._database.transact(lambda connection: self._remove(connection, source))

    def _remove(self, connection: sa.Connection, source: str) -> list[RowChange]:
        connection.execute(locked(sa.select(ing_schema_info.c.id)))  # no apply meanwhile
        present = {table: open_rows(connection, table, source) for table in SOURCE_TABLES.values()}
        if not any(table.name == "reg_provenance" and rows for table, rows in present.items()):
            raise _unknown(connection, source)
        refuse_live_work(connection, source)
        now = self._database.now(connection)
        for table, rows in present.items():
            closing = sa.update(table).where(table.c.id.in_([row["id"] for row in rows]))
            connection.execute(closing.values(closed_at=now, updated_at=now))
        return [_Difference(table, _content(row), row["id"]).shown() for table, rows in present.items() for row in rows]

    def removed(self) -> set[str]:
        """The codes of sources that were registered once and are no more."""
        table = SOURCE_TABLES["reg_provenance"]
        with self._database.read() as connection:
            known = set(connection.execute(sa.select(table.c.provenance_code).distinct()).scalars())
            return known - set(_codes(connection))

    def history(self, source: str) -> list[RowVersion]:
        """Every row the source ever had, when it was opened and when it was closed, oldest first."""
        found: list[RowVersion] = []
        with self._database.read() as connection:
            for name, table in SOURCE_TABLES.items():
                query = sa.select(table).where(table.c.provenance_code == source).order_by(table.c.id)
                found += [_past(name, dict(row)) for row in connection.execute(query).mappings()]
            if not found:
                raise _unknown(connection, source)
        return sorted(found, key=lambda entry: entry.opened_at)

    def sources(self) -> list[SourceSummary]:
        """Every source in short."""
        provenance, endpoint = SOURCE_TABLES["reg_provenance"], SOURCE_TABLES["reg_prov_endpoint_def"]
        with self._database.read() as connection:
            endpoints = connection.execute(
                sa.select(endpoint.c.provenance_code, endpoint.c.endpoint_name, endpoint.c.operations)
                .where(endpoint.c.closed_at.is_(None))
                .order_by(endpoint.c.endpoint_name)
            ).all()
            found = connection.execute(
                sa.select(provenance).where(provenance.c.closed_at.is_(None)).order_by(provenance.c.provenance_code)
            ).mappings()
            return [
                SourceSummary(
                    row["provenance_code"],
                    row["provenance_name"],
                    [
                        EndpointSummary(name, operations)
                        for code, name, operations in endpoints
                        if code == row["provenance_code"]
                    ],
                )
                for row in found
            ]


def open_rows(connection: sa.Connection, table: sa.Table, source: str) -> list[Row]:
    query = sa.select(table).where(table.c.provenance_code == source, table.c.closed_at.is_(None)).order_by(table.c.id)
    return [dict(row) for row in connection.execute(query).mappings()]


_RATES = "reg_prov_rate_limit_cfg"
_BOOKKEEPING = {"id", "closed_at", "record_remarks", "version", "created_at", "updated_at"}


def _content(row: Row) -> Row:
    return {name: value for name, value in row.items() if name not in _BOOKKEEPING}


def _past(table: str, row: Row) -> RowVersion:
    return RowVersion(table, row["created_at"], row["closed_at"], _filled(_content(row)))


def _filled(row: Row) -> Row:
    return {name: value for name, value in row.items() if value is not None}


@dataclass(frozen=True)
class _Difference:
    """A row to be closed, or one to be added."""

    table: sa.Table
    row: Row
    closes: int | None = None

    def shown(self) -> RowChange:
        """As reports show it."""
        change = "added" if self.closes is None else "closed"
        return RowChange(self.row["provenance_code"], self.table.name, change, _filled(self.row))


def _differences(connection: sa.Connection, rows: Rows) -> list[_Difference]:
    source = rows["reg_provenance"][0]["provenance_code"]
    found: list[_Difference] = []
    for name, table in SOURCE_TABLES.items():
        wanted = {canonical_json(row): row for row in rows.get(name, [])}
        present = {canonical_json(_content(row)): row for row in open_rows(connection, table, source)}
        found += [
            _Difference(table, _content(row), closes=row["id"]) for text, row in present.items() if text not in wanted
        ]
        found += [_Difference(table, row) for text, row in wanted.items() if text not in present]
    return found


def _codes(connection: sa.Connection) -> list[str]:
    table = SOURCE_TABLES["reg_provenance"]
    query = sa.select(table.c.provenance_code).where(table.c.closed_at.is_(None)).order_by(table.c.provenance_code)
    return list(connection.execute(query).scalars())


def _unknown(connection: sa.Connection, source: str) -> BadInput:
    known, table = _codes(connection), SOURCE_TABLES["reg_provenance"]
    removed = sa.select(table.c.id).where(table.c.provenance_code == source).limit(1)
    if connection.execute(removed).first() is not None:
        remedy = f"apply its file again: patra registry apply FILE; its history: patra registry history {source}"
        return BadInput("SOURCE_UNKNOWN", f"source {source!r} was removed", where="source", remedy=remedy)
    remedy = f"known sources: {', '.join(known)}" if known else "no source is registered: run patra registry apply FILE"
    return BadInput("SOURCE_UNKNOWN", f"no source {source!r} is registered", where="source", remedy=remedy)
