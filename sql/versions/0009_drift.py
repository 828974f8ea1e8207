"""A source's thresholds of schema drift."""

import re
from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_ADDS = re.compile(r"ALTER TABLE (?P<owner>\w+) ADD COLUMN (?P<column>\w+)")


def upgrade() -> None:
    """Run this dialect's frozen script; older code would refuse the snapshots of sources that set a threshold."""
    bind = op.get_bind()
    script = Path(__file__).with_name(f"0009_drift.{bind.dialect.name}.sql").read_text(encoding="utf-8")
    for statement in (one.strip() for one in script.split(";\n") if one.strip()):
        if not _done(bind, statement):
            bind.exec_driver_sql(statement)
    bind.exec_driver_sql("UPDATE ing_schema_info SET schema_level = 9, oldest_code_level = 9")


def _done(bind: sa.Connection, statement: str) -> bool:
    """Whether an interrupted upgrade already added this column, where DDL is not transactional."""
    if bind.dialect.name == "postgresql":  # there it is
        return False
    adds = _ADDS.match(statement)
    assert adds is not None, statement
    return adds["column"] in {column["name"] for column in sa.inspect(bind).get_columns(adds["owner"])}
