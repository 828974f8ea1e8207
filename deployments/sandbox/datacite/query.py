"""A request to `/dois`, read as leniently as DataCite reads it."""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass

from deployments.sandbox.datacite.failure import SearchRefusedError
from deployments.sandbox.lucene.clause import Clause
from deployments.sandbox.lucene.query import LuceneError, Operator, read_lucene

SIZE, MOST_SIZE, MOST_REACHED = 25, 1000, 10_000
SORT_FIELDS = frozenset({"name", "created", "updated", "relevance"})
LATEST_FIRST = "-updated"
SORT_VALUES = 2
LEADING_NUMBER = re.compile(r"\s*(-?\d+)")


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched, in which order, and which part of it is asked for."""

    clause: Clause
    sort: str
    size: int
    number: int
    by_cursor: bool
    after: tuple[int, str] | None
    reach: int = MOST_REACHED

    @property
    def offset(self) -> int:
        """How many hits lie before the page, in page mode."""
        return (self.number - 1) * self.size


def read_query(given: Mapping[str, str], reach: int = MOST_REACHED) -> Query:
    """The query of these parameters; unknown ones are ignored, numbers out of bounds are moved within."""
    size = min(_number(given["page[size]"]), MOST_SIZE) if given.get("page[size]") else SIZE
    if size < 0:
        raise SearchRefusedError(f"[size] parameter cannot be negative, found [{size}]")
    last = reach // size if size else 1
    cursor = given.get("page[cursor]")
    return Query(
        clause=_clause(given.get("query", "")),
        sort=_sort(given.get("sort", LATEST_FIRST)),
        size=size,
        number=min(max(_number(given.get("page[number]", "1")), 1), last) if cursor is None else 1,
        by_cursor=cursor is not None,
        after=None if cursor is None else _after(cursor),
        reach=reach,
    )


def write_cursor(place: tuple[int, str]) -> str:
    """The cursor that goes on after this place."""
    return base64.urlsafe_b64encode(f"{place[0]},{place[1]}".encode()).decode().rstrip("=")


def _after(cursor: str) -> tuple[int, str] | None:
    """Where to go on; a cursor that cannot be decoded begins anew, as `1` is meant to."""
    try:
        decoded = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    if not decoded:
        return None
    first, _, rest = decoded.partition(",")
    if not (rest and first.lstrip("-").isdecimal()):
        count = len(decoded.split(","))
        raise SearchRefusedError(f"search_after has {count} value(s) but sort has {SORT_VALUES}.")
    return int(first), rest


def _clause(text: str) -> Clause:
    try:
        return read_lucene(text, Operator.AND)
    except LuceneError as error:
        raise SearchRefusedError(str(error)) from error


def _sort(text: str) -> str:
    return text if text.removeprefix("-") in SORT_FIELDS else LATEST_FIRST


def _number(text: str) -> int:
    """The number a text begins with; 0 when it begins with none."""
    found = LEADING_NUMBER.match(text)
    return int(found[1]) if found else 0
