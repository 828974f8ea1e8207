"""The application as flows and commands open it: with Prefect's secrets."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flows.process.logs import make_records_visible
from ingest_core.bootstrap import App, open_core_app
from ingest_core.execution.ports import CredentialMissing


def read_prefect_secret(name: str) -> str | None:
    """The text in Prefect's Secret block of that name; None when there is no such block."""
    from prefect.blocks.system import Secret  # noqa: PLC0415 - Prefect is slow to load, and seldom needed here
    from prefect.exceptions import ObjectNotFound  # noqa: PLC0415

    try:
        block: Any = Secret.load(name)
    except ValueError as error:
        if isinstance(error.__cause__, ObjectNotFound):
            return None
        raise
    value = block.value.get_secret_value()  # `get` would take a key of digits for a number
    if not isinstance(value, str):
        raise CredentialMissing(f"the Prefect block {name!r} holds {type(value).__name__}: save the secret as text")
    return value


@contextmanager
def open_app() -> Iterator[App]:
    """The application on the configured database; `prefect:` references are read from Prefect."""
    make_records_visible()  # every flow and every command comes through here
    with open_core_app(secret_readers={"prefect": read_prefect_secret}) as app:
        yield app
