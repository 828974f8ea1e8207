"""Fixtures every test may use: the three databases, each fresh for the test that asks."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack

import pytest
from sqlalchemy.engine import make_url

from ingest_core.bootstrap import upgrade_database
from ingest_core.settings import Settings
from tests.support.servers import (
    DIALECTS,
    Missing,
    Server,
    find_server,
    require_server,
    stop_server,
    temporary_database,
)


class Servers:
    """The session's database servers, each looked for when first asked for."""

    def __init__(self) -> None:
        self.found: dict[str, Server | Missing] = {}

    def require(self, dialect: str) -> Server:
        """The server; without one the test is skipped, and under PATRA_CI=1 it fails."""
        if dialect not in self.found:
            self.found[dialect] = find_server(dialect)
        return require_server(self.found[dialect])

    def stop(self) -> None:
        """Stop the private servers."""
        for server in self.found.values():
            if isinstance(server, Server):
                stop_server(server)


def upgrade(url: str) -> None:
    """What `patra db upgrade` does."""
    upgrade_database(Settings(database_url=url))


class DatabaseFactory:
    """Makes databases that live until the session's end."""

    def __init__(self, servers: Servers, lifetime: ExitStack) -> None:
        self._servers = servers
        self._lifetime = lifetime
        self._originals: dict[tuple[str, Callable[[str], object]], str] = {}

    def fresh(self, dialect: str) -> str:
        """The URL of a new empty database."""
        return self._lifetime.enter_context(temporary_database(self._servers.require(dialect)))

    def upgraded(self, dialect: str) -> str:
        """The URL of a new database as `patra db upgrade` leaves it."""
        return self.prepared(dialect, upgrade)

    def prepared(self, dialect: str, prepare: Callable[[str], object]) -> str:
        """The URL of a new database as `prepare` leaves an empty one: it does so once, and this is a copy."""
        if (dialect, prepare) not in self._originals:
            url = self.fresh(dialect)
            prepare(url)
            self._originals[dialect, prepare] = url
        return self._lifetime.enter_context(self.copied(self._originals[dialect, prepare]))

    def copied(self, original: str) -> AbstractContextManager[str]:
        """A copy of a database nobody uses meanwhile; it lives while it is in use."""
        dialect = make_url(original).get_backend_name()
        return temporary_database(self._servers.require(dialect), original)


SERVERS = pytest.StashKey[Servers]()


@pytest.fixture(scope="session")
def servers(pytestconfig: pytest.Config) -> Iterator[Servers]:
    """The session's database servers."""
    session_servers = Servers()
    pytestconfig.stash[SERVERS] = session_servers
    yield session_servers
    session_servers.stop()


@pytest.fixture(scope="session")
def database_factory(servers: Servers) -> Iterator[DatabaseFactory]:
    """Databases for the whole session: `database_factory.fresh(dialect)`."""
    with ExitStack() as lifetime:
        yield DatabaseFactory(servers, lifetime)


@pytest.fixture(scope="module", params=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> str:
    """Each database kind in turn; module scoped, so that a module's fixture may build on it."""
    return str(request.param)


@pytest.fixture
def database_url(dialect: str, servers: Servers) -> Iterator[str]:
    """A fresh empty database of the dialect, dropped after the test."""
    with temporary_database(servers.require(dialect)) as url:
        yield url


LONGEST_FIRST = (
    "test_execution_laws.py",
    "test_planning_ticks.py",
    "test_planning_campaigns.py",
    "test_planning_stock.py",
    "test_upgrade.py",
    "test_every_step.py",
    "test_paging_ways.py",
    "test_flows.py",
    "test_control_room.py",
    "test_executor_runs.py",
    "test_planning_flows.py",
    "test_up.py",
    "test_deploy.py",
    "test_slice_laws.py",
)
"""A worker keeps a file to itself: what takes long begins early, so that nobody waits for it at the end."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files in the order in which workers should take them."""
    order = {name: number for number, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say for each database where its server was found, or why its tests did not run."""
    session_servers = config.stash.get(SERVERS, None)
    if session_servers is None:
        return
    terminalreporter.section("databases")
    for name in DIALECTS:
        terminalreporter.line(f"{name}: {_describe(session_servers.found.get(name))}")


def _describe(found: Server | Missing | None) -> str:
    match found:
        case Server(origin=origin):
            return origin
        case Missing(reason=reason):
            return f"none: {reason}"
        case None:
            return "not asked for"
