"""The database itself: reached or not, tried again or not."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from ingest_core.model.errors import BadInput, ExitCode, PatraError, Unreachable
from ingest_core.store.engine import database as database_module
from ingest_core.store.engine.database import Database
from ingest_core.store.schema.tables import ing_rate_gate
from tests.support.books import MIDNIGHT
from tests.support.breaking import DEADLINE_SECONDS, together
from tests.support.tables import rows

NOBODY_LISTENS = {
    "sqlite": "sqlite:///{folder}/missing/patra.db",
    "postgresql": "postgresql://ann:s3cret@127.0.0.1:1/patra",
    "mysql": "mysql://ann:s3cret@127.0.0.1:1/patra",
}


def add_gate(connection: sa.Connection, key: str) -> None:
    """A row to write."""
    values = {"rate_key": key, "tat": MIDNIGHT, "cooldown_until": MIDNIGHT, "updated_at": MIDNIGHT}
    connection.execute(sa.insert(ing_rate_gate).values(**values))


def touch_gate(connection: sa.Connection, key: str) -> None:
    """Change a row, and so lock it."""
    connection.execute(sa.update(ing_rate_gate).where(ing_rate_gate.c.rate_key == key).values(updated_at=MIDNIGHT))


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No waits between attempts."""
    monkeypatch.setattr(database_module, "_CONFLICT_WAIT_SECONDS", 0)


def test_a_server_that_does_not_answer_is_unreachable(dialect: str, tmp_path: Path) -> None:
    lost = Database(NOBODY_LISTENS[dialect].format(folder=tmp_path))
    for use in (lost.now, lambda: lost.transact(lambda connection: connection.exec_driver_sql("SELECT 1"))):
        with pytest.raises(Unreachable) as refused:
            use()
        error = refused.value
        assert (error.code, error.exit_code) == ("DATABASE_UNREACHABLE", ExitCode.UNREACHABLE)
        assert "s3cret" not in f"{error} {error!r}"
        assert "PATRA_DATABASE_URL" in error.remedy
    lost.close()


@pytest.mark.parametrize("server", ["postgresql", "mysql"])
def test_a_password_among_the_urls_options_is_not_shown(server: str) -> None:
    database = Database(f"{server}://127.0.0.1:1/patra?password=s3cret")
    assert "s3cret" not in database.shown_url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "patra.db",
        "oracle://ann@host/patra",
        "postgresql://ann@host:port/patra",
    ],
)
def test_a_bad_url_is_bad_input(url: str) -> None:
    with pytest.raises(BadInput) as refused:
        Database(url)
    assert (refused.value.code, refused.value.exit_code) == ("DATABASE_URL_INVALID", ExitCode.BAD_INPUT)
    assert refused.value.where == "PATRA_DATABASE_URL"


def test_a_bad_url_does_not_show_its_password() -> None:
    with pytest.raises(BadInput) as refused:
        Database("oracle://ann:s3cret@host/patra")
    assert "s3cret" not in f"{refused.value} {refused.value!r}"


@pytest.mark.parametrize("spelling", ["postgres", "postgresql", "postgresql+asyncpg", "mariadb", "mysql"])
def test_every_spelling_of_a_database_gets_the_driver_that_is_here(spelling: str) -> None:
    database = Database(f"{spelling}://ann@host/patra")
    assert database.dialect_name in ("postgresql", "mysql")
    database.close()


def test_a_transaction_that_fails_leaves_nothing(database: Database) -> None:
    def work(connection: sa.Connection) -> None:
        add_gate(connection, "a")
        raise KeyError("no")

    with pytest.raises(KeyError):
        database.transact(work)
    assert rows(database, ing_rate_gate) == []


def test_a_deadlock_is_tried_again(database: Database, other: Database) -> None:
    """Two lock the same rows in opposite order, each waiting for the other the first time."""
    with database.write() as connection:
        add_gate(connection, "a")
        add_gate(connection, "b")
    meeting, attempts = Barrier(2), []

    def cross(first: str, second: str, worker: Database) -> None:
        def work(connection: sa.Connection) -> None:
            attempts.append(first)
            touch_gate(connection, first)
            if len(attempts) <= 2:
                _meet(meeting)
            touch_gate(connection, second)

        worker.transact(work)

    together(lambda: cross("a", "b", database), lambda: cross("b", "a", other))
    assert len(attempts) == (2 if database.dialect_name == "sqlite" else 3)  # SQLite's writers are alone


