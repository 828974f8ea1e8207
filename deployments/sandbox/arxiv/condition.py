"""The conditions a `search_query` puts on papers."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from deployments.sandbox.arxiv.failure import QueryError
from deployments.sandbox.instant import to_ms

UPDATED, SUBMITTED = "lastUpdatedDate", "submittedDate"
DATES = (UPDATED, SUBMITTED)
TEXTS = ("ti", "au", "abs", "co", "jr", "all")
MINUTE = re.compile(r"\d{12}", re.ASCII)


class Paper(Protocol):
    """A paper as a search sees it."""

    def text(self, field: str) -> str:
        """What the field holds, in lower case."""

    def categories(self) -> tuple[str, ...]:
        """The subject classes."""

    def date_ms(self, field: str) -> int:
        """The instant a date field holds."""


class Condition(Protocol):
    """What a paper must be to be found."""

    def fits(self, paper: Paper) -> bool:
        """True when the paper is found."""


@dataclass(frozen=True, slots=True)
class Span:
    """A date within two minutes, both of which belong to it."""

    field: str
    from_ms: int
    to_ms: int

    def fits(self, paper: Paper) -> bool:
        """True when the paper's date is within."""
        return self.from_ms <= paper.date_ms(self.field) < self.to_ms


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


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds."""

    parts: tuple[Condition, ...]

    def fits(self, paper: Paper) -> bool:
        """True when each part fits."""
        return all(part.fits(paper) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Some:
    """At least one part holds."""

    parts: tuple[Condition, ...]

    def fits(self, paper: Paper) -> bool:
        """True when a part fits."""
        return any(part.fits(paper) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Without:
    """The part does not hold."""

    part: Condition

    def fits(self, paper: Paper) -> bool:
        """True when the part does not fit."""
        return not self.part.fits(paper)


def read_span(field: str, low: str, high: str) -> Span:
    """The span of a date field; bounds are to the minute, in GMT."""
    return Span(field, _minute_ms(low), _minute_ms(high) + int(timedelta(minutes=1).total_seconds()) * 1000)


def _minute_ms(text: str) -> int:
    try:
        if not MINUTE.fullmatch(text):
            raise ValueError
        return to_ms(datetime.strptime(text, "%Y%m%d%H%M").replace(tzinfo=UTC))
    except ValueError as error:
        raise QueryError(f"incorrect date {text}, expected YYYYMMDDHHMM") from error
