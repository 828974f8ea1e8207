"""The database servers tests run on: named by the environment, found at the usual port, or started for the run."""

import atexit
import getpass
import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import NullPool, create_engine, inspect, text
from sqlalchemy.engine import URL, Connection, make_url
from sqlalchemy.exc import SQLAlchemyError

DIALECTS = ("sqlite", "postgresql", "mysql")
PRODUCTS = {"sqlite": "SQLite", "postgresql": "PostgreSQL", "mysql": "MySQL or MariaDB"}
ENV_NAMES = {"postgresql": "PATRA_TEST_POSTGRES_URL", "mysql": "PATRA_TEST_MYSQL_URL"}
DRIVERS = {"postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg", "mysql": "mysql+pymysql"}
BINARY_FOLDERS = ("/usr/lib/postgresql/*/bin", "/usr/sbin")  # Debian keeps them off the PATH
USUAL_PORTS = {"postgresql": 5432, "mysql": 3306}

CONNECT_TIMEOUT_SECONDS = 5
INSTALL_TIMEOUT_SECONDS = 120
START_TIMEOUT_SECONDS = 60
STOP_TIMEOUT_SECONDS = 30


@dataclass(frozen=True)
class Server:
    """A server on which databases may be created; `origin` says where it was found."""

    dialect: str
    url: str = field(repr=False)  # may hold a password
    origin: str


@dataclass(frozen=True)
class Missing:
    """No server of this dialect, and why."""

    dialect: str
    reason: str


class CannotStartError(Exception):
    """A private server could not be started."""


def normalise_url(dialect: str, given: str) -> str:
    """The same address, with the driver that Patra uses."""
    url = make_url(given)
    driver = DRIVERS.get(url.drivername.partition("+")[0], "")
    if driver.partition("+")[0] != dialect:
        raise ValueError(f"{url.render_as_string(hide_password=True)} is not a {dialect}:// URL")
    url = url.set(drivername=driver)
    if dialect == "mysql":
        url = url.update_query_dict({"charset": "utf8mb4"})
    return url.render_as_string(hide_password=False)


def find_server(dialect: str) -> Server | Missing:
    """The first server that lets us create a database, or why there is none."""
    if dialect == "sqlite":
        return Server("sqlite", "sqlite://", "temporary files")
    if os.environ.get(ENV_NAMES[dialect]):
        return _server_in_env(dialect)
    at_port = _server_at_usual_port(dialect)
    return at_port if isinstance(at_port, Server) else _private_server(dialect, at_port.reason)


def require_server(found: Server | Missing) -> Server:
    """The server; without one the test is skipped, and under PATRA_CI=1 it fails."""
    if isinstance(found, Server):
        return found
    message = f"no {PRODUCTS[found.dialect]} server: {found.reason}"
    if os.environ.get("PATRA_CI") == "1":
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


def stop_server(server: Server) -> None:
    """Stop the server if it is a private one; any other is left alone."""
    _clear_leftover(server.url)


@contextmanager
def temporary_database(server: Server, original: str | None = None) -> Iterator[str]:
    """The URL of a new database, empty or a copy of another, which is gone afterwards whatever happens."""
    if server.dialect == "sqlite":
        with tempfile.TemporaryDirectory(prefix="patra_test_", ignore_cleanup_errors=True) as folder:
            if original is not None:
                Path(folder, "patra.db").write_bytes(sqlite_image(original))
            yield f"sqlite:///{folder}/patra.db"
        return
    name = f"patra_test_{secrets.token_hex(8)}"
    _leftovers[name] = lambda: _drop_database(server, name)
    try:
        _create_database(server, name, None if original is None else make_url(original).database)
        yield make_url(server.url).set(database=name).render_as_string(hide_password=False)
    finally:
        _clear_leftover(name)


def sqlite_image(url: str) -> bytes:
    """The database as one file, its write-ahead log included."""
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        return connection.serialize()


# What still has to be dropped or stopped, in the order it was made: databases come after their server.
_leftovers: dict[str, Callable[[], None]] = {}


