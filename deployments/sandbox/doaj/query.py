"""A search of articles, read as DOAJ reads it."""

from collections.abc import Mapping
from dataclasses import dataclass

from deployments.sandbox.doaj.failure import DEEP, DISALLOWED, BadRequestError, not_executed
from deployments.sandbox.doaj.wording import allowed, escape_colons, full_names
from deployments.sandbox.lucene.clause import Clause
from deployments.sandbox.lucene.query import LuceneError, Operator, read_lucene

PAGE_SIZE, MOST_PAGE_SIZE, MOST_REACHED = 10, 100, 1000
SORT_FIELDS = frozenset({"last_updated", "created_date", "title"})
DIRECTIONS = ("asc", "desc")


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched, in which order, and which page of it is asked for."""

    text: str
    clause: Clause
    page: int
    page_size: int
    sort: str | None

    @property
    def offset(self) -> int:
        """How many hits lie before the page."""
        return (self.page - 1) * self.page_size


def read_query(text: str, given: Mapping[str, str], base: str, reach: int = MOST_REACHED) -> Query:
    """The query of this text and these parameters; numbers out of bounds are moved within, a page too deep is not."""
    page = max(_integer(given.get("page", "1"), "Page number"), 1)
    size = _integer(given.get("pageSize", str(PAGE_SIZE)), "Page size")
    if not allowed(text):
        raise BadRequestError(DISALLOWED)
    query = Query(
        text=text,
        clause=_clause(text),
        page=page,
        page_size=min(size, MOST_PAGE_SIZE) if size >= 1 else PAGE_SIZE,
        sort=_sort(given.get("sort")),
    )
    if query.offset >= reach:
        raise BadRequestError(DEEP.format(most=reach, base=base))
    return query


def _clause(text: str) -> Clause:
    try:
        return read_lucene(escape_colons(full_names(text)), Operator.AND)
    except LuceneError as error:
        raise not_executed() from error


def _sort(text: str | None) -> str | None:
    if text is None:
        return None
    field, _, direction = text.partition(":")
    if ":" in direction:
        raise BadRequestError("Malformed sort parameter")
    if direction not in DIRECTIONS and ":" in text:
        raise BadRequestError("Sort direction must be 'asc' or 'desc'")
    if field not in SORT_FIELDS:
        raise not_executed()
    return text


def _integer(text: str, label: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise BadRequestError(f"{label} was not an integer") from error
