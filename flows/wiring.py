"""The application as flows and commands open it: with Prefect's secrets at hand."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from ingest_core.bootstrap import App
from ingest_core.bootstrap import open_app as open_plain_app
from ingest_core.settings import Settings


def read_prefect_secret(name: str) -> str | None:
    """The value of Prefect's Secret block of that name; None when there is no such block."""
    from prefect.blocks.system import Secret  # noqa: PLC0415 - Prefect is slow to load, and seldom needed here

    try:
        block: Any = Secret.load(name)
    except ValueError:
        return None
    value = block.get()
    return value if isinstance(value, str) else None


@contextmanager
def open_app(settings: Settings | None = None, clock_shift: timedelta = timedelta(0)) -> Iterator[App]:
    """The application on the configured database; `prefect:` references are read from Prefect."""
    with open_plain_app(settings, clock_shift, {"prefect": read_prefect_secret}) as app:
        yield app