def _clear_leftover(key: str) -> None:
    clear = _leftovers.pop(key, None)
    if clear is not None:
        clear()


@atexit.register
def _clear_leftovers() -> None:
    for key in reversed(list(_leftovers)):
        with suppress(SQLAlchemyError, OSError):
            _clear_leftover(key)


@contextmanager
def _connection(server: Server) -> Iterator[Connection]:
    engine = create_engine(
        server.url,
        isolation_level="AUTOCOMMIT",
        poolclass=NullPool,
        connect_args={"connect_timeout": CONNECT_TIMEOUT_SECONDS},
    )
    with engine.connect() as connection:
        yield connection


def _create_database(server: Server, name: str, original: str | None) -> None:
    with _connection(server) as connection:
        if server.dialect == "postgresql":  # a template must have no sessions; template0 never has any
            connection.execute(text(f"CREATE DATABASE {name} TEMPLATE {original or 'template0'} ENCODING 'UTF8'"))
            return
        connection.execute(text(f"CREATE DATABASE {name} CHARACTER SET utf8mb4"))
        for table in inspect(connection).get_table_names(original) if original else ():
            connection.execute(text(f"CREATE TABLE {name}.{table} LIKE {original}.{table}"))
            connection.execute(text(f"INSERT INTO {name}.{table} SELECT * FROM {original}.{table}"))


