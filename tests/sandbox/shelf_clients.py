"""Clients of the shelf that each believe one usual thing about paging."""

from typing import Any

from deployments.sandbox.remote import Sandbox
from tests.sandbox.naive import MOST_PAGES, NeverEndsError
from tests.sandbox.wire import CLIENT, page, true_ids

SIZE = 50
Answer = dict[str, Any]


def ask(sandbox: Sandbox, route: str, **asked: object) -> Answer:
    """An answer that must be fine."""
    parameters = {name: str(value) for name, value in {"size": SIZE, **asked}.items()}
    answer: Answer = page(CLIENT.get(f"{sandbox.url('shelf')}{route}", params=parameters))
    return answer


def by_offset(sandbox: Sandbox, *, until_total: bool = False, until_short: bool = False) -> list[str]:
    """Believes: pages are full but the last, or a total is one, and nothing moves meanwhile."""
    ids: list[str] = []
    for number in range(MOST_PAGES):
        found = ask(sandbox, "/offset", offset=number * SIZE)
        ids += [item["id"] for item in found["items"]]
        ends = not found["items"] or (until_short and len(found["items"]) < SIZE)
        if ends or (until_total and len(ids) >= found["total"]):
            return ids
    raise NeverEndsError


def by_page_until_empty(sandbox: Sandbox) -> list[str]:
    """Believes: behind the last page there is an empty one."""
    ids: list[str] = []
    for number in range(1, MOST_PAGES):
        items = ask(sandbox, "/page", page=number)["items"]
        if not items:
            return ids
        ids += [item["id"] for item in items]
    raise NeverEndsError


def while_there_is_a_token(sandbox: Sandbox) -> list[str]:
    """Believes: there is a token exactly while there is more."""
    ids: list[str] = []
    token = ""
    for _ in range(MOST_PAGES):
        found = ask(sandbox, "/token", token=token)
        ids += [item["id"] for item in found["items"]]
        token = found.get("next", "")
        if not token:
            return ids
    raise NeverEndsError


def while_more_is_said(sandbox: Sandbox) -> list[str]:
    """Believes: the flag is right."""
    ids: list[str] = []
    for number in range(MOST_PAGES):
        found = ask(sandbox, "/offset", offset=number * SIZE)
        ids += [item["id"] for item in found["items"]]
        if not found["more"]:
            return ids
    raise NeverEndsError


def truth(sandbox: Sandbox) -> set[str]:
    return true_ids("shelf", sandbox)
