"""One request to the sandbox's Crossref, and what is read from it."""

from collections.abc import Mapping
from typing import Any

import httpx

from deployments.sandbox.instant import write_seconds
from deployments.sandbox.remote import Sandbox

Work = dict[str, Any]


def ask(
    sandbox: Sandbox, asked: Mapping[str, object], headers: dict[str, str] | None = None, timeout_seconds: float = 10
) -> httpx.Response:
    """Ask `/works`."""
    parameters = {name: str(value) for name, value in asked.items()}
    url = f"{sandbox.url()}/works"
    # Without verify=False each call would load the certificates that plain http does not need.
    return httpx.get(url, params=parameters, headers=headers, timeout=timeout_seconds, trust_env=False, verify=False)


def get(sandbox: Sandbox, **asked: object) -> httpx.Response:
    """Ask `/works` with these parameters."""
    return ask(sandbox, asked)


def message(sandbox: Sandbox, **parameters: object) -> dict[str, Any]:
    """The `message` of a page that must be fine."""
    response = get(sandbox, **parameters)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()["message"]
    return found


def window(first: str, last: str) -> str:
    """The filter of an index window, both ends inclusive."""
    return f"from-index-date:{first},until-index-date:{last}"


def dois(works: list[Work]) -> list[str]:
    """The works' DOIs in normal form."""
    return [work["DOI"].lower() for work in works]


def true_ids(sandbox: Sandbox, from_: str | None = None, to: str | None = None) -> set[str]:
    """The DOIs that are really there."""
    return {row["id"] for row in sandbox.truth(from_=from_, to=to)}


def indexed_at(work: Work) -> str:
    """The index time to the second, also of a work that has only the timestamp."""
    return write_seconds(work["indexed"]["timestamp"])
