"""The one module where databases differ."""

import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.engine import URL, Engine, make_url
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError, NoSuchModuleError

from ingest_core.model.errors import BadInput
from ingest_core.store.engine.bulk import copy_instead
from ingest_core.store.engine.json_text import dump_json, load_json
from ingest_core.store.engine.types import Utc

READ_ONLY = "patra_read_only"
"""The execution option of a connection that will not write."""

_DRIVERS = {
    "sqlite": "sqlite",
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mysql+pymysql",
}
_POSTGRES_CONFLICTS = {"40001", "40P01", "55P03"}
_MYSQL_CONFLICTS = {1020, 1205, 1213, 1305}  # 1305: a deadlock took our savepoint along
_POSTGRES_DATA = ("22", "23", "54")  # classes of states: data exception, constraint violation, a limit exceeded
_MYSQL_DATA = {1153, 1300, 1366, 1406, 3140, 3141, 3819, 4025}  # packet, text, length, JSON, constraint
_WAL_ATTEMPTS = 100
_SCHEMA_LOCK = 7_061_747_261
_LOCK_WAIT_SECONDS = 120
_STRICT_MODE = "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO"


def parse_url(text: str) -> URL:
    """A database URL with the driver this product uses; a message never repeats what may be a password."""
    if not text.isprintable():
        raise _bad_url("it holds a character that cannot be printed")
    if text.count("@") > 1 and not text.startswith("sqlite"):
        # The URL would be split at the first @, and the rest of a password taken for the host, which is shown.
        raise _bad_url("it holds more than one @", "write an @ of the user or password as %40")
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:  # ValueError: its port is no number
        raise _bad_url("it is not a URL") from error
    driver = _DRIVERS.get(url.get_backend_name())
    if driver is None:
        raise _bad_url(f"{url.get_backend_name()!r} is not a supported database")
    url = url.set(drivername=driver)
    return url.update_query_dict({"charset": "utf8mb4"}) if driver.startswith("mysql") else url


_URLS = "use sqlite:///FILE, postgresql://USER@HOST/NAME or mysql://USER@HOST/NAME"


def _bad_url(why: str, remedy: str = _URLS) -> BadInput:
    return BadInput("DATABASE_URL_INVALID", why, where="PATRA_DATABASE_URL", remedy=remedy)


def refused_by_driver(url: URL, error: Exception) -> BadInput:
    """A driver's refusal of a URL; only the names of its options are shown, since a value may be a secret."""
    options = ", ".join(sorted(url.query)) or "none"
    return _bad_url(f"the driver refuses it ({type(error).__name__}); its options: {options}", "correct its options")


MORE_CONNECTIONS = 91
"""Beyond the five that are kept: an executor works up to 32 tasks at once, each with three threads."""

_JSON: dict[str, Any] = {"json_serializer": dump_json, "json_deserializer": load_json}


def create_engine(url: URL, pool_size: int = 5) -> Engine:
    """An engine whose sessions are UTC, READ COMMITTED and strict."""
    try:
        if url.get_backend_name() == "sqlite":
            if url.database in (None, "", ":memory:"):
                raise _bad_url("it names no file, and a database in memory is lost with its process")
            connect_args = {"timeout": 30, "check_same_thread": False}
            engine = sa.create_engine(
                url, connect_args=connect_args, hide_parameters=True, max_overflow=MORE_CONNECTIONS, **_JSON
            )
            sa.event.listen(engine, "connect", _prepare_sqlite)
            sa.event.listen(engine, "begin", _begin_sqlite)
            return engine
        engine = sa.create_engine(
            url,
            hide_parameters=True,
            isolation_level="READ COMMITTED",
            pool_size=pool_size,
            max_overflow=MORE_CONNECTIONS,
            pool_pre_ping=True,
            connect_args={"connect_timeout": 5},
            **_JSON,
        )
    except (ArgumentError, NoSuchModuleError, TypeError, ValueError) as error:
        raise refused_by_driver(url, error) from error
    if engine.dialect.name == "postgresql":
        sa.event.listen(engine, "do_execute_no_params", copy_instead)
    prepare = _prepare_postgres if engine.dialect.name == "postgresql" else _prepare_mysql
    sa.event.listen(engine, "connect", prepare)
    return engine


