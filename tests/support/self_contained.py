"""Tests that start nothing: no process, no server, no database. Conftests of such tests import the hook."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest

STARTS = {
    "subprocess.Popen": "starts a process",
    "os.posix_spawn": "starts a process",
    "os.fork": "starts a process",
    "socket.bind": "opens a server's socket",
    "socket.connect": "connects to a server",
    "sqlite3.connect": "opens a database",
}
"""Python's audit events, and what each says of the test."""

_started: list[str] = []


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event in STARTS:
        _started.append(f"{STARTS[event]}: {event}{arguments!r:.200}")


sys.addaudithook(_note)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    """Forget what was started before the test and its fixtures."""
    _started.clear()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Fail a test that started something, itself or by its fixtures."""
    result = yield
    if _started:
        pytest.fail(f"this test {_started[0]}; its place is tests/integration or tests/contract", pytrace=False)
    return result
