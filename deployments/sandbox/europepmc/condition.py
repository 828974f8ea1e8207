"""The conditions a query is made of."""

from dataclasses import dataclass
from typing import Protocol

from deployments.sandbox.europepmc.catalogue import Entry
from deployments.sandbox.instant import read_ms

DAY_MS = 86_400_000
Span = tuple[int | None, int | None]
"""From the first instant to before the second; None is open."""
EVER: Span = (None, None)


class Condition(Protocol):
    """What an entry must be to be found."""

    def holds(self, entry: Entry) -> bool:
        """True when the entry is found."""

    def span(self) -> Span:
        """Outside these index times nothing is found."""


@dataclass(frozen=True, slots=True)
class Days:
    """A date field within two days, both of them inclusive."""

    field: str
    first: str
    last: str

    def holds(self, entry: Entry) -> bool:
        """True when the record has the date and it lies within."""
        day = entry.updated if self.field == "UPDATE_DATE" else entry.indexed
        return day is not None and self.first <= day <= (self.last or "9999")

    def span(self) -> Span:
        """The days themselves, for the field that follows the index time."""
        if self.field != "UPDATE_DATE":
            return EVER
        return (read_ms(self.first) if self.first else None, read_ms(self.last) + DAY_MS if self.last else None)


@dataclass(frozen=True, slots=True)
class Words:
    """A text in a field; the field named `` is title or abstract."""

    field: str
    text: str

    def holds(self, entry: Entry) -> bool:
        """True when the text is there; a field nobody knows finds nothing."""
        template, text = entry.template, self.text
        if self.field == "SRC":
            return template.source.lower() == text
        if self.field in {"EXT_ID", "DOI"}:
            return text == (entry.id.lower() if self.field == "EXT_ID" else entry.doi)
        places = {"TITLE": (template.title,), "AUTH": (template.authors,), "": (template.title, template.abstract)}
        return any(text in place for place in places.get(self.field, ()))

    def span(self) -> Span:
        """Any time."""
        return EVER


@dataclass(frozen=True, slots=True)
class Both:
    """Two conditions, both of which must hold."""

    one: Condition
    other: Condition

    def holds(self, entry: Entry) -> bool:
        """True when both do."""
        return self.one.holds(entry) and self.other.holds(entry)

    def span(self) -> Span:
        """What the two have in common."""
        (first, last), (other_first, other_last) = self.one.span(), self.other.span()
        starts = [ms for ms in (first, other_first) if ms is not None]
        ends = [ms for ms in (last, other_last) if ms is not None]
        return max(starts, default=None), min(ends, default=None)


@dataclass(frozen=True, slots=True)
class Either:
    """Two conditions, one of which must hold."""

    one: Condition
    other: Condition

    def holds(self, entry: Entry) -> bool:
        """True when one does."""
        return self.one.holds(entry) or self.other.holds(entry)

    def span(self) -> Span:
        """Any time."""
        return EVER


@dataclass(frozen=True, slots=True)
class Without:
    """A condition that must not hold."""

    one: Condition

    def holds(self, entry: Entry) -> bool:
        """True when it does not."""
        return not self.one.holds(entry)

    def span(self) -> Span:
        """Any time."""
        return EVER
