"""No silent loss: how ends and totals are trusted, deleted records, refreshed endpoints."""

import re
from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

MARIADB_COLLATION = ("utf8mb4_0900_bin", "utf8mb4_nopad_bin")
_ADDS = re.compile(r"ALTER TABLE (?P<owner>\w+) ADD COLUMN (?P<column>\w+)")


def upgrade() -> None:
    """Run this dialect's frozen script; older code would not understand the snapshots of newer planners."""
    bind = op.get_bind()
    script = Path(__file__).with_name(f"0005_no_silent_loss.{bind.dialect.name}.sql").read_text(encoding="utf-8")
    if getattr(bind.dialect, "is_mariadb", False):
        script = script.replace(*MARIADB_COLLATION)
    for statement in (one.strip() for one in script.split(";\n") if one.strip()):
        if not _done(bind, statement):
            bind.exec_driver_sql(statement)
    bind.exec_driver_sql("UPDATE ing_schema_info SET schema_level = 5, oldest_code_level = 5")


def _done(bind: sa.Connection, statement: str) -> bool:
    """Whether an interrupted upgrade already added this column, where DDL is not transactional."""
    adds = _ADDS.match(statement)
    assert adds is not None, statement
    return adds["column"] in {column["name"] for column in sa.inspect(bind).get_columns(adds["owner"])}
