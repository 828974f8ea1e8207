"""Paging by page number."""

from dataclasses import dataclass

from ingest_core.execution.decode import DecodedPage
from ingest_core.execution.paging.place import Place, Step
from ingest_core.execution.paging.stopping import decide_step, records_gone
from ingest_core.model.spec import PaginationSpec


@dataclass(frozen=True)
class PagePaginator:
    """The next page has the next number; the first has the one the source says."""

    config: PaginationSpec

    def first(self) -> str:
        """The number providers begin to count with: 0 or 1."""
        return str(self.config.page_base)

    def offset(self, token: str | None) -> int | None:
        """Whole pages."""
        return None if token is None else (int(token) - self.config.page_base) * self.config.page_size

    def step(self, page: DecodedPage, place: Place) -> Step:
        """The next number; back by whole pages where records have left the result."""
        here, gone = int(place.token or self.config.page_base), records_gone(page, place)
        if gone:
            pages = -(-gone // self.config.page_size)
            return Step(str(max(self.config.page_base, here - pages)), rewound=True)
        token = str(here + 1)
        return decide_step(self.config, page, place, token, self.offset(token))
