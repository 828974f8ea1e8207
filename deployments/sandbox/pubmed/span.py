"""PubMed's days: a date names a day, a month or a year, and a range holds both its ends."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from deployments.sandbox.instant import to_ms
from deployments.sandbox.pubmed.record import Element, date_parts

FORM = re.compile(r"(\d{4})(?:/(\d{1,2})(?:/(\d{1,2}))?)?")
SURELY_NEXT_MONTH = timedelta(days=31)
SURELY_NEXT_YEAR = timedelta(days=366)


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
        start = datetime(year or 0, month or 1, day or 1, tzinfo=UTC)
        return Span(to_ms(start), to_ms(_after(start, month, day)))
    except (ValueError, OverflowError):
        return None


def _after(start: datetime, month: int | None, day: int | None) -> datetime:
    if day:
        return start + timedelta(days=1)
    if month:
        return (start + SURELY_NEXT_MONTH).replace(day=1)
    return (start + SURELY_NEXT_YEAR).replace(month=1, day=1)
