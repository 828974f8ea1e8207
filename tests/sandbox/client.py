"""One request to the sandbox's Crossref, and what is read from it."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import httpx

from deployments.sandbox.instant import write_seconds
from deployments.sandbox.remote import Sandbox
from tests.sandbox import wire
from tests.sandbox.wire import CLIENT

Work = dict[str, Any]


def ask(
    sandbox: Sandbox, asked: Mapping[str, object], headers: dict[str, str] | None = None, timeout_seconds: float = 10
) -> httpx.Response:
    """Ask `/works`."""
    parameters = {name: str(value) for name, value in asked.items()}
    url = f"{sandbox.url()}/works"
    return CLIENT.get(url, params=parameters, headers=headers, timeout=timeout_seconds)


def get(sandbox: Sandbox, **asked: object) -> httpx.Response:
    """Ask `/works` with these parameters."""
    return ask(sandbox, asked)


def message(sandbox: Sandbox, **parameters: object) -> dict[str, Any]:
    """The `message` of a page that must be fine."""
    found: dict[str, Any] = wire.page(get(sandbox, **parameters))["message"]
    return found


def window(first: str, last: str) -> str:
    """The filter of an index window, both ends inclusive."""
    return f"from-index-date:{first},until-index-date:{last}"


def dois(works: list[Work]) -> list[str]:
    """The works' DOIs in normal form."""
    return [work["DOI"].lower() for work in works]


true_ids = partial(wire.true_ids, "crossref")


def indexed_at(work: Work) -> str:
    """The index time to the second, also of a work that has only the timestamp."""
    return write_seconds(work["indexed"]["timestamp"])
