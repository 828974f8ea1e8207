"""Sandboxes to test against."""

from collections.abc import Iterator

import pytest

from deployments.sandbox.remote import Sandbox
from deployments.sandbox.server import running
from deployments.sandbox.settings import Settings
from tests.sandbox.wire import CLIENT

SMALL = Settings(works=240, days=2)


@pytest.fixture(scope="session", autouse=True)
def wire() -> Iterator[None]:
    """Hang up at the end."""
    with CLIENT:
        yield


@pytest.fixture(scope="package")
def shared_sandbox() -> Iterator[Sandbox]:
    with running(SMALL) as sandbox:
        yield sandbox


@pytest.fixture
def sandbox(shared_sandbox: Sandbox) -> Sandbox:
    """The shared sandbox as it was at its start; for tests that do not touch works."""
    shared_sandbox.script()
    shared_sandbox.move_clock(None)
    shared_sandbox.configure(scroll="server", scroll_ttl_seconds=300, rate_limit_per_second=None)
    shared_sandbox.expire_scrolls()
    shared_sandbox.clear_requests()
    return shared_sandbox


@pytest.fixture(scope="session")
def crowded_sandbox() -> Iterator[Sandbox]:
    """More works than a query reaches by position; for tests that change nothing."""
    with running(Settings(works=1050, days=2, reach=1000)) as sandbox:
        yield sandbox


@pytest.fixture
def fresh_sandbox() -> Iterator[Sandbox]:
    """A sandbox of one's own, for tests that change works."""
    with running(SMALL) as sandbox:
        yield sandbox
