"""The envelope and the headers of a page of articles."""

from typing import Any
from urllib.parse import quote, urlencode

from deployments.sandbox.doaj.query import Query
from deployments.sandbox.instant import write_micros
from deployments.sandbox.provider import Request


def base_url(request: Request) -> str:
    """Where DOAJ is reached."""
    return f"http://{request.headers.get('host', 'localhost')}/doaj"


def envelope(request: Request, query: Query, results: list[dict[str, Any]], total: int, now_ms: int) -> dict[str, Any]:
    """A page of articles; `next` goes on beyond what may be read."""
    last = max(-(-total // query.page_size), 1)
    links = {
        "prev": query.page - 1 if query.page > 1 else None,
        "next": query.page + 1 if query.page < last else None,
        "last": last,
    }
    return {
        "total": total,
        "page": query.page,
        "pageSize": query.page_size,
        "timestamp": write_micros(now_ms),
        "query": query.text,
        "results": results,
        **{name: _url(request, query, page) for name, page in links.items() if page is not None},
        **({"sort": query.sort} if query.sort else {}),
    }


def page_headers(document: dict[str, Any]) -> dict[str, str]:
    """The links and the total once more, as headers."""
    links = ", ".join(f"<{document[name]}>; rel={name}" for name in ("next", "prev", "last") if name in document)
    return {**({"link": links} if links else {}), "x-total-count": str(document["total"])}


def _url(request: Request, query: Query, page: int) -> str:
    route = request.path[: request.path.index("/articles/") + len("/articles/")]
    asked = {"page": page, "pageSize": query.page_size, **({"sort": query.sort} if query.sort else {})}
    return f"{base_url(request)}{route}{quote(query.text, safe='/:')}?{urlencode(asked)}"
