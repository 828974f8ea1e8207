"""PubMed's days: a date names a day, a month or a year, and a range holds both its ends."""

import re
from dataclasses import dataclass

from deployments.sandbox.instant import unit_of
from deployments.sandbox.pubmed.record import Element, date_parts

FORM = re.compile(r"(\d{4})(?:/(\d{1,2})(?:/(\d{1,2}))?)?")


@dataclass(frozen=True, slots=True)
class Span:
    """Instants from `from_ms` to before `to_ms`."""

    from_ms: int
    to_ms: int

    def holds(self, ms: int) -> bool:
        """True when the instant is within."""
        return self.from_ms <= ms < self.to_ms


def read_span(first: str, last: str) -> Span | None:
    """The range, its last unit included whole; None when either end is no date."""
    start, end = _unit(first), _unit(last)
    return Span(start.from_ms, end.to_ms) if start and end else None


def read_published(record: Element) -> Span | None:
    """When the work appeared, for searches by publication date; free text counts by its first year."""
    free = record.findtext(".//PubDate/MedlineDate")
    text = free[:4] if free else "/".join(date_parts(record.find(".//PubDate")))
    return _unit(text)


def _unit(text: str) -> Span | None:
    found = FORM.fullmatch(text.strip())
    if found is None:
        return None
    year, month, day = (int(part) if part else None for part in found.groups())
    try:
        return Span(*unit_of(year or 0, month or None, day or None))
    except (ValueError, OverflowError):
        return None
