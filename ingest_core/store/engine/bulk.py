"""Many rows at once, by each driver's quickest way; the part of `dialect.py` that statements are too slow for.

The drivers would send a row at a time, or look at each character of a payload in Python. A statement of many rows also
lets other threads work: the interpreter's lock is given up once, not once a row.
"""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect

from ingest_core.model.instant import to_micros
from ingest_core.store.engine.json_text import dump_json
from ingest_core.store.engine.types import RawJson, Utc

BoundRow = Sequence[Any]
Binder = Callable[[Any], Any]

_COPY_BEGIN = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
_COPY_END = struct.pack(">h", -1)
_AS_IT_IS = {"no_parameters": True}  # or the driver would take a % for its own
_COPIED = "patra_copied"
_NULL = struct.pack(">i", -1)
_POSTGRES_EPOCH_MICROS = 946_684_800_000_000
_JSONB_VERSION = b"\x01"
_SQLITE_ROWS = 512  # of at most 32,766 parameters
_MYSQL_STATEMENT_BYTES = 4_000_000  # the server takes 16 MB: a record that is larger than these 4 goes alone


@dataclass(frozen=True)
class BulkInsert:
    """Rows of a table: the columns that differ, by name, and the values of those that are the same in all."""

    table: sa.Table
    names: tuple[str, ...]
    rows: Sequence[BoundRow]
    shared: dict[str, Any]

    @property
    def columns(self) -> list[sa.Column[Any]]:
        """All columns, those that differ first."""
        return [self.table.c[name] for name in (*self.names, *self.shared)]


def insert_rows(connection: sa.Connection, given: BulkInsert) -> None:
    """INSERT them all, in their order; IntegrityError when one is there already."""
    if given.rows:
        _INSERT[connection.dialect.name](connection, given)


def _insert_sqlite(connection: sa.Connection, given: BulkInsert) -> None:
    """Statements of many rows, what the rows share bound once; of few sizes: the driver keeps each with its values."""
    bind = _binders(connection.dialect, given.table, given.names)
    shared, head = _bound_shared(connection.dialect, given), _head(connection.dialect, given)
    start = 0
    while start < len(given.rows):
        size = min(_SQLITE_ROWS, 1 << (len(given.rows) - start).bit_length() - 1)
        part, start = given.rows[start : start + size], start + size
        parameters = list(shared)
        for row in part:
            parameters += [bound(value) if bound else value for bound, value in zip(bind, row, strict=True)]
        statement = _sqlite_statement(head, len(shared), len(given.names), len(part))
        connection.exec_driver_sql(statement, tuple(parameters))


@lru_cache(maxsize=16)
def _sqlite_statement(head: str, shared: int, width: int, rows: int) -> str:
    tail = ", ".join(f"?{number}" for number in range(1, shared + 1))
    values = (
        f"({', '.join(f'?{number}' for number in range(at, at + width))}, {tail})"
        for at in range(shared + 1, shared + 1 + width * rows, width)
    )
    return f"{head} VALUES {', '.join(values)}"


def _insert_mysql(connection: sa.Connection, given: BulkInsert) -> None:
    """Statements of many rows, written here: pymysql would translate every payload character by character."""
    bind = _binders(connection.dialect, given.table, given.names)
    tail = ", ".join(map(_mysql_literal, _bound_shared(connection.dialect, given)))
    head = f"{_head(connection.dialect, given)} VALUES "
    values: list[str] = []
    size = 0
    for row in given.rows:
        texts = [_mysql_literal(bound(value) if bound else value) for bound, value in zip(bind, row, strict=True)]
        value = f"({', '.join(texts)}, {tail})"
        more = len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
        if values and size + more > _MYSQL_STATEMENT_BYTES:
            connection.exec_driver_sql(head + ", ".join(values), execution_options=_AS_IT_IS)
            values, size = [], 0
        values.append(value)
        size += more
    if values:
        connection.exec_driver_sql(head + ", ".join(values), execution_options=_AS_IT_IS)


def _mysql_literal(value: Any) -> str:
    """A literal for a session that escapes by backslash, as ours do: see `dialect.py` for its mode."""
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
    if value is None:
        return "NULL"
    if isinstance(value, datetime):
        return f"'{value.isoformat(' ')}'"
    if isinstance(value, int):
        return str(int(value))
    raise TypeError(f"{type(value).__name__} has no literal here")


def _insert_postgres(connection: sa.Connection, given: BulkInsert) -> None:
    """COPY in its binary form: nothing is escaped, and the server parses next to nothing."""
    pack = [_packer(given.table.c[name]) for name in given.names]
    tail = b"".join(_packer(given.table.c[name])(value) for name, value in given.shared.items())
    begin = struct.pack(">h", len(given.columns))
    pieces = [_COPY_BEGIN]
    for row in given.rows:
        pieces.append(begin)
        pieces += [packed(value) for packed, value in zip(pack, row, strict=True)]
        pieces.append(tail)
    pieces.append(_COPY_END)
    statement = _head(connection.dialect, given).replace("INSERT INTO", "COPY", 1) + " FROM STDIN (FORMAT BINARY)"
    connection.exec_driver_sql(statement, execution_options={**_AS_IT_IS, _COPIED: b"".join(pieces)})


def copy_instead(cursor: Any, statement: str, context: Any) -> bool:
    """For PostgreSQL's engines: a statement that brings data along is a COPY, for which psycopg has its own method."""
    data = context.execution_options.get(_COPIED)
    if data is None:
        return False
    with cursor.copy(statement) as copy:
        copy.write(data)
    return True


def _packer(column: sa.Column[Any]) -> Callable[[Any], bytes]:
    """A value of the column as COPY's binary form has it: its length, then itself."""
    pack = _plain_packer(column)

    def packed(value: Any) -> bytes:
        if value is None:
            return _NULL
        data = pack(value)
        return len(data).to_bytes(4, "big") + data

    return packed


def _plain_packer(column: sa.Column[Any]) -> Callable[[Any], bytes]:
    kind = column.type
    if isinstance(kind, sa.String | sa.Text | RawJson):
        return str.encode
    if isinstance(kind, Utc):
        return lambda value: struct.pack(">q", to_micros(value) - _POSTGRES_EPOCH_MICROS)
    if isinstance(kind, sa.JSON):
        return lambda value: _JSONB_VERSION + dump_json(value).encode()
    form = ">q" if isinstance(kind, sa.BigInteger) else ">i"
    return lambda value: struct.pack(form, value)


_INSERT: dict[str, Callable[[sa.Connection, BulkInsert], None]] = {
    "sqlite": _insert_sqlite,
    "mysql": _insert_mysql,
    "postgresql": _insert_postgres,
}


def _head(dialect: Dialect, given: BulkInsert) -> str:
    quote = dialect.identifier_preparer
    names = ", ".join(quote.format_column(column) for column in given.columns)
    return f"INSERT INTO {quote.format_table(given.table)} ({names})"


def _bound_shared(dialect: Dialect, given: BulkInsert) -> list[Any]:
    bind = _binders(dialect, given.table, tuple(given.shared))
    return [bound(value) if bound else value for bound, value in zip(bind, given.shared.values(), strict=True)]


@lru_cache(maxsize=64)
def _binders(dialect: Dialect, table: sa.Table, names: tuple[str, ...]) -> list[Binder | None]:
    """What makes a Python value one of the driver's, column by column; none where nothing has to be done."""
    return [table.c[name].type.dialect_impl(dialect).bind_processor(dialect) for name in names]
