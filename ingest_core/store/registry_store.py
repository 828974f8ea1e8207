"""Sources in the `reg_*` tables, with their history."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ingest_core.model.canonical import canonical_json
from ingest_core.model.errors import BadInput
from ingest_core.registry.rows import Row, Rows
from ingest_core.store.database import Database
from ingest_core.store.tables import SOURCE_TABLES


class SqlRegistryStore:
    """A RegistryStore; a changed row is closed and a new one opened, so that history stays."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def rows(self, source: str) -> Rows:
        """The rows in force; BadInput when there is no such source."""
        with self._database.read() as connection:
            found = {name: _open_rows(connection, table, source) for name, table in SOURCE_TABLES.items()}
            if not found["reg_provenance"]:
                raise _unknown(source, _codes(connection))
        return {name: [_content(row) for row in rows] for name, rows in found.items()}

    def apply(self, rows: Rows) -> list[dict[str, Any]]:
        """Make these the rows in force; what changed, nothing when nothing did."""
        source = rows["reg_provenance"][0]["provenance_code"]
        return self._database.transact(lambda connection: self._apply(connection, source, rows))

    def _apply(self, connection: sa.Connection, source: str, rows: Rows) -> list[dict[str, Any]]:
        now = self._database.now(connection)
        changes: list[dict[str, Any]] = []
        for name, table in SOURCE_TABLES.items():
            wanted = {canonical_json(row): row for row in rows.get(name, [])}
            present = {canonical_json(_content(row)): row for row in _open_rows(connection, table, source)}
            closed = [row for text, row in present.items() if text not in wanted]
            added = [row for text, row in wanted.items() if text not in present]
            _close(connection, table, [row["id"] for row in closed], now)
            if added:
                stamps = {"created_at": now, "updated_at": now}
                connection.execute(sa.insert(table), [{**row, **stamps} for row in added])
            changes.extend({"table": name, "change": "closed", "row": _plain(_content(row))} for row in closed)
            changes.extend({"table": name, "change": "added", "row": _plain(row)} for row in added)
        return changes

    def sources(self) -> list[dict[str, Any]]:
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
                {
                    "code": row["provenance_code"],
                    "name": row["provenance_name"],
                    "endpoints": [
                        {"name": name, "operations": operations}
                        for code, name, operations in endpoints
                        if code == row["provenance_code"]
                    ],
                }
                for row in found
            ]


def _open_rows(connection: sa.Connection, table: sa.Table, source: str) -> list[Row]:
    query = sa.select(table).where(table.c.provenance_code == source, table.c.closed_at.is_(None)).order_by(table.c.id)
    return [dict(row) for row in connection.execute(query).mappings()]


_BOOKKEEPING = {"id", "closed_at", "record_remarks", "version", "created_at", "updated_at"}


def _content(row: Row) -> Row:
    return {name: value for name, value in row.items() if name not in _BOOKKEEPING}


def _plain(row: Row) -> Row:
    return {name: value for name, value in row.items() if value is not None}


def _close(connection: sa.Connection, table: sa.Table, ids: list[int], now: datetime) -> None:
    if ids:
        connection.execute(sa.update(table).where(table.c.id.in_(ids)).values(closed_at=now, updated_at=now))


def _codes(connection: sa.Connection) -> list[str]:
    table = SOURCE_TABLES["reg_provenance"]
    query = sa.select(table.c.provenance_code).where(table.c.closed_at.is_(None)).order_by(table.c.provenance_code)
    return list(connection.execute(query).scalars())


def _unknown(source: str, known: list[str]) -> BadInput:
    remedy = f"known sources: {', '.join(known)}" if known else "no source is registered: run patra registry apply FILE"
    return BadInput("SOURCE_UNKNOWN", f"no source {source!r} is registered", where="source", remedy=remedy)
