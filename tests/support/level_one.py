"""What a database of schema level 1 held, written down once by the code of that time (`tests/golden/level_1*.json`)."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.window import Window
from ingest_core.registry.rows import Rows
from ingest_core.store.engine.database import Database
from ingest_core.store.engine.types import Utc
from ingest_core.store.schema.tables import SOURCE_TABLES, metadata
from ingest_core.store.schema.versions import _config

_FOLDER = Path(__file__).parents[1] / "golden"
GOLDEN: dict[str, Any] = json.loads((_FOLDER / "level_1.json").read_text(encoding="utf-8"))
PLANNED: dict[str, list[dict[str, Any]]] = json.loads((_FOLDER / "level_1_plan.json").read_text(encoding="utf-8"))
"""What planning the golden slice wrote: one row in each of seven tables."""

OLD_ROWS: Rows = GOLDEN["rows"]
LEVEL = 1


def old_snapshot() -> SpecSnapshot:
    """The snapshot a plan of that time was stored with, read by today's code."""
    return SpecSnapshot.from_json(GOLDEN["snapshot"])


def window_of(ends: list[str]) -> Window:
    """A window as the golden file writes it."""
    return Window(*map(datetime.fromisoformat, ends))


def create_level_one(database: Database) -> None:
    """An empty database made a database of level 1, with Crossref registered."""
    from alembic import command

    config = _config()
    with database.write() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        _register(connection, database.now(connection))


def _register(connection: sa.Connection, now: datetime) -> None:
    """Crossref as it is, and a rate that was changed once: history comes along."""
    for name, rows in OLD_ROWS.items():
        for row in rows:
            connection.execute(sa.insert(SOURCE_TABLES[name]).values(**row, created_at=now, updated_at=now))
    rates = SOURCE_TABLES["reg_prov_rate_limit_cfg"]
    slower = {**OLD_ROWS[rates.name][0], "refill_rate_per_sec": 1.0}
    times = {"created_at": now, "updated_at": now, "closed_at": now, "effective_from": now}
    connection.execute(sa.insert(rates).values({**slower, **times}))


def plan_as_then(database: Database) -> None:
    """The plan of the golden slice in a database of level 1, row by row as the code of that time wrote it."""
    with database.write() as connection:
        for name, rows in PLANNED.items():
            table = metadata.tables[name]
            for row in rows:
                values = {column: _value(table.c[column], value) for column, value in row.items() if column != "id"}
                snapshot = {"provenance_config_snapshot": GOLDEN["snapshot"]} if name == "ing_plan" else {}
                connection.execute(sa.insert(table).values(**values, **snapshot))


def _value(column: sa.Column[Any], value: Any) -> Any:
    return datetime.fromisoformat(value) if isinstance(column.type, Utc) else value