def _meet(meeting: Barrier) -> None:
    try:
        meeting.wait(0.5)
    except BrokenBarrierError:
        return


IMPATIENT = {
    "sqlite": ("PRAGMA busy_timeout = 50", 0.3),
    "postgresql": ("SET lock_timeout = '100ms'", 0.3),
    "mysql": ("SET SESSION innodb_lock_wait_timeout = 1", 1.3),
}
"""How a session is made to wait but shortly for locks, and for how long another then holds one."""


def test_a_lock_waited_for_in_vain_is_tried_again(database: Database) -> None:
    statement, held_seconds = IMPATIENT[database.dialect_name]

    def hurry(connection: Any, _record: object) -> None:
        cursor = connection.cursor()
        cursor.execute(statement)
        cursor.close()
        connection.commit()

    worker = Database(database.url.render_as_string(hide_password=False))
    sa.event.listen(worker.engine, "connect", hurry)
    with database.write() as connection:
        add_gate(connection, "a")
    with ThreadPoolExecutor(1) as pool:
        with database.write() as connection:
            touch_gate(connection, "a")
            waiting = pool.submit(worker.transact, lambda rival: touch_gate(rival, "a"))
            time.sleep(held_seconds)
        try:
            waiting.result(DEADLINE_SECONDS)
        finally:
            worker.close()


def test_a_row_another_just_inserted_is_tried_again(database: Database, patient: None) -> None:
    attempts: list[int] = []

    def work(connection: sa.Connection) -> str:
        attempts.append(1)
        if len(attempts) < 3:
            add_gate(connection, "a")
            add_gate(connection, "a")
        add_gate(connection, "b")
        return "done"

    assert database.transact(work) == "done"
    assert [row["rate_key"] for row in rows(database, ing_rate_gate)] == ["b"]


def test_trying_again_has_an_end(database: Database, patient: None) -> None:
    attempts: list[int] = []

    def work(connection: sa.Connection) -> None:
        attempts.append(1)
        add_gate(connection, "a")
        add_gate(connection, "a")

    with pytest.raises(PatraError) as given_up:
        database.transact(work)
    assert isinstance(given_up.value.__cause__, IntegrityError)
    assert len(attempts) == 8
    assert rows(database, ing_rate_gate) == []


def test_what_no_one_was_in_the_way_of_is_not_tried_again(database: Database) -> None:
    attempts: list[int] = []

    def work(connection: sa.Connection) -> None:
        attempts.append(1)
        connection.exec_driver_sql("SELECT missing FROM nowhere")

    with pytest.raises(PatraError, match="nowhere"):
        database.transact(work)
    assert len(attempts) == 1


@pytest.mark.parametrize("dialect", ["postgresql", "mysql"], indirect=True)  # SQLite has no rivals
def test_a_connection_that_was_cut_is_replaced(database: Database, other: Database) -> None:

    def work(connection: sa.Connection) -> None:
        add_gate(connection, "a")
        _cut(other, _session_of(connection))
        add_gate(connection, "b")

    with pytest.raises(Unreachable) as lost:
        database.transact(work)
    assert lost.value.code == "DATABASE_UNREACHABLE"
    assert rows(database, ing_rate_gate) == []


def _session_of(connection: sa.Connection) -> int:
    query = "SELECT pg_backend_pid()" if connection.dialect.name == "postgresql" else "SELECT CONNECTION_ID()"
    return int(connection.exec_driver_sql(query).scalar_one())


def _cut(other: Database, session: int) -> None:
    kill: dict[str, Any] = {"postgresql": f"SELECT pg_terminate_backend({session}, 5000)", "mysql": f"KILL {session}"}
    with other.engine.connect() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql(kill[other.dialect_name]).close()


def test_a_writer_waits_for_another_and_a_reader_does_not(database: Database, other: Database) -> None:
    with ThreadPoolExecutor(1) as pool:
        with database.write() as connection:
            add_gate(connection, "a")
            assert rows(other, ing_rate_gate) == []
            waiting = pool.submit(other.transact, lambda rival: add_gate(rival, "b"))
        waiting.result(DEADLINE_SECONDS)
    assert [row["rate_key"] for row in rows(database, ing_rate_gate)] == ["a", "b"]
