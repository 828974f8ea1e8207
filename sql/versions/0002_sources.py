"""Sources as configuration: the `reg_*` tables hold every setting, and a row may leave out what it inherits."""

import re
from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

MARIADB_COLLATION = ("utf8mb4_0900_bin", "utf8mb4_nopad_bin")
_CREATE_TABLE = re.compile(r"CREATE TABLE (\w+) ")


def upgrade() -> None:
    """Make each table anew from this dialect's frozen script, with its rows; older code cannot read them."""
    bind = op.get_bind()
    script = Path(__file__).with_name(f"0002_sources.{bind.dialect.name}.sql").read_text(encoding="utf-8")
    if getattr(bind.dialect, "is_mariadb", False):
        script = script.replace(*MARIADB_COLLATION)
    statements = [statement.strip() for statement in script.split(";\n") if statement.strip()]
    for table in _CREATE_TABLE.findall(script):
        own = [statement for statement in statements if re.search(rf"\b{table}\b", statement)]
        (_replace_at_once if bind.dialect.name == "mysql" else _replace)(bind, table, own)
    bind.exec_driver_sql("UPDATE ing_schema_info SET schema_level = 2, oldest_code_level = 2")


def _replace(bind: sa.Connection, table: str, statements: list[str]) -> None:
    """In a transaction, which both SQLite and PostgreSQL keep DDL in."""
    before = _columns(bind, table)
    bind.exec_driver_sql(f"CREATE TEMPORARY TABLE kept AS SELECT * FROM {table}")
    bind.exec_driver_sql(f"DROP TABLE {table}")
    for statement in statements:
        bind.exec_driver_sql(statement)
    names = ", ".join(name for name in _columns(bind, table) if name in before)
    bind.exec_driver_sql(f"INSERT INTO {table} ({names}) SELECT {names} FROM kept")  # noqa: S608 - names of columns
    bind.exec_driver_sql("DROP TABLE kept")
    if bind.dialect.name == "postgresql":
        highest = f"SELECT max(id) FROM {table}"  # noqa: S608 - the name of a table
        bind.exec_driver_sql(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), ({highest}))")


def _replace_at_once(bind: sa.Connection, table: str, statements: list[str]) -> None:
    """Without transactions: a crash at any point leaves one whole table, and running again finishes."""
    made, old = f"{table}_0002", f"{table}_0001"
    for left in (made, old):
        bind.exec_driver_sql(f"DROP TABLE IF EXISTS {left}")
    for statement in statements:
        bind.exec_driver_sql(re.sub(rf"\b{table}\b", made, statement))
    before = _columns(bind, table)
    names = ", ".join(name for name in _columns(bind, made) if name in before)
    bind.exec_driver_sql(f"INSERT INTO {made} ({names}) SELECT {names} FROM {table}")  # noqa: S608 - names of columns
    bind.exec_driver_sql(f"RENAME TABLE {table} TO {old}, {made} TO {table}")
    bind.exec_driver_sql(f"DROP TABLE {old}")


def _columns(bind: sa.Connection, table: str) -> list[str]:
    return [column["name"] for column in sa.inspect(bind).get_columns(table)]