def _now_micros() -> int:
    return time.time_ns() // 1000


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # we begin transactions ourselves, see _begin_sqlite
    connection.create_function("patra_now", 0, _now_micros)  # SQLite's own clock has only milliseconds
    # The log is merged every 32 MB, not every 4: a page of records is nearly that much, and the next fills its leaves.
    for pragma in ("busy_timeout=30000", "synchronous=NORMAL", "cache_size=-16000", "wal_autocheckpoint=8000"):
        connection.execute(f"PRAGMA {pragma}")
    _use_write_ahead_log(connection)


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """The first to open a new file changes its mode; SQLite lets the others fail instead of wait."""
    for _ in range(_WAL_ATTEMPTS):
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            time.sleep(0.1)
        else:
            return
    connection.execute("PRAGMA journal_mode=WAL")


def _begin_sqlite(connection: sa.Connection) -> None:
    """A writer takes the lock at once: upgrading a read lock later could fail."""
    read_only = connection.get_execution_options().get(READ_ONLY)
    connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")


def _prepare_postgres(connection: Any, _record: object) -> None:
    connection.execute("SET TIME ZONE 'UTC'")
    connection.commit()


def _prepare_mysql(connection: Any, _record: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET SESSION time_zone = '+00:00', sql_mode = '{_STRICT_MODE}'")


def now_plus(dialect_name: str, span: timedelta) -> sa.ColumnElement[Any]:
    """The database's clock, moved by `span`."""
    micros = span // timedelta(microseconds=1)
    if dialect_name == "postgresql":
        return sa.type_coerce(sa.func.clock_timestamp() + sa.literal(span, sa.Interval()), Utc())
    if dialect_name == "mysql":
        return sa.type_coerce(sa.func.timestampadd(sa.text("MICROSECOND"), micros, sa.func.utc_timestamp(6)), Utc())
    return sa.type_coerce(sa.func.patra_now(type_=sa.BigInteger()) + micros, Utc())


def locked(query: sa.Select[Any], *, skip_locked: bool = False) -> sa.Select[Any]:
    """The query with its rows locked; SQLite, whose writers are alone, ignores it."""
    return query.with_for_update(skip_locked=skip_locked)


def shared(query: sa.Select[Any]) -> sa.Select[Any]:
    """The query with its rows locked against change, not against others who lock them this way."""
    return query.with_for_update(read=True)


def upsert(
    dialect_name: str,
    table: sa.Table,
    key: Sequence[str],
    take: Sequence[str],
    add: Sequence[str] = (),
    also: Mapping[str, sa.ColumnElement[Any]] | None = None,
) -> sa.sql.dml.Insert:
    """INSERT that updates the row of the same key: columns to take over, to add to, and to set by an expression."""
    if dialect_name == "mysql":
        insert = mysql.insert(table)
        return insert.on_duplicate_key_update(_changes(table, insert.inserted, take, add) | dict(also or {}))
    statement = postgresql.insert(table) if dialect_name == "postgresql" else sqlite.insert(table)
    changes = _changes(table, statement.excluded, take, add) | dict(also or {})
    return statement.on_conflict_do_update(index_elements=list(key), set_=changes)


def select_by_ids(
    dialect_name: str,
    columns: Sequence[sa.Column[Any]],
    within: sa.ColumnElement[bool],
    key: sa.Column[Any],
    ids: list[str],
) -> sa.Select[Any]:
    """The rows whose key is one of these, in their order, each found by index; `within` is the rest of that index."""
    if dialect_name == "postgresql":
        named = key == sa.any_(sa.literal(ids, postgresql.ARRAY(key.type)))
        return sa.select(*columns).where(within, named).order_by(key)
    if dialect_name == "sqlite":  # one parameter, not one for each id
        listed = sa.func.json_each(dump_json(ids)).table_valued("value")
        return sa.select(*columns).where(within, key.in_(sa.select(listed.c.value))).order_by(key)
    return sa.select(*columns).where(within, key.in_(ids)).order_by(key)


def plans_by_counts(dialect_name: str) -> bool:
    """Whether the server has to have counted a table to find its rows well; the others look as they plan."""
    return dialect_name == "postgresql"


def analyze_new(connection: sa.Connection, *tables: sa.Table) -> None:
    """Let the server count tables it never has: till then it may take the wrong index."""
    for table in tables:
        counted = "SELECT reltuples > 0 FROM pg_class WHERE oid = to_regclass(%(name)s)"
        if not connection.exec_driver_sql(counted, {"name": table.name}).scalar():
            connection.exec_driver_sql(f"ANALYZE {table.name}")


def insert_new(dialect_name: str, table: sa.Table, unchanged: str) -> sa.sql.dml.Insert:
    """INSERT that leaves a row of the same key as it is."""
    if dialect_name == "mysql":  # IGNORE would swallow other errors too
        return mysql.insert(table).on_duplicate_key_update({unchanged: table.c[unchanged]})
    statement = postgresql.insert(table) if dialect_name == "postgresql" else sqlite.insert(table)
    return statement.on_conflict_do_nothing()


def _changes(table: sa.Table, given: Any, take: Sequence[str], add: Sequence[str]) -> dict[str, Any]:
    return {name: given[name] for name in take} | {name: table.c[name] + given[name] for name in add}


def insert_many(
    connection: sa.Connection, table: sa.Table, rows: list[dict[str, Any]], key: str, within: sa.ColumnElement[bool]
) -> dict[str, int]:
    """INSERT all rows; the id of each by its key, which is unique `within`.

    MySQL cannot say the ids it gave. The others would read all of a plan to find a few: they know nothing yet of rows
    that this transaction has written.
    """
    insert = sa.insert(table)
    if connection.dialect.insert_executemany_returning:
        found = connection.execute(insert.returning(table.c[key], table.c.id), rows)
    else:
        connection.execute(insert, rows)
        wanted = table.c[key].in_([row[key] for row in rows])
        found = connection.execute(sa.select(table.c[key], table.c.id).where(within, wanted))
    return {str(value): int(row_id) for value, row_id in found}


@contextmanager
def one_at_a_time(connection: sa.Connection) -> Iterator[None]:
    """Lock out other upgrades until the block has committed; SQLite has one writer anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_SCHEMA_LOCK)))
    if connection.dialect.name != "mysql":
        yield
        return
    connection.execute(sa.select(sa.func.get_lock(sa.func.concat("patra:", sa.func.database()), _LOCK_WAIT_SECONDS)))
    try:
        yield
    finally:
        connection.execute(sa.select(sa.func.release_lock(sa.func.concat("patra:", sa.func.database()))))


def is_data_error(error: DBAPIError) -> bool:
    """Whether the statement's own values are at fault: the database is well, and others may go on."""
    if isinstance(error, DataError | IntegrityError):
        return True
    origin = error.orig
    number = origin.args[0] if origin is not None and origin.args else None
    return number in _MYSQL_DATA or (getattr(origin, "sqlstate", None) or "")[:2] in _POSTGRES_DATA


def is_conflict(error: DBAPIError) -> bool:
    """Whether another transaction was in the way, so that trying again is right."""
    if isinstance(error, IntegrityError):
        return True
    origin = error.orig
    if isinstance(origin, sqlite3.OperationalError):
        return "locked" in str(origin)
    # PyMySQL's errors have a state too, but only the number tells a lock's timeout.
    number = origin.args[0] if origin is not None and origin.args else None
    return number in _MYSQL_CONFLICTS or getattr(origin, "sqlstate", None) in _POSTGRES_CONFLICTS
