"""How a test speaks to a sandbox, whichever provider it asks."""

from datetime import datetime
from typing import Any

import httpx

from deployments.sandbox.remote import Sandbox

Page = dict[str, Any]
# Connections stay open; without verify=False certificates would be loaded that plain http does not need.
CLIENT = httpx.Client(timeout=10, trust_env=False, verify=False)


def fetch(url: str, headers: dict[str, str] | None = None, **asked: object) -> httpx.Response:
    """Ask this address with these parameters."""
    return CLIENT.get(url, params={name: str(value) for name, value in asked.items()} or None, headers=headers)


def page(response: httpx.Response) -> Page:
    """A page that must be fine."""
    assert response.status_code == 200, response.text
    found: Page = response.json()
    return found


def true_ids(source: str, sandbox: Sandbox, from_: str | None = None, to: str | None = None) -> set[str]:
    """The ids that are really there."""
    return {row["id"] for row in sandbox.truth(source, from_=from_, to=to)}


def told_ids(source: str, sandbox: Sandbox, from_: str | None = None, to: str | None = None) -> set[str]:
    """The ids that can be found out: some records do not tell theirs."""
    rows = sandbox.truth(source, from_=from_, to=to, record=True)
    return {row["id"] for row in rows if row["reason"] != "ID_MISSING"}


def true_records(source: str, sandbox: Sandbox) -> dict[str, dict[str, Any]]:
    """The usable records as they should be mapped, by id."""
    return {row["id"]: row["record"] for row in sandbox.truth(source, record=True) if row["usable"]}


def read_time(text: str | None) -> datetime | None:
    """The time, if it is one."""
    try:
        return datetime.fromisoformat(text or "")
    except ValueError:
        return None
