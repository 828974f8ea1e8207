"""A database of schema level 4 with work in flight, written once by the code of that time.

It is in `tests/golden/level_4.json`. One plan of five hours of books: the first was read, the second stopped after a
page, the third failed, the fourth waits, and the fifth holds more than one query gives and waits to be cut smaller.
"""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

import sqlalchemy as sa

from ingest_core.execution.ports import Request, Response
from ingest_core.model.spec import AuthSpec
from ingest_core.store.engine.database import Database
from ingest_core.store.engine.types import Utc
from ingest_core.store.schema.tables import metadata
from ingest_core.store.schema.versions import _config

GOLDEN_FILE = Path(__file__).parents[1] / "golden" / "level_4.json"
LEVEL = 4
REVISION = "0004"
START = datetime(2020, 1, 1, tzinfo=UTC)
HOURS = 5
PAGE = 2
BOOKS = {0: 4, 1: 5, 2: 3, 3: 2, 4: 9}
"""How many books each hour has; one query gives no more than six."""

SOURCE: dict[str, Any] = {
    "source": {"code": "books", "name": "Books"},
    "endpoints": [
        {
            "name": "list",
            "path": "/list",
            "operations": ["HARVEST"],
            "response": {"items": "$.items", "id": "$.id", "updated_at": "$.at", "total": "$.total"},
        }
    ],
    "http": {"base_url": "https://books.example"},
    "pagination": {
        "type": "TOKEN",
        "max_page_size": PAGE,
        "page_size": PAGE,
        "max_records": 6,
        "initial_token": "0",
        "next_token": "$.next",
    },
    "window": {
        "field": "changed_at",
        "watermark_key": "changed_at",
        "step": "PT1H",
        "unit": "SECOND",
        "format": "%Y-%m-%dT%H:%M:%S",
        "upper_inclusive": False,
        "max_window": "PT1H",
    },
    "slicing": {"probe_budget": 0},
    "rate_limit": {"requests_per_second": 100_000, "burst": 1000},
    "retry": {"initial": "PT0S", "max": "PT0S", "max_attempts": 2},
    "params": [{"name": "rows", "value": "page_size"}, {"name": "cursor", "value": "page_token"}],
    "fields": [{"name": "changed_at", "type": "DATETIME"}],
    "render_rules": [{"field": "changed_at", "op": "RANGE", "param": "range", "template": "{from}..{to}"}],
    "mapping": {"title": "$.title"},
}
"""The source file, in keys that level 4 knows."""


def truth() -> dict[str, str]:
    """Every book that can be stored, with its title."""
    return {one["id"]: one["title"] for one in _books() if "id" in one}


def _books() -> list[dict[str, Any]]:
    """In order of time; the first hour has one more, without an id."""
    found: list[dict[str, Any]] = []
    for hour, count in BOOKS.items():
        for number in range(count):
            at = START + timedelta(hours=hour, minutes=6 * number)
            found.append({"id": f"b{hour}-{number}", "at": at.isoformat(), "title": f"Book {number} of hour {hour}"})
    return [*found[:2], {"at": (START + timedelta(minutes=7)).isoformat(), "title": "No id"}, *found[2:]]


class Bookshop:
    """An Upstream that gives the books of a window, page by page."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        """The range and the token of each request."""
        self.refuses: set[int] = set()
        """The hours it answers 400 for."""
        self.stop: Event | None = None
        """Set with the next answer, so that the worker ends after that page."""

    def send(self, request: Request) -> Response:
        """The books from the token on."""
        query = dict(request.query)
        low, high = (datetime.fromisoformat(end).replace(tzinfo=UTC) for end in query["range"].split(".."))
        self.asked.append((query["range"], query["cursor"]))
        if (low - START) // timedelta(hours=1) in self.refuses:
            return Response("https://books.example/list", 400, {}, b'{"error": "no"}', 0.01)
        if self.stop:
            self.stop.set()
        found = [one for one in _books() if low <= datetime.fromisoformat(one["at"]) < high]
        place = int(query["cursor"])
        following = str(place + PAGE) if place + PAGE < len(found) else None
        answer = {"items": found[place : place + PAGE], "total": len(found), "next": following}
        return Response("https://books.example/list", 200, {}, json.dumps(answer).encode(), 0.01)

    def knows(self, auth: AuthSpec) -> bool:
        """There is no secret."""
        return auth.credential_ref is None


def golden() -> dict[str, list[dict[str, Any]]]:
    """All rows, table by table, without columns that are NULL."""
    found: dict[str, list[dict[str, Any]]] = json.loads(GOLDEN_FILE.read_text(encoding="utf-8"))
    return found


def create_level_four(database: Database) -> None:
    """An empty database made what the code of level 4 left."""
    from alembic import command

    config = _config()
    with database.write() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, REVISION)
        for name, rows in golden().items():
            table = metadata.tables[name]
            for row in rows:
                # Ids are given again in the same order, so that those to come go on after them.
                values = {column: _value(table.c[column], value) for column, value in row.items() if column != "id"}
                connection.execute(sa.insert(table).values(**values))


def as_golden(database: Database, tables: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """The columns that a golden file has of its rows, as they are now."""
    with database.read() as connection:
        found = {name: metadata.tables[name] for name in tables}
        present = {
            name: connection.execute(sa.select(table).order_by(*table.primary_key.columns)).all()
            for name, table in found.items()
        }
    return {
        name: [
            {column: _plain(getattr(row, column)) for column in old}
            for old, row in zip(rows, present[name], strict=False)
        ]
        for name, rows in tables.items()
    }


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return value.hex() if isinstance(value, bytes) else value


def _value(column: sa.Column[Any], value: Any) -> Any:
    if isinstance(column.type, Utc):
        return datetime.fromisoformat(value)
    return bytes.fromhex(value) if isinstance(column.type, sa.LargeBinary) else value
