"""A request to `/api/v2/studies`, read and validated."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from deployments.sandbox.clinicaltrials.expression import Expression, Words
from deployments.sandbox.clinicaltrials.failure import BadRequestError
from deployments.sandbox.clinicaltrials.fields import read_fields
from deployments.sandbox.clinicaltrials.grammar import read_expression
from deployments.sandbox.logic import All, Some

AREAS = {
    "query.term": "BasicSearch",
    "query.cond": "Condition",
    "query.titles": "BriefTitle",
    "filter.advanced": "BasicSearch",
}
LISTS = {"filter.overallStatus": "OverallStatus", "filter.ids": "NCTId"}
PAGING = ("countTotal", "pageSize", "pageToken")
PLAIN = ("format", "markupFormat", "fields", "sort", *PAGING)
SORTS = ("LastUpdatePostDate", "StudyFirstPostDate")
STATUSES = frozenset(
    {
        *("ACTIVE_NOT_RECRUITING", "COMPLETED", "ENROLLING_BY_INVITATION", "NOT_YET_RECRUITING", "RECRUITING"),
        *("SUSPENDED", "TERMINATED", "WITHDRAWN", "AVAILABLE", "NO_LONGER_AVAILABLE", "TEMPORARILY_NOT_AVAILABLE"),
        *("APPROVED_FOR_MARKETING", "WITHHELD", "UNKNOWN"),
    }
)
MOST_DIGITS = 9
PAGE_SIZE, MOST_PAGE_SIZE = 10, 1000


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched, in which order, and which part of it is asked for."""

    where: Expression
    sort: str | None
    descending: bool
    page_size: int
    page_token: str | None
    count_total: bool
    fields: tuple[tuple[str, ...], ...] | None
    digest: bytes


def read_query(given: Mapping[str, str]) -> Query:
    """The query of these parameters; BadRequestError when it would be refused."""
    _check_names(given)
    sort, descending = _sort(given.get("sort"))
    return Query(
        where=All((*_expressions(given), *_lists(given))),
        sort=sort,
        descending=descending,
        page_size=_page_size(given.get("pageSize", "0")),
        page_token=given.get("pageToken"),
        count_total=_one_of(given, "countTotal", ("false", "true")) == "true",
        fields=read_fields(given.get("fields")),
        digest=_digest(given),
    )


def _check_names(given: Mapping[str, str]) -> None:
    for name in given:
        if name not in AREAS and name not in LISTS and name not in PLAIN:
            raise BadRequestError(f"`{name}` is unknown parameter")
    _one_of(given, "format", ("json",))
    _one_of(given, "markupFormat", ("markdown", "legacy"))


def _expressions(given: Mapping[str, str]) -> list[Expression]:
    return [read_expression(given[name], name, area) for name, area in AREAS.items() if given.get(name, "").strip()]


def _lists(given: Mapping[str, str]) -> list[Expression]:
    found: list[Expression] = []
    for name, area in LISTS.items():
        values = given.get(name, "").replace("|", ",").split(",") if given.get(name) else []
        if area == "OverallStatus" and not STATUSES.issuperset(values):
            raise BadRequestError("Invalid value in parameter overallStatus")
        if values:
            found.append(Some(tuple(Words(area, value.strip().lower()) for value in values)))
    return found


def _sort(text: str | None) -> tuple[str | None, bool]:
    """The field and direction; dates descend unless told otherwise."""
    if text is None or text == "@relevance":
        return None, False
    field, _, direction = text.partition(":")
    if field not in SORTS or direction not in {"", "asc", "desc"}:
        raise BadRequestError(f"`sort` has incorrect value: {text}")
    return field, direction != "asc"


def _page_size(text: str) -> int:
    """0 is the default, and more than the most is the most, without a word."""
    if not (text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS):
        raise BadRequestError(f"`pageSize` has incorrect value: {text}")
    return min(int(text), MOST_PAGE_SIZE) or PAGE_SIZE


def _one_of(given: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str:
    value = given.get(name, allowed[0])
    if value not in allowed:
        raise BadRequestError(f"`{name}` has incorrect value: {value}")
    return value


def _digest(given: Mapping[str, str]) -> bytes:
    """What must be the same on every page."""
    steady = sorted((name, value) for name, value in given.items() if name not in PAGING)
    return hashlib.sha256(repr(steady).encode()).digest()[:8]
