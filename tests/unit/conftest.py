"""Unit tests start no process, no server and no database; what does has its place in `tests/integration`."""

from tests.support.self_contained import pytest_runtest_call, pytest_runtest_protocol

__all__ = ["pytest_runtest_call", "pytest_runtest_protocol"]
