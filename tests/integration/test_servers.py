"""Tests find their database servers, say which, and leave nothing behind."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import NullPool, create_engine, inspect, make_url, text
from sqlalchemy.exc import IntegrityError, OperationalError

from tests.conftest import DatabaseFactory, Servers
from tests.support import servers as module
from tests.support.servers import (
    Missing,
    Server,
    find_server,
    normalise_url,
    require_server,
    stop_server,
    temporary_database,
)

REPOSITORY = Path(__file__).parents[2]


def execute(url: str, statement: str) -> list[tuple[Any, ...]]:
    """What the statement finds."""
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        result = connection.execute(text(statement))
        return [tuple(row) for row in result] if result.returns_rows else []


def exists(url: str) -> bool:
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        return Path(str(parsed.database)).exists()
    try:
        execute(url, "SELECT 1")
    except OperationalError:
        return False
    return True


@pytest.fixture
def nothing_at_the_usual_ports(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Ports that are bound, so nobody else takes them, and where nobody listens."""
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        ports = {"postgresql": one.getsockname()[1], "mysql": other.getsockname()[1]}
        monkeypatch.setattr(module, "USUAL_PORTS", ports)
        for name in module.ENV_NAMES.values():
            monkeypatch.delenv(name, raising=False)
        yield


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BINARY_FOLDERS", ())
    monkeypatch.setenv("PATH", "")


@pytest.mark.parametrize(
    ("dialect_name", "given", "expected"),
    [
        ("postgresql", "postgresql://ann:s%40y@db:99/x", "postgresql+psycopg://ann:s%40y@db:99/x"),
        ("postgresql", "postgres://db/x?sslmode=require", "postgresql+psycopg://db/x?sslmode=require"),
        ("postgresql", "postgresql+psycopg://db/x", "postgresql+psycopg://db/x"),
        ("mysql", "mysql://root@db:99", "mysql+pymysql://root@db:99?charset=utf8mb4"),
        ("mysql", "mysql://root@db/x?charset=latin1", "mysql+pymysql://root@db/x?charset=utf8mb4"),
        ("mysql", "mysql+pymysql://root@db/x", "mysql+pymysql://root@db/x?charset=utf8mb4"),
    ],
)
def test_a_url_gets_the_driver_that_patra_uses(dialect_name: str, given: str, expected: str) -> None:
    assert normalise_url(dialect_name, given) == expected


def test_a_url_of_another_database_is_refused_without_telling_its_password() -> None:
    with pytest.raises(ValueError, match=r"mysql://ann:\*\*\*@db/x is not a postgresql:// URL"):
        normalise_url("postgresql", "mysql://ann:secret@db/x")


@pytest.mark.usefixtures("nothing_at_the_usual_ports", "nothing_installed")
@pytest.mark.parametrize(("name", "binary"), [("postgresql", "initdb"), ("mysql", "mariadb-install-db")])
def test_a_missing_server_is_said_with_everything_that_was_tried(name: str, binary: str) -> None:
    found = find_server(name)
    assert isinstance(found, Missing)
    assert f"nothing listens at 127.0.0.1:{module.USUAL_PORTS[name]}" in found.reason
    assert binary in found.reason
    assert "is not installed" in found.reason


@pytest.mark.parametrize("name", ["postgresql", "mysql"])
def test_a_server_named_by_the_environment_is_never_replaced_by_another(
    name: str, monkeypatch: pytest.MonkeyPatch, nothing_at_the_usual_ports: None
) -> None:
    monkeypatch.setenv(module.ENV_NAMES[name], f"{name}://ann:secret@127.0.0.1:{module.USUAL_PORTS[name]}")
    found = find_server(name)
    assert isinstance(found, Missing)
    assert found.reason.startswith(module.ENV_NAMES[name])
    assert "secret" not in found.reason


