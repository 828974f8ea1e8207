"""A provider to harvest, and `patra` to harvest it with."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from deployments.sandbox.remote import Sandbox
from deployments.sandbox.server import running
from deployments.sandbox.settings import Settings
from tests.conftest import DatabaseFactory, upgrade
from tests.support.patra import Patra


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What every database does alike by its contract is watched from end to end on servers in the long tests."""
    for item in items:
        callspec = getattr(item, "callspec", None)
        dialect = callspec.params.get("dialect", "sqlite") if callspec else "sqlite"
        if item.get_closest_marker("sqlite_first") and dialect != "sqlite":
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """A simulated Crossref with the demo's corpus."""
    with running(Settings()) as sandbox:
        yield sandbox


@pytest.fixture
def quiet_sandbox(sandbox: Sandbox) -> Iterator[Sandbox]:
    """The same, with no faults, an empty log and its usual ways."""
    _settle(sandbox)
    yield sandbox
    _settle(sandbox)


def _settle(sandbox: Sandbox) -> None:
    sandbox.script()
    sandbox.move_clock(None)
    sandbox.configure(scroll="server", scroll_ttl_seconds=300.0, rate_limit_per_second=None)
    sandbox.clear_requests()


def _with_crossref(url: str) -> None:
    """Upgrade the database and register the quick Crossref."""
    upgrade(url)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        Patra(url, "http://127.0.0.1:1", Path(folder), patched).apply_crossref()


@pytest.fixture
def patra(
    dialect: str,
    database_factory: DatabaseFactory,
    quiet_sandbox: Sandbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Patra]:
    """`patra` on a new database of this dialect, with the quick Crossref registered."""
    url = database_factory.prepared(dialect, _with_crossref)
    patra = Patra(url, quiet_sandbox.url("crossref"), tmp_path, monkeypatch)
    yield patra
    patra.stop_all()
