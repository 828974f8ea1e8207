"""One request to the sandbox's DataCite, and what is read from it."""

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import Any

import httpx

from deployments.sandbox.remote import Sandbox
from tests.sandbox import wire
from tests.sandbox.wire import fetch, page

Doi = dict[str, Any]


def ask(sandbox: Sandbox, **parameters: object) -> httpx.Response:
    """Ask `/dois`; `cursor`, `size` and `number` are written as `page[...]`."""
    names = {name: f"page[{name}]" for name in ("cursor", "size", "number")}
    asked = {names.get(name, name): value for name, value in parameters.items()}
    return fetch(f"{sandbox.url('datacite')}/dois", None, **asked)


def window(first: str, last: str) -> str:
    """The query of an update window, both ends inclusive."""
    return f"updated:[{first} TO {last}]"


def ids(dois: Iterable[Doi]) -> list[str]:
    """The DOIs."""
    return [doi["id"] for doi in dois]


true_ids = partial(wire.true_ids, "datacite")


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
    return wire.read_time(doi["attributes"].get("updated"))
