"""A request to `/search` or `/searchPOST`, read and validated."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from deployments.sandbox.europepmc.condition import Condition
from deployments.sandbox.europepmc.cursor import Place, read_cursor
from deployments.sandbox.europepmc.failure import QueryFailureError
from deployments.sandbox.europepmc.syntax import read_condition
from deployments.sandbox.provider import Request

RESULT_TYPES = ("idlist", "lite", "core")
PAGE_SIZE, MOST_PAGE_SIZE = 25, 1000


@dataclass(frozen=True, slots=True)
class Search:
    """What is searched, how much of it is told, and after which record to go on."""

    text: str
    condition: Condition
    result_type: str
    page_size: int
    mark: str
    after: Place | None


def read_parameters(request: Request) -> dict[str, str]:
    """The parameters, from the URL or from the form; those nobody knows are ignored."""
    form = (
        parse_qsl(request.body.decode("utf-8", "replace"), keep_blank_values=True) if request.method == "POST" else []
    )
    return {**request.query, **dict(form)}


def read_search(given: Mapping[str, str]) -> Search:
    """The search of these parameters; QueryFailureError when Europe PMC would not run it."""
    text, mark = given.get("query", "").strip(), given.get("cursorMark", "*")
    if not text:
        raise QueryFailureError(404, "Invalid request. The query parameter must not be empty")
    if given.get("sort"):
        raise QueryFailureError(404, f"Invalid sort: {given['sort']} is not simulated")
    return Search(
        text=text,
        condition=read_condition(text),
        result_type=_result_type(given.get("resultType", "lite")),
        page_size=_page_size(given.get("pageSize", str(PAGE_SIZE))),
        mark=mark,
        after=read_cursor(mark),
    )


def _result_type(text: str) -> str:
    if text.lower() not in RESULT_TYPES:
        raise QueryFailureError(404, f"Invalid resultType: {text} must be one of {', '.join(RESULT_TYPES)}")
    return text.lower()


def _page_size(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= MOST_PAGE_SIZE):
        raise QueryFailureError(404, f"Invalid pageSize: {text} must be between 1 and {MOST_PAGE_SIZE}")
    return int(text)
