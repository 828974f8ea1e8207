"""One request to the sandbox's Zenodo, and what is read from it."""

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import Any

import httpx

from deployments.sandbox.remote import Sandbox
from tests.sandbox import wire
from tests.sandbox.wire import fetch, page

Upload = dict[str, Any]
TOKEN = {"authorization": "Bearer any"}


def ask(sandbox: Sandbox, headers: dict[str, str] | None = None, **parameters: object) -> httpx.Response:
    """Ask `/api/records`."""
    return fetch(f"{sandbox.url('zenodo')}/api/records", headers, **parameters)


def window(first: str, last: str) -> str:
    """The query of an update window, both ends inclusive."""
    return f"updated:[{first} TO {last}]"


def ids(uploads: Iterable[Upload]) -> list[str]:
    """The records' numbers, as text."""
    return [str(upload["id"]) for upload in uploads]


true_ids = partial(wire.true_ids, "zenodo")


def follow(sandbox: Sandbox, **parameters: object) -> tuple[dict[str, Upload], set[int]]:
    """The records along `links.next`, and every total that was told on the way."""
    found: dict[str, Upload] = {}
    totals: set[int] = set()
    reply = page(ask(sandbox, TOKEN, **parameters))
    for _ in range(500):
        totals.add(reply["hits"]["total"])
        found |= {str(upload["id"]): upload for upload in reply["hits"]["hits"]}
        if "next" not in reply["links"]:
            return found, totals
        reply = page(fetch(reply["links"]["next"], TOKEN))
    raise AssertionError("the pages do not end")


def careful(sandbox: Sandbox, query: str, size: int = 100) -> dict[str, Upload]:
    """The way that loses nothing: all versions, read again until the window stood still from first page to last."""
    for _ in range(10):
        found, totals = follow(sandbox, q=query, size=size, all_versions="true")
        if totals == {len(found)}:
            return found
    raise AssertionError("the window does not stand still")


def updated_at(upload: Upload) -> datetime | None:
    """The update time, if the record has one that is a time."""
    return wire.read_time(upload.get("updated"))
