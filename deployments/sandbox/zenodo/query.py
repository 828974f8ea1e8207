"""A request to `/api/records`, read and validated."""

from collections.abc import Mapping
from dataclasses import dataclass

from deployments.sandbox.logic import Some
from deployments.sandbox.lucene.clause import Clause, Phrase, words
from deployments.sandbox.lucene.query import DateError, LuceneError, Operator, read_lucene
from deployments.sandbox.zenodo.failure import OUT_OF_REACH, UNREADABLE, RefusedError

PAGE_SIZE, MOST_ANONYMOUS, MOST_IDENTIFIED, MOST_REACHED = 25, 25, 100, 10_000
NEWEST = frozenset({"newest", "mostrecent"})
SORTS = NEWEST | {"oldest", "bestmatch", "version", "mostviewed", "mostdownloaded"}
TRUE = frozenset({"true", "1"})


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched, in which order, and which page of it is asked for."""

    clause: Clause
    sort: str
    page: int
    size: int
    all_versions: bool

    @property
    def offset(self) -> int:
        """How many hits lie before the page."""
        return (self.page - 1) * self.size


def read_query(given: Mapping[str, str], *, identified: bool, reach: int = MOST_REACHED) -> Query:
    """The query of these parameters; RefusedError when Zenodo would refuse it; unknown ones are ignored."""
    query = Query(
        clause=_clause(given.get("q", "")),
        sort=_sort(given),
        page=_integer(given, "page", 1),
        size=_size(given, identified=identified),
        all_versions=given.get("all_versions", "").lower() in TRUE,
    )
    if query.offset >= reach:
        raise RefusedError(OUT_OF_REACH)
    return query


def _clause(text: str) -> Clause:
    """What the query means; one that cannot be read is searched for as plain words."""
    try:
        return read_lucene(text, Operator.OR)
    except DateError as error:
        raise RefusedError(UNREADABLE) from error
    except LuceneError:
        return Some(tuple(Phrase(None, word) for word in words(text)))


def _sort(given: Mapping[str, str]) -> str:
    sort = given.get("sort", "bestmatch" if given.get("q") else "newest")
    if sort.removeprefix("-") not in SORTS:
        raise RefusedError(OUT_OF_REACH)
    return sort


def _size(given: Mapping[str, str], *, identified: bool) -> int:
    size = _integer(given, "size", PAGE_SIZE)
    most = MOST_IDENTIFIED if identified else MOST_ANONYMOUS
    if size > most:
        hint = "" if identified else f" Please use authenticated requests to increase the limit to {MOST_IDENTIFIED}."
        raise RefusedError(f"Page size cannot be greater than {most}.{hint}", "size")
    return size


def _integer(given: Mapping[str, str], name: str, default: int) -> int:
    try:
        number = int(given.get(name, default))
    except ValueError as error:
        raise RefusedError("Not a valid integer.", name) from error
    if number < 1:
        raise RefusedError("Must be greater than or equal to 1.", name)
    return number
