"""Requests to the sandbox's OpenAlex, and the way to harvest it that loses nothing."""

from datetime import UTC, datetime
from functools import partial
from typing import Any

import httpx

from deployments.sandbox.remote import Sandbox
from tests.sandbox import wire
from tests.sandbox.wire import CLIENT

Work = dict[str, Any]
MOST_PAGES = 200


def get(sandbox: Sandbox, path: str = "/works", /, **asked: object) -> httpx.Response:
    """Ask with these parameters, and with a key unless `api_key` is None."""
    parameters = {name: str(value) for name, value in {"api_key": "test", **asked}.items() if value is not None}
    return CLIENT.get(sandbox.url("openalex") + path, params=parameters)


def page(sandbox: Sandbox, **asked: object) -> dict[str, Any]:
    """A page that must be fine."""
    return wire.page(get(sandbox, **asked))


def window(first: str, last: str) -> str:
    """The filter of an update window, both ends inclusive."""
    return f"from_updated_date:{first},to_updated_date:{last}"


def harvest(sandbox: Sandbox, per_page: int = 100, **asked: object) -> dict[str, Work]:
    """Every work by id, read until a page is empty; a lost answer is asked again."""
    found: dict[str, Work] = {}
    cursor = "*"
    for _ in range(MOST_PAGES):
        response = get(sandbox, cursor=cursor, per_page=per_page, **asked)
        if response.is_server_error:
            continue
        body = response.raise_for_status().json()
        if not body["results"]:
            return found
        found |= {work["id"]: work for work in body["results"]}
        cursor = body["meta"]["next_cursor"]
    raise AssertionError("the harvest does not end")


def updated_at(work: Work) -> datetime | None:
    """The update time, which is UTC although it does not say so, if there is a readable one."""
    found = wire.read_time(work.get("updated_date"))
    return found and found.replace(tzinfo=UTC)


true_ids = partial(wire.true_ids, "openalex")
