"""A request to `/paper/search/bulk`, read and validated."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass

from deployments.sandbox.semanticscholar.failure import RefusalError
from deployments.sandbox.semanticscholar.fields import Fields, read_fields

PARAMETERS = ("query", "token", "fields", "sort", "year")
SORTS = ("paperId", "paperId:asc", "citationCount", "citationCount:asc", "citationCount:desc")

Place = tuple[int, str]
"""The sort value of a paper and its id."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched, in which order, and after which paper to go on."""

    words: tuple[str, ...]
    years: tuple[int, int] | None
    by_citations: bool
    descending: bool
    after: Place | None
    fields: Fields


def read_query(given: Mapping[str, str]) -> Query:
    """The query of these parameters; RefusalError when it would be refused."""
    unknown = [name for name in given if name not in PARAMETERS]
    if unknown:
        raise RefusalError(f"Unrecognized query parameters: [{', '.join(unknown)}]")
    if "query" not in given:
        raise RefusalError("Missing required parameter: 'query'")
    sort = given.get("sort", "paperId")
    if sort not in SORTS:
        raise RefusalError(f"Unsupported sort: {sort}")
    return Query(
        words=tuple(given["query"].replace('"', " ").lower().split()),
        years=read_years(given.get("year")),
        by_citations=sort.startswith("citationCount"),
        descending=sort.endswith("desc"),
        after=read_token(given.get("token")),
        fields=read_fields(given.get("fields")),
    )


def read_years(text: str | None) -> tuple[int, int] | None:
    """`2019`, `2016-2020`, `2010-` or `-2015`, both ends inclusive."""
    if not text:
        return None
    first, dash, last = text.partition("-")
    if not all(part.isdecimal() or (dash and not part) for part in (first, last if dash else first)):
        raise RefusalError(f"Unacceptable query params: [year={text}]")
    return int(first or 0), int(last or 9999) if dash else int(first)


def write_token(place: Place) -> str:
    """The token that goes on after this paper."""
    return base64.b32encode(f"{place[0]}:{place[1]}".encode()).decode().rstrip("=")


def read_token(text: str | None) -> Place | None:
    """The place to go on after; None is the beginning."""
    if not text:
        return None
    try:
        value, _, key = base64.b32decode(text + "=" * (-len(text) % 8)).decode().partition(":")
        return int(value), key
    except (binascii.Error, ValueError):
        raise RefusalError("Invalid or expired token") from None
