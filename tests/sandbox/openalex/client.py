"""Requests to the sandbox's OpenAlex, and the way to harvest it that loses nothing."""

from datetime import UTC, datetime
from typing import Any

import httpx

from deployments.sandbox.remote import Sandbox

Work = dict[str, Any]
MOST_PAGES = 200


def get(sandbox: Sandbox, path: str = "/works", /, **asked: object) -> httpx.Response:
    """Ask with these parameters, and with a key unless `api_key` is None."""
    parameters = {name: str(value) for name, value in {"api_key": "test", **asked}.items() if value is not None}
    return httpx.get(sandbox.url("openalex") + path, params=parameters, timeout=10, trust_env=False, verify=False)


def page(sandbox: Sandbox, **asked: object) -> dict[str, Any]:
    """A page that must be fine."""
    response = get(sandbox, **asked)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


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
    try:
        return datetime.fromisoformat(work.get("updated_date") or "").replace(tzinfo=UTC)
    except ValueError:
        return None


def true_ids(sandbox: Sandbox, from_: str | None = None, to: str | None = None) -> set[str]:
    """The ids that are really there."""
    return {row["id"] for row in sandbox.truth("openalex", from_=from_, to=to)}
