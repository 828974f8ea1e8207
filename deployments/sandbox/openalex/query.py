"""A request to `/works`, read and validated."""

from collections.abc import Mapping
from dataclasses import dataclass

from deployments.sandbox.openalex.cursor import Place, read_cursor
from deployments.sandbox.openalex.failure import bad_paging, bad_parameters
from deployments.sandbox.openalex.filters import Filters, read_filters
from deployments.sandbox.openalex.template import TEMPLATES

PARAMETERS = ("api-key", "api_key", "cursor", "filter", "mailto", "page", "per-page", "per_page", "select", "sort")
SORTS = ("cited_by_count", "updated_date")
PER_PAGE, MOST_PER_PAGE, MOST_RESULTS = 25, 100, 10_000


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched, in which order, and which part of it is asked for."""

    filters: Filters
    sort: str
    descending: bool
    per_page: int
    page: int
    scrolls: bool
    after: Place | None
    select: frozenset[str] | None


def read_query(given: Mapping[str, str], reach: int = MOST_RESULTS) -> Query:
    """The query of these parameters; RefusalError when OpenAlex would refuse it."""
    for name in given:
        if name not in PARAMETERS:
            raise bad_parameters(f"{name} is not a valid parameter. Valid parameters are: {', '.join(PARAMETERS)}.")
    page, per_page = _number(given, "page", 1), _per_page(given)
    _check_place(given, page, per_page, reach)
    sort, _, direction = given.get("sort", "cited_by_count:desc").replace("-", "_").partition(":")
    if sort not in SORTS or direction not in {"", "asc", "desc"}:
        raise bad_parameters(f"{sort} is not a valid sort param. Valid params are: {', '.join(SORTS)}.")
    return Query(
        filters=read_filters(given.get("filter")),
        sort=sort,
        descending=direction == "desc",
        per_page=per_page,
        page=page,
        scrolls="cursor" in given,
        after=read_cursor(given["cursor"]) if "cursor" in given else None,
        select=_select(given.get("select")),
    )


def _check_place(given: Mapping[str, str], page: int, per_page: int, reach: int) -> None:
    if page < 1:
        raise bad_paging("Page parameter must be greater than 0.")
    if "cursor" in given and page != 1:
        raise bad_paging("Cannot use page parameter with cursor.")
    if page * per_page > reach:
        message = f"Maximum results size of {reach:,} records is exceeded. Cursor pagination is required for records"
        raise bad_paging(f"{message} beyond {reach:,}.")


def _per_page(given: Mapping[str, str]) -> int:
    size = _number(given, "per-page" if "per-page" in given else "per_page", PER_PAGE)
    if not 1 <= size <= MOST_PER_PAGE:
        raise bad_paging(f"per-page parameter must be between 1 and {MOST_PER_PAGE}")
    return size


def _number(given: Mapping[str, str], name: str, default: int) -> int:
    text = given.get(name, str(default))
    if not (text.isascii() and text.isdecimal()):
        raise bad_parameters(f"Param {name} must be a number.")
    return int(text)


def _select(text: str | None) -> frozenset[str] | None:
    if text is None:
        return None
    known = {name for template in TEMPLATES.templates for name in template.work}
    for name in text.split(","):
        if name not in known:
            valid = ", ".join(sorted(known))
            raise bad_parameters(f"{name} is not a valid select field. Valid fields for select are: {valid}.")
    return frozenset(text.split(","))
