"""The pattern of a source's ids: a refresh by ids that cannot be the provider's is refused."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0006"
branch_labels = None
depends_on = None

MARIADB_COLLATION = ("utf8mb4_0900_bin", "utf8mb4_nopad_bin")


def upgrade() -> None:
    """Run this dialect's frozen script; older code does not read the column, and goes on."""
    bind = op.get_bind()
    script = Path(__file__).with_name(f"0008_id_pattern.{bind.dialect.name}.sql").read_text(encoding="utf-8")
    if getattr(bind.dialect, "is_mariadb", False):
        script = script.replace(*MARIADB_COLLATION)
    # An interrupted upgrade may have added it already, where DDL is not transactional.
    present = {column["name"] for column in sa.inspect(bind).get_columns("reg_provenance")}
    if "id_pattern" not in present:
        bind.exec_driver_sql(script.strip().removesuffix(";"))
    bind.exec_driver_sql("UPDATE ing_schema_info SET schema_level = 8")
