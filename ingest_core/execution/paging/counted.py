"""Places that we count: a record or page number, of all records of the slice or of those from an instant on."""

from dataclasses import dataclass
from datetime import datetime

from ingest_core.model.codes import PaginationType
from ingest_core.model.instant import format_instant, parse_instant
from ingest_core.model.spec import PaginationSpec

COUNTED = (PaginationType.OFFSET, PaginationType.PAGE)
"""Paging by a number of ours."""


@dataclass(frozen=True)
class CountedPlace:
    """A number, counted from the slice's start or, where paging moves on by time, from an instant in it."""

    number: int
    since: datetime | None = None
    """The lower bound of the request; none: the slice's own."""
    before: int = 0
    """Distinct records that came before `since`: with them, the provider's totals are those of the slice."""

    def write(self) -> str:
        """The place as checkpoint and ledger keep it."""
        return str(self.number) if self.since is None else f"{self.number}@{format_instant(self.since)}+{self.before}"


def read_place(token: str | None, first: int = 0) -> CountedPlace:
    """The place that was written so; `first` where there is none yet."""
    number, _, rest = (token or str(first)).partition("@")
    if not rest:
        return CountedPlace(int(number))
    since, _, before = rest.rpartition("+")
    return CountedPlace(int(number), parse_instant(since), int(before))


def since_of(pagination: PaginationSpec, token: str | None) -> datetime | None:
    """The instant from which on a place counts, where that is not the slice's start."""
    return read_place(token).since if pagination.type in COUNTED else None


def asked_size(pagination: PaginationSpec, token: str | None) -> int:
    """How many records the page at a place is asked for: never beyond what the provider gives of a query."""
    if pagination.type != PaginationType.OFFSET or pagination.max_records is None:
        return pagination.page_size
    return max(1, min(pagination.page_size, pagination.max_records - read_place(token).number))
