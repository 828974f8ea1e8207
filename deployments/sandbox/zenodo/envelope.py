"""The envelope of a page of records."""

from typing import Any
from urllib.parse import urlencode

from deployments.sandbox.provider import Request
from deployments.sandbox.zenodo.query import Query


def base_url(request: Request) -> str:
    """Where the records are reached."""
    return f"http://{request.headers.get('host', 'localhost')}/zenodo/api/records"


def envelope(request: Request, query: Query, hits: list[dict[str, Any]], total: int) -> dict[str, Any]:
    """A page of records; `next` goes on beyond what may be read."""
    pages = {"self": query.page}
    if query.page > 1:
        pages["prev"] = query.page - 1
    if query.page * query.size < total:
        pages["next"] = query.page + 1
    links = {name: _url(request, query, page) for name, page in pages.items()}
    return {"hits": {"hits": hits, "total": total}, "aggregations": {}, "links": links}


def _url(request: Request, query: Query, page: int) -> str:
    asked = {
        **({"all_versions": "true"} if query.all_versions else {}),
        "page": page,
        **({"q": request.query["q"]} if request.query.get("q") else {}),
        "size": query.size,
        "sort": query.sort,
    }
    return f"{base_url(request)}?{urlencode(asked)}"
