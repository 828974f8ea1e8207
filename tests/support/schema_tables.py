"""The tables and columns of the database as documentation, from the schema and its meanings."""

import sqlalchemy as sa

from ingest_core.registry.columns import LISTS, SETTINGS
from ingest_core.store.schema.ddl import DIALECTS
from ingest_core.store.schema.meanings.execution import EXECUTION
from ingest_core.store.schema.meanings.planning import PLANNING
from ingest_core.store.schema.meanings.records import RECORDS
from ingest_core.store.schema.meanings.registry import REGISTRY
from ingest_core.store.schema.tables import metadata

MEANINGS = {**PLANNING, **EXECUTION, **RECORDS, **REGISTRY}


def schema_tables() -> str:
    """An index of the tables and a section for each; KeyError where a table or column has no meaning."""
    index = ["| table | holds |", "|---|---|"]
    index += [f"| [`{name}`](#{name}) | {MEANINGS[name].about} |" for name in MEANINGS if name in metadata.tables]
    ordered = [*MEANINGS, *(name for name in metadata.tables if name not in MEANINGS)]
    return "\n".join([*index, "", *(_section(metadata.tables[name]) for name in ordered)])


def _section(table: sa.Table) -> str:
    said, keys = MEANINGS[table.name], _keys(table.name)
    rows = [
        f"| `{column.name}` | {_type(column)} | {'yes' if column.nullable else ''} "
        f"| {said.columns[column.name]}{keys.get(column.name, '')} |"
        for column in table.columns
    ]
    unique = [one for one in table.constraints if isinstance(one, sa.UniqueConstraint)]
    lines = [f"## {table.name}", said.about, "", "| column | type | null | meaning |", "|---|---|---|---|", *rows, ""]
    for one in sorted(unique, key=lambda constraint: str(constraint.name)):
        lines += [f"`{one.name}`: unique over {', '.join(f'`{column.name}`' for column in one.columns)}.", ""]
    return "\n".join(lines)


def _type(column: sa.Column[object]) -> str:
    """The column's type as PostgreSQL has it."""
    name = column.type.compile(dialect=DIALECTS["postgresql"])
    return "timestamptz" if name.startswith("TIMESTAMP") else name.split(" COLLATE")[0].lower()


def _keys(table: str) -> dict[str, str]:
    """Which key of a source file sets a column, by column."""
    blocks = ((name, block) for name, block in {**SETTINGS, **LISTS}.items() if block.table == table)
    return {
        column: f" Key `{name}.{block.model.model_fields[key].alias or key}`."
        for name, block in blocks
        for key, (column, _) in block.keys.items()
    }
