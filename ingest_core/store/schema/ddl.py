"""The reference DDL of each dialect, written from the tables: `python -m ingest_core.store.schema.ddl`."""

from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from ingest_core.store.schema.tables import ing_item, metadata
from ingest_core.store.schema.versions import migrations_folder

DIALECTS: dict[str, sa.engine.Dialect] = {
    "sqlite": sqlite.dialect(),
    "postgresql": postgresql.dialect(),  # type: ignore[no-untyped-call]
    "mysql": mysql.dialect(),
}


def reference_ddl(dialect_name: str) -> str:
    """Every statement that makes an empty database what the tables say, one blank line apart."""
    dialect = DIALECTS[dialect_name]
    statements = []
    for table in metadata.sorted_tables:
        statements.append(_text(CreateTable(table).compile(dialect=dialect)))
        indexes = sorted(
            (one for one in table.indexes if _is_for(one, dialect_name)), key=lambda index: str(index.name)
        )
        statements.extend(_text(CreateIndex(index).compile(dialect=dialect)) for index in indexes)
    if dialect_name == "postgresql":
        # pglz, the default, is the largest single cost of writing payloads
        statements.append(f"ALTER TABLE {ing_item.name} ALTER COLUMN payload SET COMPRESSION lz4")
    return ";\n\n".join(statements) + ";\n"


def _is_for(index: sa.Index, dialect_name: str) -> bool:
    return bool(index.info.get("only", dialect_name) == dialect_name != index.info.get("not"))


def _text(compiled: object) -> str:
    lines = [line.rstrip().replace("\t", "    ") for line in str(compiled).strip().splitlines()]
    return "\n".join(lines)


def write_reference(folder: Path) -> None:
    """Write the reference DDL of every dialect."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in DIALECTS:
        (folder / f"{name}.sql").write_text(reference_ddl(name), encoding="utf-8")


if __name__ == "__main__":
    write_reference(migrations_folder() / "reference")
