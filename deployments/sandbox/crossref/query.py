"""A request to `/works`, read and validated."""

from collections.abc import Mapping
from dataclasses import dataclass

from deployments.sandbox.crossref.failure import ValidationFailureError
from deployments.sandbox.crossref.filters import Filters, read_filters
from deployments.sandbox.crossref.selects import read_select

PARAMETERS = ("query", "filter", "rows", "offset", "cursor", "select", "sort", "order", "mailto")
SORTS = ("score", "relevance", "indexed")
ORDERS = ("asc", "desc", "1", "-1")
ROWS, MOST_ROWS, MOST_OFFSET = 20, 1000, 10_000
USE_CURSOR = " Use the cursor parameter to page further into result sets."


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched, in which order, and which part of it is asked for."""

    filters: Filters
    terms: str | None
    by_time: bool
    ascending: bool
    rows: int
    offset: int
    cursor: str | None
    select: frozenset[str] | None


def read_query(given: Mapping[str, str], reach: int = MOST_OFFSET) -> Query:
    """The query of these parameters; ValidationFailureError when Crossref would refuse it."""
    _check_names(given)
    return Query(
        filters=read_filters(given.get("filter")),
        terms=given.get("query"),
        by_time=_one_of(given, "sort", SORTS, "Sort field") == "indexed",
        ascending=_one_of(given, "order", ORDERS, "Sort order") in {"asc", "1"},
        rows=_integer(given.get("rows"), ROWS, MOST_ROWS),
        offset=_integer(given.get("offset"), 0, reach, USE_CURSOR),
        cursor=given.get("cursor"),
        select=read_select(given.get("select")),
    )


def _check_names(given: Mapping[str, str]) -> None:
    for name in given:
        if name not in PARAMETERS:
            message = f"Parameter {name} specified but there is no such parameter available on any route"
            raise ValidationFailureError("unknown-parameter", name, message)
    if "cursor" in given and "offset" in given:
        message = "Cursor cannot be combined with offset or sample"
        raise ValidationFailureError("cursor-with-offset-or-sample", "cursor", message)


def _one_of(given: Mapping[str, str], name: str, allowed: tuple[str, ...], label: str) -> str | None:
    value = given.get(name)
    if value is not None and value not in allowed:
        message = f"{label} specified as {value} but must be one of: {', '.join(allowed)}"
        raise ValidationFailureError(f"{label.lower().replace(' ', '-')}-not-valid", value, message)
    return value


def _integer(text: str | None, default: int, most: int, hint: str = "") -> int:
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and int(text) <= most):
        message = f"Integer specified as {text} but must be a positive integer less than or equal to {most}. {hint}"
        raise ValidationFailureError("integer-not-valid", text, message)
    return int(text)
