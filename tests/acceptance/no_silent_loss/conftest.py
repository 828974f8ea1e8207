"""A shelf of one day of records, and `patra` to harvest it with."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from deployments.sandbox.remote import Sandbox
from deployments.sandbox.server import running
from deployments.sandbox.settings import Settings
from tests.conftest import DatabaseFactory
from tests.support.patra import Patra
from tests.support.shelf_source import CODE

WORKS = 130
"""Seven pages of 20, the last of which is short."""


@pytest.fixture(scope="module")
def shared_shelf() -> Iterator[Sandbox]:
    """A shelf that the tests of a module share: they do not change its records."""
    with running(Settings(works=WORKS, days=1)) as sandbox:
        yield sandbox


@pytest.fixture
def shelf(shared_shelf: Sandbox) -> Sandbox:
    """The shared shelf without switches and faults."""
    shared_shelf.script()
    shared_shelf.configure(shelf={})
    shared_shelf.clear_requests()
    return shared_shelf


@pytest.fixture
def own_shelf() -> Iterator[Sandbox]:
    """A shelf whose records a test may change."""
    with running(Settings(works=WORKS, days=1)) as sandbox:
        yield sandbox


@pytest.fixture
def patra(
    database_factory: DatabaseFactory, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Patra]:
    """`patra` on a new database that asks the test's shelf."""
    sandbox = request.getfixturevalue("own_shelf" if "own_shelf" in request.fixturenames else "shelf")
    patra = Patra(database_factory.upgraded("sqlite"), sandbox.url("crossref"), tmp_path, monkeypatch)
    patra.reach(sandbox, CODE, monkeypatch)
    yield patra
    patra.stop_all()