def _drop_database(server: Server, name: str) -> None:
    with _connection(server) as connection:
        if server.dialect == "postgresql":
            connection.execute(text(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
        else:
            _kill_mysql_sessions(connection, name)
            connection.execute(text(f"DROP DATABASE IF EXISTS {name}"))


def _kill_mysql_sessions(connection: Connection, name: str) -> None:
    """End the sessions on one database: a DROP would wait for their locks."""
    query = text("SELECT id FROM information_schema.processlist WHERE db = :name")
    for session_id in connection.scalars(query, {"name": name}).all():
        with suppress(SQLAlchemyError):  # it ended by itself
            connection.execute(text(f"KILL {int(session_id)}"))


def _refusal(server: Server) -> str | None:
    """Why no database can be created there, or None when it can."""
    try:
        with temporary_database(server):
            return None
    except SQLAlchemyError as error:
        return _first_line(getattr(error, "orig", None) or error)


def _first_line(error: object) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _server_in_env(dialect: str) -> Server | Missing:
    env_name = ENV_NAMES[dialect]
    try:
        url = normalise_url(dialect, os.environ[env_name])
    except (ValueError, SQLAlchemyError) as error:
        return Missing(dialect, f"{env_name}: {_first_line(error)}")
    server = Server(dialect, url, f"environment variable {env_name}")
    refusal = _refusal(server)
    return server if refusal is None else Missing(dialect, f"{env_name}: {refusal}")


def _server_at_usual_port(dialect: str) -> Server | Missing:
    address = f"127.0.0.1:{USUAL_PORTS[dialect]}"
    if not _listens(USUAL_PORTS[dialect]):
        return Missing(dialect, f"nothing listens at {address}")
    users = ["postgres", getpass.getuser()] if dialect == "postgresql" else ["root"]
    refusals = []
    for user in users:
        server = Server(dialect, _local_url(dialect, user, USUAL_PORTS[dialect]), f"local port {address}, user {user}")
        refusal = _refusal(server)
        if refusal is None:
            return server
        refusals.append(refusal)
    return Missing(dialect, f"{address} refuses: {'; '.join(refusals)}")


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=CONNECT_TIMEOUT_SECONDS):
        return True
    return False


def _local_url(dialect: str, user: str, port: int) -> str:
    database = "postgres" if dialect == "postgresql" else None
    url = URL.create(dialect, username=user, host="127.0.0.1", port=port, database=database)
    return normalise_url(dialect, url.render_as_string(hide_password=False))


def _private_server(dialect: str, already_tried: str) -> Server | Missing:
    folder = Path(tempfile.mkdtemp(prefix="patra_test_"))
    try:
        start = _start_postgresql if dialect == "postgresql" else _start_mariadb
        return start(folder)
    except (CannotStartError, OSError, subprocess.SubprocessError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        return Missing(dialect, f"{already_tried}; cannot start one: {_first_line(error)}")


def _start_postgresql(folder: Path) -> Server:
    initdb = _find_binary("initdb")
    owner = _unprivileged_owner(folder)
    data, port = folder / "data", _free_port()
    _run([initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"], folder, owner)
    settings = [f"port={port}", "listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off"]
    options = [part for setting in settings for part in ("-c", setting)]
    command: list[str | Path] = [initdb.with_name("postgres"), "-D", data, *options]
    server = Server("postgresql", _local_url("postgresql", "postgres", port), f"private, on port {port}")
    return _start(server, command, folder, owner, signal.SIGINT)  # SIGINT: stop without waiting for sessions


def _start_mariadb(folder: Path) -> Server:
    install, daemon = _find_binary("mariadb-install-db", "mysql_install_db"), _find_binary("mariadbd", "mysqld")
    port = _free_port()
    shared = ["--no-defaults", f"--datadir={folder / 'data'}", f"--user={getpass.getuser()}"]
    _run([install, *shared, "--auth-root-authentication-method=normal", "--skip-test-db"], folder, None)
    address = [f"--port={port}", "--bind-address=127.0.0.1", f"--socket={folder / 'socket'}"]
    files = [f"--pid-file={folder / 'pid'}", "--innodb-flush-log-at-trx-commit=0"]
    server = Server("mysql", _local_url("mysql", "root", port), f"private, on port {port}")
    return _start(server, [daemon, *shared, *address, *files], folder, None, signal.SIGTERM)


def _find_binary(*names: str) -> Path:
    """The newest of these programs, in Debian's folders or on the PATH."""
    for name in names:
        found = [path for folder in BINARY_FOLDERS for path in Path("/").glob(f"{folder[1:]}/{name}")]
        if found:
            return max(found, key=_version_in_path)
        on_path = shutil.which(name)
        if on_path:
            return Path(on_path).resolve()
    raise CannotStartError(f"{' or '.join(names)} is not installed")


def _version_in_path(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", str(path))]


def _unprivileged_owner(folder: Path) -> str | None:
    """PostgreSQL refuses to run as root: then its own user gets the folder."""
    if os.geteuid() != 0:
        return None
    try:
        account = pwd.getpwnam("postgres")
    except KeyError:
        raise CannotStartError("PostgreSQL refuses to run as root, and there is no user 'postgres'") from None
    os.chown(folder, account.pw_uid, account.pw_gid)
    return "postgres"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _as_owner(owner: str | None) -> dict[str, Any]:
    return {"user": owner, "group": owner, "extra_groups": []} if owner else {}


def _run(command: Sequence[str | Path], folder: Path, owner: str | None) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=INSTALL_TIMEOUT_SECONDS,
        **_as_owner(owner),
    )
    if done.returncode != 0:
        raise CannotStartError(f"{command[0]} failed: {_first_line(done.stderr or done.stdout)}")


def _start(
    server: Server, command: Sequence[str | Path], folder: Path, owner: str | None, stop_signal: signal.Signals
) -> Server:
    """Run the server in a session of its own, so that Ctrl-C reaches the tests and not their server."""
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=log, start_new_session=True, **_as_owner(owner)
        )
    _leftovers[server.url] = lambda: _stop(process, stop_signal, folder)
    try:
        _wait_until_ready(server, process, folder / "log")
    except BaseException:
        stop_server(server)
        raise
    return server


def _wait_until_ready(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        if _refusal(server) is None:
            return
        time.sleep(0.1)
    last_words = " / ".join(log.read_text(errors="replace").splitlines()[-3:])
    raise CannotStartError(f"the server did not come up: {last_words}")


def _stop(process: subprocess.Popen[bytes], stop_signal: signal.Signals, folder: Path) -> None:
    process.send_signal(stop_signal)
    try:
        process.wait(STOP_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    shutil.rmtree(folder, ignore_errors=True)
