"""The conditions a `search_query` puts on papers."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from deployments.sandbox import logic
from deployments.sandbox.arxiv.failure import QueryError
from deployments.sandbox.instant import to_ms
from deployments.sandbox.logic import Span, Within

UPDATED, SUBMITTED = "lastUpdatedDate", "submittedDate"
DATES = (UPDATED, SUBMITTED)
TEXTS = ("ti", "au", "abs", "co", "jr", "all")
MINUTE_MS = 60_000
MINUTE = re.compile(r"\d{12}", re.ASCII)


class Paper(Protocol):
    """A paper as a search sees it."""

    def text(self, field: str) -> str:
        """What the field holds, in lower case."""

    def categories(self) -> tuple[str, ...]:
        """The subject classes."""

    def date_ms(self, field: str) -> int:
        """The instant a date field holds."""


@dataclass(frozen=True, slots=True)
class Words:
    """A text that a field holds."""

    field: str
    text: str

    def fits(self, paper: Paper) -> bool:
        """True when it is there."""
        return self.text in paper.text(self.field)


@dataclass(frozen=True, slots=True)
class Category:
    """A subject class, or with `*` at its end all that begin so."""

    term: str

    def fits(self, paper: Paper) -> bool:
        """True when the paper is in it."""
        if self.term.endswith("*"):
            return any(term.startswith(self.term[:-1]) for term in paper.categories())
        return self.term in paper.categories()


Condition = logic.Condition[Paper]


def read_span(field: str, low: str, high: str) -> Within:
    """The span of a date field; bounds are to the minute, in GMT."""
    return Within(field, Span(_minute_ms(low), _minute_ms(high) + MINUTE_MS))


def _minute_ms(text: str) -> int:
    try:
        if not MINUTE.fullmatch(text):
            raise ValueError
        return to_ms(datetime.strptime(text, "%Y%m%d%H%M").replace(tzinfo=UTC))
    except ValueError as error:
        raise QueryError(f"incorrect date {text}, expected YYYYMMDDHHMM") from error
