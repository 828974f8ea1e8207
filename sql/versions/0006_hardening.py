"""Hardening: limits of an answer, what an operator changed at a rate limiter, and which expiries a task is blamed for."""

import re
from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

MARIADB_COLLATION = ("utf8mb4_0900_bin", "utf8mb4_nopad_bin")
_INDEXES = re.compile(r"CREATE INDEX (?P<index>\w+) ON (?P<owner>\w+)")
_ADDS = re.compile(r"ALTER TABLE (?P<owner>\w+) ADD COLUMN (?P<column>\w+)")


def upgrade() -> None:
    """Run this dialect's frozen script; older code would not understand the snapshots of newer planners."""
    bind = op.get_bind()
    script = Path(__file__).with_name(f"0006_hardening.{bind.dialect.name}.sql").read_text(encoding="utf-8")
    if getattr(bind.dialect, "is_mariadb", False):
        script = script.replace(*MARIADB_COLLATION)
    for statement in (one.strip() for one in script.split(";\n") if one.strip()):
        if not _done(bind, statement):
            bind.exec_driver_sql(statement)
    bind.exec_driver_sql("UPDATE ing_schema_info SET schema_level = 6, oldest_code_level = 6")


def _done(bind: sa.Connection, statement: str) -> bool:
    """Whether an interrupted upgrade already added this column or index, where DDL is not transactional."""
    if bind.dialect.name == "postgresql":  # there it is
        return False
    indexes = _INDEXES.match(statement)
    if indexes is not None:
        return indexes["index"] in {index["name"] for index in sa.inspect(bind).get_indexes(indexes["owner"])}
    adds = _ADDS.match(statement)
    assert adds is not None, statement
    return adds["column"] in {column["name"] for column in sa.inspect(bind).get_columns(adds["owner"])}
