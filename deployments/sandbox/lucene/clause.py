"""The clauses of a Lucene query, and the documents they are asked of."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

WORD = re.compile(r"\w+")


class Document(Protocol):
    """What a search index knows of one record."""

    def instant(self, field: str) -> int | None:
        """The time in a date field; None when the field is none."""

    def values(self, field: str | None) -> Iterable[str]:
        """The texts of a field; without a field those a plain search looks into."""

    def exact(self, field: str | None) -> bool:
        """True when the field is found by its whole value alone."""


@dataclass(frozen=True, slots=True)
class Span:
    """Instants from the first of `from` to before `to`; None is open."""

    from_ms: int | None = None
    to_ms: int | None = None

    def holds(self, ms: int) -> bool:
        """True when the instant is within."""
        return (self.from_ms is None or ms >= self.from_ms) and (self.to_ms is None or ms < self.to_ms)

    def common(self, other: "Span") -> "Span":
        """The part within both."""
        starts = [ms for ms in (self.from_ms, other.from_ms) if ms is not None]
        ends = [ms for ms in (self.to_ms, other.to_ms) if ms is not None]
        return Span(max(starts, default=None), min(ends, default=None))


ALWAYS = Span()


class Clause(Protocol):
    """A condition on a document."""

    def holds(self, document: Document) -> bool:
        """True when the document is found."""

    def span(self, field: str) -> Span:
        """No document outside of this time in the field is found."""


@dataclass(frozen=True, slots=True)
class Everything:
    """Finds every document."""

    def holds(self, document: Document) -> bool:
        """Always."""
        return True

    def span(self, field: str) -> Span:
        """All time."""
        return ALWAYS


@dataclass(frozen=True, slots=True)
class Within:
    """A date field within a span."""

    field: str
    limits: Span

    def holds(self, document: Document) -> bool:
        """True when the field's time is within; a field that is no date finds nothing."""
        ms = document.instant(self.field)
        return ms is not None and self.limits.holds(ms)

    def span(self, field: str) -> Span:
        """The span itself, of its own field."""
        return self.limits if field == self.field else ALWAYS


@dataclass(frozen=True, slots=True)
class Present:
    """A field with any value at all."""

    field: str | None

    def holds(self, document: Document) -> bool:
        """True when the field has one."""
        return any(True for _ in document.values(self.field))

    def span(self, field: str) -> Span:
        """All time."""
        return ALWAYS


@dataclass(frozen=True, slots=True)
class Phrase:
    """A word, or words in a row, in a field."""

    field: str | None
    text: str

    def holds(self, document: Document) -> bool:
        """True when one of the field's values has them; an unknown field has none, and that is no error."""
        values = document.values(self.field)
        if document.exact(self.field):
            return any(value == self.text for value in values)
        wanted = words(self.text)
        return bool(wanted) and any(_in_a_row(words(value), wanted) for value in values)

    def span(self, field: str) -> Span:
        """All time."""
        return ALWAYS


@dataclass(frozen=True, slots=True)
class Every:
    """All of the clauses."""

    parts: tuple[Clause, ...]

    def holds(self, document: Document) -> bool:
        """True when all hold."""
        return all(part.holds(document) for part in self.parts)

    def span(self, field: str) -> Span:
        """What all have in common."""
        limits = ALWAYS
        for part in self.parts:
            limits = limits.common(part.span(field))
        return limits


@dataclass(frozen=True, slots=True)
class Either:
    """At least one of the clauses."""

    parts: tuple[Clause, ...]

    def holds(self, document: Document) -> bool:
        """True when one holds."""
        return any(part.holds(document) for part in self.parts)

    def span(self, field: str) -> Span:
        """All time: no part binds the others."""
        return ALWAYS


@dataclass(frozen=True, slots=True)
class Without:
    """The opposite of a clause."""

    part: Clause

    def holds(self, document: Document) -> bool:
        """True when the clause does not hold."""
        return not self.part.holds(document)

    def span(self, field: str) -> Span:
        """All time."""
        return ALWAYS


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[str, ...]:
    """The text as it is indexed: its words in lower case."""
    return tuple(WORD.findall(text.lower()))


def _in_a_row(found: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    length = len(wanted)
    return any(found[place : place + length] == wanted for place in range(len(found) - length + 1))
