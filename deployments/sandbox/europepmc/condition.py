"""The conditions a query is made of."""

from dataclasses import dataclass

from deployments.sandbox import logic
from deployments.sandbox.europepmc.catalogue import Entry
from deployments.sandbox.instant import DAY_MS, read_ms
from deployments.sandbox.logic import Span, Within

UPDATED = "UPDATE_DATE"


@dataclass(frozen=True, slots=True)
class Days:
    """A day of first indexing within two days, both of them inclusive."""

    first: str
    last: str

    def fits(self, subject: Entry) -> bool:
        """True when the record has the day and it lies within."""
        return subject.indexed is not None and self.first <= subject.indexed <= (self.last or "9999")


@dataclass(frozen=True, slots=True)
class Words:
    """A text in a field; the field named `` is title or abstract."""

    field: str
    text: str

    def fits(self, subject: Entry) -> bool:
        """True when the text is there; a field nobody knows finds nothing."""
        template, text = subject.template, self.text
        if self.field == "SRC":
            return template.source.lower() == text
        if self.field in {"EXT_ID", "DOI"}:
            return text == (subject.id.lower() if self.field == "EXT_ID" else subject.doi)
        places = {"TITLE": (template.title,), "AUTH": (template.authors,), "": (template.title, template.abstract)}
        return any(text in place for place in places.get(self.field, ()))


Condition = logic.Condition[Entry]


def read_days(field: str, first: str, last: str) -> Condition:
    """A date field within two days, both of them inclusive; empty is open."""
    if field != UPDATED:
        return Days(first, last)
    return Within(field, Span(read_ms(first) if first else None, read_ms(last) + DAY_MS if last else None))
