"""Execution: versions and refresh modes, paging hints, costs and caps, outbox retries, fair claims."""

import re
from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

MARIADB_COLLATION = ("utf8mb4_0900_bin", "utf8mb4_nopad_bin")
_ADDS = re.compile(r"CREATE TABLE (?P<table>\w+) |ALTER TABLE (?P<owner>\w+) ADD COLUMN [`\"]?(?P<column>\w+)|CREATE INDEX (?P<index>\w+) ON (?P<on>\w+) ")
_DROPS = re.compile(r"DROP INDEX (?P<index>\w+)")
_DROPPED_FROM = ("ing_outbox_message", "ing_cursor_event", "ing_task")


def upgrade() -> None:
    """Run this dialect's frozen script; older code would not understand the snapshots of newer planners."""
    bind = op.get_bind()
    script = Path(__file__).with_name(f"0004_execution.{bind.dialect.name}.sql").read_text(encoding="utf-8")
    if getattr(bind.dialect, "is_mariadb", False):
        script = script.replace(*MARIADB_COLLATION)
    for statement in (one.strip() for one in script.split(";\n") if one.strip()):
        if not _done(bind, statement):
            bind.exec_driver_sql(statement)
    bind.exec_driver_sql("UPDATE ing_schema_info SET schema_level = 4, oldest_code_level = 4")


def _done(bind: sa.Connection, statement: str) -> bool:
    """Whether an upgrade that was interrupted, where DDL is in no transaction, came this far."""
    catalogue = sa.inspect(bind)
    if drops := _DROPS.match(statement):
        return drops["index"] not in {one["name"] for table in _DROPPED_FROM for one in catalogue.get_indexes(table)}
    adds = _ADDS.match(statement)
    assert adds is not None, statement
    if adds["table"]:
        return catalogue.has_table(adds["table"])
    if adds["owner"]:
        return adds["column"] in {column["name"] for column in catalogue.get_columns(adds["owner"])}
    return adds["index"] in {index["name"] for index in catalogue.get_indexes(adds["on"])}
