"""One request to the sandbox's DOAJ, and what is read from it."""

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import quote

import httpx

from deployments.sandbox.remote import Sandbox
from tests.sandbox import wire
from tests.sandbox.wire import fetch, page

Article = dict[str, Any]
MOST_RECORDS = 1000


def ask(sandbox: Sandbox, query: str, **parameters: object) -> httpx.Response:
    """Search articles; the query is a part of the path."""
    return fetch(f"{sandbox.url('doaj')}/api/search/articles/{quote(query, safe='')}", None, **parameters)


def window(first: str, last: str) -> str:
    """The query of an update window, both ends inclusive."""
    return f"last_updated:[{first} TO {last}]"


def ids(articles: Iterable[Article]) -> list[str]:
    """The articles' ids."""
    return [article["id"] for article in articles]


true_ids = partial(wire.true_ids, "doaj")


def follow(sandbox: Sandbox, query: str, size: int) -> tuple[dict[str, Article], set[int]]:
    """The articles along `next`, and every total that was told on the way."""
    found: dict[str, Article] = {}
    totals: set[int] = set()
    reply = page(ask(sandbox, query, pageSize=size))
    for _ in range(200):
        totals.add(reply["total"])
        found |= {article["id"]: article for article in reply["results"]}
        if "next" not in reply:
            return found, totals
        reply = page(fetch(reply["next"]))
    raise AssertionError("the pages do not end")


def careful(sandbox: Sandbox, query: str, size: int = 100) -> dict[str, Article]:
    """The way that loses nothing: read a window again until it stood still from its first page to its last."""
    for _ in range(10):
        found, totals = follow(sandbox, query, size)
        if totals == {len(found)}:
            return found
    raise AssertionError("the window does not stand still")


def updated_at(article: Article) -> datetime | None:
    """The update time, if the article has one that is a time."""
    return wire.read_time(article.get("last_updated"))
