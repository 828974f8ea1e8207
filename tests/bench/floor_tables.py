"""The floor's table on each database, and the quickest upsert its driver has."""

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import psycopg
import pymysql
from sqlalchemy.engine import URL

Row = tuple[Any, ...]
COLUMNS = "provider_id, source_updated_at, payload, payload_hash, record"
STATEMENT_BYTES = 4_000_000
CHANGED = ("source_updated_at", "payload", "payload_hash", "record")


class FloorTable(Protocol):
    """A table that takes pages."""

    def upsert(self, rows: Sequence[Row]) -> None:
        """One page in one transaction; a newer work overwrites."""

    def close(self) -> None:
        """Give the connection back."""


def open_floor(url: URL) -> FloorTable:
    """A new table in that database."""
    kinds: dict[str, Callable[[URL], FloorTable]] = {
        "sqlite": SqliteFloor,
        "postgresql": PostgresFloor,
        "mysql": MysqlFloor,
    }
    return kinds[url.get_backend_name()](url)


class PostgresFloor:
    """COPY into a temporary table, then one INSERT; the payload compressed by lz4."""

    def __init__(self, url: URL) -> None:
        self._connection = psycopg.connect(
            url.set(drivername="postgresql").render_as_string(hide_password=False), autocommit=False
        )
        self._connection.execute(
            "CREATE TABLE floor_item (provider_id varchar(512) PRIMARY KEY, source_updated_at timestamptz NOT NULL,"
            " payload json COMPRESSION lz4 NOT NULL, payload_hash varchar(64) NOT NULL, record jsonb NOT NULL)"
        )
        self._connection.execute("CREATE TEMP TABLE page (LIKE floor_item INCLUDING COMPRESSION) ON COMMIT DELETE ROWS")
        self._connection.commit()
        changes = ", ".join(f"{name} = excluded.{name}" for name in CHANGED)
        self._merge = (
            f"INSERT INTO floor_item ({COLUMNS}) SELECT {COLUMNS} FROM page ON CONFLICT (provider_id)"
            f" DO UPDATE SET {changes} WHERE excluded.source_updated_at > floor_item.source_updated_at"
        )

    def upsert(self, rows: Sequence[Row]) -> None:
        """One page in one transaction; a newer work overwrites."""
        with self._connection.cursor() as cursor:
            with cursor.copy(f"COPY page ({COLUMNS}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
            cursor.execute(self._merge)
        self._connection.commit()

    def close(self) -> None:
        """Give the connection back."""
        self._connection.close()


class SqliteFloor:
    """One executemany with a write-ahead log."""

    def __init__(self, url: URL) -> None:
        self._connection = sqlite3.connect(str(url.database), isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=NORMAL")
        self._connection.execute(
            "CREATE TABLE floor_item (provider_id TEXT PRIMARY KEY, source_updated_at TEXT NOT NULL,"
            " payload TEXT NOT NULL, payload_hash TEXT NOT NULL, record TEXT NOT NULL)"
        )
        changes = ", ".join(f"{name} = excluded.{name}" for name in CHANGED)
        self._statement = (
            f"INSERT INTO floor_item ({COLUMNS}) VALUES (?, ?, ?, ?, ?) ON CONFLICT (provider_id)"
            f" DO UPDATE SET {changes} WHERE excluded.source_updated_at > source_updated_at"
        )

    def upsert(self, rows: Sequence[Row]) -> None:
        """One page in one transaction; a newer work overwrites."""
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.executemany(self._statement, rows)
        self._connection.execute("COMMIT")

    def close(self) -> None:
        """Give the connection back."""
        self._connection.close()


class MysqlFloor:
    """Statements of many rows, as pymysql's executemany makes them."""

    def __init__(self, url: URL) -> None:
        self._connection = pymysql.connect(
            host=url.host,
            port=url.port or 3306,
            user=url.username,
            password=url.password or "",
            database=url.database,
            charset="utf8mb4",
            unix_socket=url.query.get("unix_socket"),
        )
        with self._connection.cursor() as cursor:
            cursor.execute(
                "CREATE TABLE floor_item (provider_id varchar(512) CHARACTER SET ascii PRIMARY KEY,"
                " source_updated_at datetime(6) NOT NULL, payload longtext NOT NULL, payload_hash varchar(64) NOT NULL,"
                " record longtext NOT NULL) CHARACTER SET utf8mb4"
            )
        newer = "VALUES(source_updated_at) > source_updated_at"
        # The time last: MySQL assigns from left to right, and the others compare with the old one.
        changes = ", ".join(f"{name} = IF({newer}, VALUES({name}), {name})" for name in (*CHANGED[1:], CHANGED[0]))
        self._statement = (
            f"INSERT INTO floor_item ({COLUMNS}) VALUES (%s, %s, %s, %s, %s) ON DUPLICATE KEY UPDATE {changes}"
        )

    def upsert(self, rows: Sequence[Row]) -> None:
        """One page in one transaction; a newer work overwrites."""
        with self._connection.cursor() as cursor:
            type(cursor).max_stmt_length = STATEMENT_BYTES
            cursor.executemany(self._statement, [(row[0], row[1].rstrip("Z"), *row[2:]) for row in rows])
        self._connection.commit()

    def close(self) -> None:
        """Give the connection back."""
        self._connection.close()
