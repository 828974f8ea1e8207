"""The links of a page, at whatever address DataCite is reached."""

import math
from urllib.parse import urlencode

from deployments.sandbox.datacite.query import Query
from deployments.sandbox.provider import Request

KEPT = ("disable-facets", "query", "detail", "affiliation", "composite")
"""The parameters the next page is asked with; `sort` and `mailto` are not among them."""


def page_links(request: Request, query: Query, found: int, total: int, cursor: str | None) -> dict[str, str]:
    """The link to the page itself, and to the next if there is one."""
    links = {"self": _url(request, dict(request.query))}
    if query.size and found == query.size and query.number != total_pages(query, total):
        kept = {name: request.query[name] for name in KEPT if name in request.query}
        place = {"page[cursor]": cursor} if cursor else {"page[number]": str(query.number + 1)}
        links["next"] = _url(request, dict(sorted({**kept, **place, "page[size]": str(query.size)}.items())))
    return links


def total_pages(query: Query, total: int) -> int:
    """How many pages can be read: by number only those within reach."""
    reached = total if query.by_cursor else min(total, query.reach)
    return math.ceil(reached / query.size) if query.size else 0


def _url(request: Request, parameters: dict[str, str]) -> str:
    base = f"http://{request.headers.get('host', 'localhost')}/datacite/dois"
    return f"{base}?{urlencode(parameters)}" if parameters else base
