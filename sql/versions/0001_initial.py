"""The first schema: Registry, dictionary, ingest tables."""

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

MARIADB_COLLATION = ("utf8mb4_0900_bin", "utf8mb4_nopad_bin")


def upgrade() -> None:
    """Run this dialect's frozen script, then note the level and the oldest code it serves."""
    bind = op.get_bind()
    script = Path(__file__).with_name(f"0001_initial.{bind.dialect.name}.sql").read_text(encoding="utf-8")
    if getattr(bind.dialect, "is_mariadb", False):
        script = script.replace(*MARIADB_COLLATION)
    for statement in script.split(";\n"):
        if statement.strip():
            bind.exec_driver_sql(statement)
    bind.exec_driver_sql("INSERT INTO ing_schema_info (id, schema_level, oldest_code_level) VALUES (1, 1, 1)")
