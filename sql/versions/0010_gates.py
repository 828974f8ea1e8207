"""Rate limiters that adapt, quotas that are counted, and partitions that wait for a closed limiter."""

import re
from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

MARIADB_COLLATION = ("utf8mb4_0900_bin", "utf8mb4_nopad_bin")
_ADDS = re.compile(r"ALTER TABLE (?P<owner>\w+) ADD COLUMN (?P<column>\w+)")
_CREATES = re.compile(r"CREATE TABLE (?P<table>\w+)")
_INDEXES = re.compile(r"CREATE INDEX (?P<index>\w+) ON (?P<owner>\w+)")
_MOVED = "UPDATE ing_rate_gate"
_OLD_LEDGER = "DROP TABLE ing_quota_ledger"


def upgrade() -> None:
    """Run this dialect's frozen script; older code would not heed the limiters' new rows, and is refused."""
    bind = op.get_bind()
    script = Path(__file__).with_name(f"0010_gates.{bind.dialect.name}.sql").read_text(encoding="utf-8")
    if getattr(bind.dialect, "is_mariadb", False):
        script = script.replace(*MARIADB_COLLATION)
    for statement in (one.strip() for one in script.split(";\n") if one.strip()):
        if not _done(bind, statement):
            bind.exec_driver_sql(statement.removesuffix(";"))
    bind.exec_driver_sql("UPDATE ing_schema_info SET schema_level = 10, oldest_code_level = 10")


def _done(bind: sa.Connection, statement: str) -> bool:
    """Whether an upgrade that was interrupted, where DDL is in no transaction, came this far."""
    catalogue = sa.inspect(bind)
    if adds := _ADDS.match(statement):
        return adds["column"] in _columns(catalogue, adds["owner"])
    if creates := _CREATES.match(statement):
        return catalogue.has_table(creates["table"])
    if indexes := _INDEXES.match(statement):
        return indexes["index"] in {index["name"] for index in catalogue.get_indexes(indexes["owner"])}
    if statement.startswith(_MOVED):
        return False  # repeating it changes nothing
    assert statement.startswith(_OLD_LEDGER), statement
    # It is dropped, and made anew with another key, before the table of reservations is made.
    return not catalogue.has_table("ing_quota_ledger") or catalogue.has_table("ing_quota_reservation")


def _columns(catalogue: sa.Inspector, table: str) -> set[str]:
    return {column["name"] for column in catalogue.get_columns(table)}
