"""Schema versions: bringing a database up, and who may use it."""

from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from ingest_core.model.errors import Refused
from ingest_core.store.engine.database import Database
from ingest_core.store.engine.dialect import one_at_a_time
from ingest_core.store.schema.tables import ing_schema_info, metadata

if TYPE_CHECKING:
    from alembic.config import Config

DEMO = "DEMO"
"""The purpose of a database that a demo made and may clear."""

SCHEMA_LEVEL = 10
"""The level of the schema this code was written for; raised with every migration."""


def migrations_folder() -> Path:
    """Where the migrations are: in the wheel beside this package, in a checkout at the top."""
    package = Path(__file__).resolve().parents[2]
    inside = package / "sql"
    return inside if inside.is_dir() else package.parent / "sql"


def _config() -> "Config":
    from alembic.config import Config  # noqa: PLC0415 - slow to load, seldom needed

    config = Config()
    config.set_main_option("script_location", str(migrations_folder()).replace("%", "%%"))
    return config


def head_revision() -> str:
    """The newest revision this code ships."""
    from alembic.script import ScriptDirectory  # noqa: PLC0415 - slow to load, seldom needed

    head = ScriptDirectory.from_config(_config()).get_current_head()
    assert head is not None
    return head


def current_revision(database: Database) -> str | None:
    """The database's revision; none when it is empty."""
    from alembic.runtime.migration import MigrationContext  # noqa: PLC0415 - slow to load, seldom needed

    with database.read() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def upgrade_schema(database: Database) -> tuple[str | None, str]:
    """Apply what is missing; the revision before and after."""
    from alembic import command  # noqa: PLC0415 - slow to load, seldom needed

    before = current_revision(database)
    if before is not None:
        refuse_other_schema(database, upgrading=True)
        level = _level(database)
        if level is not None and level.schema_level > SCHEMA_LEVEL:
            return before, before  # newer code brought it up; it still serves this one
    config = _config()
    with database.read() as holder, one_at_a_time(holder), database.write() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
    return before, head_revision()


def refuse_other_schema(database: Database, *, upgrading: bool = False) -> None:
    """Refuse a database that is not there yet, or that no longer serves code this old."""
    level = _level(database)
    if level is None:
        raise no_schema(database.shown_url)
    if level.schema_level < SCHEMA_LEVEL and not upgrading:
        raise _schema_old(database.shown_url, f"has schema {level.schema_level}, this code needs {SCHEMA_LEVEL}")
    if level.oldest_code_level > SCHEMA_LEVEL:
        raise Refused(
            "CODE_OLD",
            f"serves code from level {level.oldest_code_level} on, this code is of level {SCHEMA_LEVEL}",
            where=f"database {database.shown_url}",
            remedy="upgrade patra-ingest",
        )


def no_schema(shown_url: str) -> Refused:
    """The refusal of a database without a schema."""
    return _schema_old(shown_url, "has no schema yet")


def _schema_old(shown_url: str, state: str) -> Refused:
    return Refused("SCHEMA_OLD", state, where=f"database {shown_url}", remedy="run: patra db upgrade")


def purpose(database: Database) -> str | None:
    """What the database was made for, where that was said."""
    with database.read() as connection:
        return connection.execute(sa.select(ing_schema_info.c.purpose_code)).scalar()


def mark_purpose(database: Database, code: str) -> None:
    """Say what the database is for."""
    with database.write() as connection:
        connection.execute(sa.update(ing_schema_info).values(purpose_code=code))


def drop_schema(database: Database) -> None:
    """Remove every table of ours and what is in them."""
    with database.write() as connection:
        metadata.drop_all(connection)
        connection.exec_driver_sql("DROP TABLE alembic_version")


def _level(database: Database) -> sa.Row[tuple[int, int]] | None:
    query = sa.select(ing_schema_info.c.schema_level, ing_schema_info.c.oldest_code_level)
    with database.read() as connection:
        if not sa.inspect(connection).has_table(ing_schema_info.name):
            return None
        return connection.execute(query).first()
