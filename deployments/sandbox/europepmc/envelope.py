"""The answer around the records, as JSON or as XML."""

from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape

import orjson

from deployments.sandbox.europepmc.failure import JSON, VERSION, XML
from deployments.sandbox.europepmc.search import Search
from deployments.sandbox.europepmc.template import Record

HOME = "https://www.ebi.ac.uk/europepmc/webservices/rest/search"


def build_envelope(search: Search, records: list[Record], total: int, mark: str | None) -> dict[str, Any]:
    """The answer; without a mark there is nothing to go on to."""
    onward = {"nextCursorMark": mark, "nextPageUrl": _next_url(search, mark)} if mark else {}
    request = {
        "queryString": search.text,
        "resultType": search.result_type,
        "cursorMark": search.mark,
        "pageSize": search.page_size,
        "sort": "",
        "synonym": False,
    }
    return {"version": VERSION, "hitCount": total, **onward, "request": request, "resultList": {"result": records}}


def write_envelope(envelope: dict[str, Any], *, is_json: bool) -> tuple[bytes, dict[str, str]]:
    """The body and its headers; XML unless JSON is asked for."""
    if is_json:
        return orjson.dumps(envelope), JSON
    inner = "".join(_element(name, part) for name, part in envelope.items())
    text = f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?><responseWrapper>{inner}</responseWrapper>'
    return text.encode(), XML


def _element(name: str, part: Any) -> str:
    if isinstance(part, list):
        return "".join(_element(name, entry) for entry in part)
    if isinstance(part, dict):
        return f"<{name}>{''.join(_element(inner, entry) for inner, entry in part.items())}</{name}>"
    return f"<{name}>{escape(str(part))}</{name}>"


def _next_url(search: Search, mark: str) -> str:
    return (
        f"{HOME}?query={quote(search.text)}&cursorMark={mark}&resultType={search.result_type}"
        f"&pageSize={search.page_size}&format=json"
    )
