"""One request to the sandbox's DataCite, and what is read from it."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import httpx

from deployments.sandbox.remote import Sandbox

Doi = dict[str, Any]
Page = dict[str, Any]


def fetch(url: str, **parameters: object) -> httpx.Response:
    """Ask this address."""
    asked = {name: str(value) for name, value in parameters.items()} or None
    # Without verify=False each call would load the certificates that plain http does not need.
    return httpx.get(url, params=asked, timeout=10, trust_env=False, verify=False)


def ask(sandbox: Sandbox, **parameters: object) -> httpx.Response:
    """Ask `/dois`; `cursor`, `size` and `number` are written as `page[...]`."""
    names = {name: f"page[{name}]" for name in ("cursor", "size", "number")}
    asked = {names.get(name, name): value for name, value in parameters.items()}
    return fetch(f"{sandbox.url('datacite')}/dois", **asked)


def page(response: httpx.Response) -> Page:
    """A page that must be fine."""
    assert response.status_code == 200, response.text
    found: Page = response.json()
    return found


def window(first: str, last: str) -> str:
    """The query of an update window, both ends inclusive."""
    return f"updated:[{first} TO {last}]"


def ids(dois: Iterable[Doi]) -> list[str]:
    """The DOIs."""
    return [doi["id"] for doi in dois]


def true_ids(sandbox: Sandbox, from_: str | None = None, to: str | None = None) -> set[str]:
    """The DOIs that are really there."""
    return {row["id"] for row in sandbox.truth("datacite", from_=from_, to=to)}


def careful(sandbox: Sandbox, **parameters: object) -> dict[str, Doi]:
    """The way that loses nothing: by cursor, along `links.next`, until there is none."""
    found: dict[str, Doi] = {}
    reply = page(ask(sandbox, cursor=1, **parameters))
    for _ in range(200):
        found |= {doi["id"]: doi for doi in reply["data"]}
        if "next" not in reply["links"]:
            return found
        reply = page(fetch(reply["links"]["next"]))
    raise AssertionError("the walk does not end")


def updated_at(doi: Doi) -> datetime | None:
    """The update time, if the DOI has one that is a time."""
    try:
        return datetime.fromisoformat(doi["attributes"].get("updated") or "")
    except ValueError:
        return None
