"""A request to `/api/query`, read and validated."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from deployments.sandbox.arxiv.condition import Condition
from deployments.sandbox.arxiv.failure import QueryError
from deployments.sandbox.arxiv.grammar import read_condition
from deployments.sandbox.arxiv.identity import read_id

SORTS = ("relevance", "lastUpdatedDate", "submittedDate")
ORDERS = ("descending", "ascending")
MOST_DIGITS = 9
RESULTS, MOST_RESULTS, REACHABLE = 10, 2000, 30_000
VERSION = re.compile(r"v(\d+)$", re.ASCII)


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched, in which order, and which part of it is asked for."""

    text: str
    id_text: str
    where: Condition | None
    ids: tuple[tuple[int, str], ...]
    sort: str
    ascending: bool
    start: int
    asked: int

    @property
    def size(self) -> int:
        """How many entries a page has at most: what is asked above 2,000 is cut, without a word."""
        return min(self.asked, MOST_RESULTS)


def read_query(given: Mapping[str, str], reach: int = REACHABLE) -> Query:
    """The query of these parameters; QueryError when arXiv would refuse it."""
    text, id_text = given.get("search_query", "").strip(), given.get("id_list", "").strip()
    if not text and not id_text:
        raise QueryError("search_query or id_list must be given", HTTPStatus.BAD_REQUEST)
    start, asked = _integer(given, "start", 0), _integer(given, "max_results", RESULTS)
    if start + asked > reach:
        raise QueryError(f"start and max_results reach beyond the first {reach} results", HTTPStatus.BAD_REQUEST)
    return Query(
        text=text,
        id_text=id_text,
        where=read_condition(text) if text else None,
        ids=tuple(_read_listed(listed.strip()) for listed in id_text.split(",") if listed.strip()),
        sort=_one_of(given, "sortBy", SORTS),
        ascending=_one_of(given, "sortOrder", ORDERS) == "ascending",
        start=start,
        asked=asked,
    )


def _read_listed(text: str) -> tuple[int, str]:
    """The work an id stands for, and the id without its version."""
    bare = VERSION.sub("", text)
    work = read_id(bare)
    if work is None:
        raise QueryError(f"incorrect id format for {text}")
    return work, bare


def _integer(given: Mapping[str, str], name: str, default: int) -> int:
    text = given.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.removeprefix("-").isdecimal() and len(text) <= MOST_DIGITS):
        raise QueryError(f"{name} must be an integer")
    if int(text) < 0:
        raise QueryError(f"{name} must be non-negative")
    return int(text)


def _one_of(given: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str:
    value = given.get(name) or allowed[0]
    if value not in allowed:
        raise QueryError(f"{name} must be in: {', '.join(allowed)}")
    return value
