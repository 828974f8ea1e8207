"""Places that we count: a record or page number, of all records of the slice or of those from an instant on."""

from dataclasses import dataclass
from datetime import datetime

from ingest_core.execution.paging.paginator import PageRequest, Paginator
from ingest_core.model.instant import format_instant, parse_instant


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


class CountedPaginator(Paginator):
    """Pages by a number of ours, from the slice's start or from an instant on."""

    counted = True

    def request(self, token: str | None) -> PageRequest:
        """The number, and the instant it counts from."""
        here = read_place(token)
        return PageRequest(self.size_at(token), None if token is None else here.number, here.since)

    def size_at(self, token: str | None) -> int:
        """How many records the page at a place is asked for."""
        return self.config.page_size

    def before(self, token: str | None) -> int:
        """The records that came before the instant it counts from."""
        return read_place(token).before