@pytest.mark.parametrize("name", ["postgresql", "mysql"])
def test_a_server_named_by_the_environment_is_used(
    name: str, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(module.ENV_NAMES[name], servers.require(name).url)
    found = find_server(name)
    assert isinstance(found, Server)
    assert found.origin == f"environment variable {module.ENV_NAMES[name]}"
    assert found.url not in repr(found)


def test_a_test_without_its_server_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PATRA_CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no PostgreSQL server: it rains"):
        require_server(Missing("postgresql", "it rains"))


def test_a_test_without_its_server_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATRA_CI", "1")
    with pytest.raises(pytest.fail.Exception, match="no MySQL or MariaDB server: it rains"):
        require_server(Missing("mysql", "it rains"))


def test_a_fresh_database_is_empty_and_takes_tables(dialect: str, database_url: str) -> None:
    engine = create_engine(database_url, poolclass=NullPool)
    assert engine.dialect.name == dialect
    assert inspect(engine).get_table_names() == []
    execute(database_url, "CREATE TABLE paper (title VARCHAR(40))")
    execute(database_url, "INSERT INTO paper VALUES ('Патра 📜')")
    assert inspect(engine).get_table_names() == ["paper"]


def test_a_copy_is_as_the_original_was_and_goes_its_own_way(
    database_url: str, database_factory: DatabaseFactory
) -> None:
    execute(database_url, "CREATE TABLE paper (title VARCHAR(40) UNIQUE)")
    execute(database_url, "INSERT INTO paper VALUES ('Патра 📜')")
    with database_factory.copied(database_url) as copy:
        execute(copy, "INSERT INTO paper VALUES ('two')")
        assert len(execute(copy, "SELECT title FROM paper")) == 2
        with pytest.raises(IntegrityError):
            execute(copy, "INSERT INTO paper VALUES ('two')")
    assert execute(database_url, "SELECT title FROM paper") == [("Патра 📜",)]


def test_session_databases_are_each_a_new_one(dialect: str, database_factory: DatabaseFactory) -> None:
    first, second = database_factory.fresh(dialect), database_factory.fresh(dialect)
    execute(first, "CREATE TABLE paper (title VARCHAR(40))")
    execute(second, "CREATE TABLE paper (title VARCHAR(40))")
    assert first != second


def fail_in_a_database(server: Server, seen: list[str]) -> None:
    with temporary_database(server) as url:
        seen.append(url)
        execute(url, "CREATE TABLE paper (title VARCHAR(40))")
        assert exists(url)
        raise KeyboardInterrupt


def test_a_database_is_dropped_even_when_its_user_fails(dialect: str, servers: Servers) -> None:
    seen: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        fail_in_a_database(servers.require(dialect), seen)
    assert not exists(seen[0])


def test_a_database_is_dropped_while_another_session_holds_a_lock_in_it(dialect: str, servers: Servers) -> None:
    with temporary_database(servers.require(dialect)) as url:
        execute(url, "CREATE TABLE paper (title VARCHAR(40))")
        engine = create_engine(url, poolclass=NullPool)
        connection = engine.connect()
        connection.execute(text("INSERT INTO paper VALUES ('held')"))
    connection.invalidate()
    connection.close()
    assert not exists(url)


LEAVES_A_DATABASE_BEHIND = """
import sys
from tests.support.servers import Server, temporary_database
body = temporary_database(Server(sys.argv[1], sys.argv[2], "test"))
print(body.__enter__())
"""


def test_a_database_left_behind_is_dropped_when_the_process_ends(dialect: str, servers: Servers) -> None:
    command = [sys.executable, "-c", LEAVES_A_DATABASE_BEHIND, dialect, servers.require(dialect).url]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=60)
    url = done.stdout.strip()
    assert "patra_test_" in url
    assert not exists(url)


@pytest.mark.long
@pytest.mark.usefixtures("nothing_at_the_usual_ports")
@pytest.mark.parametrize("name", ["postgresql", "mysql"])
def test_a_private_server_is_started_and_stopped_when_none_is_at_the_usual_port(name: str) -> None:
    server = require_server(find_server(name))
    try:
        assert server.origin.startswith("private, on port")
        with temporary_database(server) as url:
            execute(url, "CREATE TABLE paper (title VARCHAR(40))")
    finally:
        stop_server(server)
    assert not module._listens(int(make_url(server.url).port or 0))
