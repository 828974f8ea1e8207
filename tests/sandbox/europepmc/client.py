"""Requests to the sandbox's Europe PMC, and the way to harvest it that loses nothing."""

from functools import partial
from typing import Any

import httpx

from deployments.sandbox.remote import Sandbox
from tests.sandbox import wire
from tests.sandbox.wire import CLIENT

Record = dict[str, Any]
MOST_PAGES = 80
EVERYTHING = "UPDATE_DATE:[2026-01-01 TO 2026-12-31]"


class SearchFailedError(Exception):
    """A 200 that is an error."""


def get(sandbox: Sandbox, query: str, **asked: object) -> httpx.Response:
    """Ask `/search`, as JSON unless another format is asked for."""
    parameters = {name: str(value) for name, value in {"query": query, "format": "json", **asked}.items() if value}
    url = f"{sandbox.url('europepmc')}/search"
    return CLIENT.get(url, params=parameters)


def page(sandbox: Sandbox, query: str, **asked: object) -> dict[str, Any]:
    """A page that must be fine."""
    response = get(sandbox, query, **asked)
    body: dict[str, Any] = response.raise_for_status().json()
    if "errCode" in body:
        raise SearchFailedError(body["errMsg"])
    return body


def harvest(sandbox: Sandbox, query: str = EVERYTHING, size: int = 1000, kind: str = "core") -> dict[str, Record]:
    """Every record by source and id, until a page is empty or leads nowhere new."""
    found: dict[str, Record] = {}
    mark: str | None = "*"
    for _ in range(MOST_PAGES):
        body = page(sandbox, query, cursorMark=mark, pageSize=size, resultType=kind)
        records = body["resultList"]["result"]
        found |= {key(record): record for record in records}
        following = body.get("nextCursorMark")
        if not records or following in {None, mark}:
            return found
        mark = following
    raise AssertionError("the harvest does not end")


def key(record: Record) -> str:
    """Source and id; a record without id is kept by its PMCID."""
    return f"{record['source']}/{record.get('id', record.get('pmcid'))}"


def updated_on(record: Record) -> str | None:
    """The day of revision, else of the first indexing."""
    day: str | None = record.get("dateOfRevision") or record.get("firstIndexDate")
    return day


def days(first: str, last: str) -> str:
    """The query of an update window, both ends inclusive."""
    return f"UPDATE_DATE:[{first} TO {last}]"


true_ids = partial(wire.true_ids, "europepmc")
