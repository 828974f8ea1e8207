"""The database: connections, transactions that are tried again, and its clock."""

import logging
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, ProgrammingError, StatementError

from ingest_core.model.errors import DataRefused, PatraError, Unreachable
from ingest_core.model.redaction import excerpt
from ingest_core.store.engine import dialect

T = TypeVar("T")
log = logging.getLogger(__name__)

_CONFLICT_ATTEMPTS = 8
_CONFLICT_WAIT_SECONDS = 0.05
_SHOWN_CHARS = 300


class Database:
    """One database, whichever it is; `clock_shift` lets tests move its clock."""

    def __init__(self, url: str, clock_shift: timedelta = timedelta(0)) -> None:
        self.url = dialect.parse_url(url)
        self.clock_shift = clock_shift
        self.engine = dialect.create_engine(self.url)
        self.dialect_name = self.engine.dialect.name

    def close(self) -> None:
        """Give every connection back."""
        self.engine.dispose()

    @property
    def shown_url(self) -> str:
        """The URL without its password."""
        return self.url.set(query={}).render_as_string(hide_password=True)

    @contextmanager
    def read(self, *, snapshot: bool = False) -> Iterator[sa.Connection]:
        """A connection that only reads; as a snapshot, all statements see the same moment."""
        with self._translated(), self._connect() as connection:
            connection.execution_options(**{dialect.READ_ONLY: True})
            if snapshot and self.dialect_name != "sqlite":  # whose transactions are snapshots anyway
                connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """One transaction, committed at the end of the block."""
        with self._translated(), self._connect() as connection, connection.begin():
            yield connection

    def transact(self, work: Callable[[sa.Connection], T]) -> T:
        """One transaction around `work`, tried again when another transaction was in the way."""
        with self._translated():
            for attempt in range(1, _CONFLICT_ATTEMPTS):
                try:
                    return self._once(work)
                except DBAPIError as error:
                    if not dialect.is_conflict(error):
                        raise
                time.sleep(_CONFLICT_WAIT_SECONDS * attempt * random.uniform(0.5, 1.5))  # noqa: S311 - jitter
            return self._once(work)

    def _once(self, work: Callable[[sa.Connection], T]) -> T:
        with self._connect() as connection, connection.begin():
            return work(connection)

    @contextmanager
    def _connect(self) -> Iterator[sa.Connection]:
        try:
            connection = self.engine.connect()
        except (OperationalError, InterfaceError) as error:
            raise self._unreachable(error) from error
        except ProgrammingError as error:  # psycopg's word for an option it does not know
            raise dialect.refused_by_driver(self.url, error) from error
        except DBAPIError:
            raise
        except Exception as error:  # drivers raise whatever their options lead to: TypeError, OSError, AttributeError
            raise dialect.refused_by_driver(self.url, error) from error
        with connection:
            yield connection

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """A driver's error becomes one that people can read."""
        try:
            yield
        except DBAPIError as error:
            log.debug("database error", exc_info=True)
            if error.connection_invalidated:
                raise self._unreachable(error) from error
            if dialect.is_data_error(error):
                raise self._refused(error.orig or error) from error
            raise Unreachable(
                "DATABASE_ERROR",
                _first_line(error.orig),
                where=f"database {self.shown_url}",
                remedy="set PATRA_LOG_LEVEL=DEBUG to see more",
            ) from error
        except StatementError as error:  # the driver never saw the value: it could not be written as JSON
            raise self._refused(error.orig or error) from error
        except (UnicodeEncodeError, OverflowError) as error:
            raise self._refused(error) from error

    def _refused(self, error: BaseException) -> PatraError:
        """The error of a value; a driver's message may quote it."""
        message = f"a value was refused: {excerpt(_first_line(error), _SHOWN_CHARS)}"
        return DataRefused("DATA_REFUSED", message, where=f"database {self.shown_url}")

    def _unreachable(self, error: DBAPIError) -> PatraError:
        return Unreachable(
            "DATABASE_UNREACHABLE",
            f"no connection: {_first_line(error.orig)}",
            where=f"database {self.shown_url}",
            remedy="start it, or set PATRA_DATABASE_URL to one that runs",
        )

    def now_sql(self, plus: timedelta = timedelta(0)) -> sa.ColumnElement[Any]:
        """The database's clock as an expression."""
        return dialect.now_plus(self.dialect_name, plus + self.clock_shift)

    def now(self, connection: sa.Connection | None = None) -> datetime:
        """What time it is in the database."""
        if connection is None:
            with self.read() as reader:
                return self.now(reader)
        moment: datetime = connection.execute(sa.select(self.now_sql())).scalar_one()
        return moment


def _first_line(error: BaseException | None) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else "unknown error"
