"""Column types that mean the same on every database."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeEngine

from ingest_core.model.instant import as_utc, from_micros, to_micros

MYSQL_BINARY_COLLATION = "utf8mb4_0900_bin"
"""Byte by byte, trailing spaces too; MariaDB calls it utf8mb4_nopad_bin, see the migrations."""

MOST_DIGITS = 38
_LEAST_WHOLE = -1
"""Before the first id there is."""
_BEYOND_SQLITE = 2**63

BigId = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
"""A row's number."""


class Utc(sa.types.TypeDecorator[datetime]):
    """An instant with microseconds: timestamptz, DATETIME(6), or integer microseconds on SQLite."""

    impl = sa.DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The database's own type."""
        if dialect.name == "sqlite":
            return dialect.type_descriptor(sa.BigInteger())
        if dialect.name == "mysql":
            return dialect.type_descriptor(mysql.DATETIME(fsp=6))
        return dialect.type_descriptor(postgresql.TIMESTAMP(timezone=True, precision=6))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """UTC in, in the database's form."""
        if value is None:
            return None
        instant = as_utc(value)
        if dialect.name == "sqlite":
            return to_micros(instant)
        return instant.replace(tzinfo=None) if dialect.name == "mysql" else instant

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """UTC out, always aware."""
        if value is None:
            return None
        return from_micros(value) if dialect.name == "sqlite" else as_utc(value)


class Whole(sa.types.TypeDecorator[int]):
    """A whole number of up to 38 digits, exact and in order.

    SQLite's own numbers end at 64 bits and become inexact beyond: there, larger ones are text that sorts after them.
    """

    impl = sa.Numeric
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The database's own type."""
        return dialect.type_descriptor(_SqliteWhole() if dialect.name == "sqlite" else sa.Numeric(MOST_DIGITS, 0))

    def process_bind_param(self, value: int | None, dialect: Dialect) -> Any:
        """In, if it fits."""
        if value is None:
            return None
        if not _LEAST_WHOLE <= value < 10**MOST_DIGITS:
            raise ValueError(f"{value} is below {_LEAST_WHOLE} or has more than {MOST_DIGITS} digits")
        return f"n{value:0{MOST_DIGITS}}" if dialect.name == "sqlite" and value >= _BEYOND_SQLITE else value

    def process_result_value(self, value: Any, dialect: Dialect) -> int | None:
        """An int out, always."""
        if value is None:
            return None
        return int(value.removeprefix("n")) if isinstance(value, str) else int(value)


class _SqliteWhole(sa.types.UserDefinedType[Any]):
    """NUMERIC without SQLAlchemy's way through floats."""

    cache_ok = True

    def get_col_spec(self, **_options: Any) -> str:
        """The column's type."""
        return f"NUMERIC({MOST_DIGITS}, 0)"


def code(length: int = 64) -> sa.String:
    """A code, id or hash: compared and ordered byte by byte."""
    return (
        sa.String(length)
        .with_variant(postgresql.VARCHAR(length, collation="C"), "postgresql")
        .with_variant(mysql.VARCHAR(length, collation=MYSQL_BINARY_COLLATION), "mysql")
    )


def long_text() -> sa.Text:
    """Text without a practical limit, compared byte by byte."""
    return (
        sa.Text()
        .with_variant(postgresql.TEXT(collation="C"), "postgresql")
        .with_variant(mysql.LONGTEXT(collation=MYSQL_BINARY_COLLATION), "mysql")
    )


def json_value() -> sa.JSON:
    """JSON we wrote ourselves; SQL NULL for none."""
    return sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")


class RawJson(sa.types.TypeDecorator[str]):
    """JSON text exactly as received: binary JSON types would rewrite its numbers."""

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """json on PostgreSQL, LONGTEXT on MySQL, TEXT on SQLite."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(_PostgresJsonText())
        if dialect.name == "mysql":
            return dialect.type_descriptor(mysql.LONGTEXT(collation=MYSQL_BINARY_COLLATION))
        return dialect.type_descriptor(sa.Text())


class _PostgresJsonText(sa.types.UserDefinedType[str]):
    """`json` whose Python side is the text itself: SQLAlchemy's JSON would encode it once more."""

    cache_ok = True

    def get_col_spec(self, **_options: Any) -> str:
        """The column's type."""
        return "JSON"

    def column_expression(self, column: sa.ColumnElement[Any]) -> sa.ColumnElement[str]:
        """Read as text: the driver would decode it."""
        return sa.cast(column, sa.Text)


def binary() -> sa.LargeBinary:
    """Bytes."""
    return sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql")
