"""Look at tables and change them past the stores, and ask a database how it finds rows."""

from collections.abc import Callable
from typing import Any, TypeVar

import sqlalchemy as sa

from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import metadata

A = TypeVar("A")
B = TypeVar("B")

KEPT_TABLES = ("sys_dict_type", "sys_dict_item", "sys_dict_item_alias", "ing_schema_info")


def rows(database: Database, table: sa.Table, *where: sa.ColumnElement[bool]) -> list[dict[str, Any]]:
    """Rows in the order they were written."""
    query = sa.select(table).where(*where).order_by(*table.primary_key.columns)
    with database.read() as connection:
        return [dict(row) for row in connection.execute(query).mappings()]


def column(database: Database, table: sa.Table, name: str) -> list[Any]:
    """One column of every row, in the order they were written."""
    return [row[name] for row in rows(database, table)]


def change(database: Database, table: sa.Table, *where: sa.ColumnElement[bool], **values: Any) -> None:
    """Write past the stores."""
    with database.write() as connection:
        connection.execute(sa.update(table).where(*where).values(**values))


_EVERYTHING = {table.name: sa.select(table).order_by(*table.primary_key.columns) for table in metadata.sorted_tables}


def contents(database: Database, prefix: str = "ing_") -> dict[str, list[dict[str, Any]]]:
    """All that is stored, table by table: what was ingested, or the Registry (`reg_`)."""
    with database.read() as connection:
        return {
            name: [dict(row) for row in connection.execute(query).mappings()]
            for name, query in _EVERYTHING.items()
            if name.startswith(prefix)
        }


_FILLED = " UNION ALL ".join(
    f"SELECT '{name}' FROM (SELECT 1 AS one) AS here WHERE EXISTS (SELECT 1 FROM {name})"
    for name in _EVERYTHING
    if name not in KEPT_TABLES
)


def clear(database: Database) -> None:
    """Empty every table but the dictionary and the schema's level."""
    with database.write() as connection:
        for name in connection.exec_driver_sql(_FILLED).scalars().all():
            connection.exec_driver_sql(f"DELETE FROM {name}")


EXPLAIN = {"sqlite": "EXPLAIN QUERY PLAN", "postgresql": "EXPLAIN", "mysql": "EXPLAIN"}


def explain(database: Database, work: Callable[[], object], mentioning: str) -> list[str]:
    """How the database finds the rows for each SELECT of `work` that mentions a word, in the server's words."""
    seen: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_more: Any) -> None:
        if statement.startswith("SELECT") and mentioning in statement:
            seen.append((statement, parameters))

    sa.event.listen(database.engine, "before_cursor_execute", note)
    try:
        work()
    finally:
        sa.event.remove(database.engine, "before_cursor_execute", note)
    assert seen, f"no SELECT mentions {mentioning}"
    with database.write() as connection:
        answers = [
            connection.exec_driver_sql(f"{EXPLAIN[database.dialect_name]} {statement}", parameters).all()
            for statement, parameters in seen
        ]
    return ["\n".join(" | ".join(str(value) for value in row) for row in answer) for answer in answers]
