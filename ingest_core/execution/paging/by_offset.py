"""Paging by the number of records to skip."""

from dataclasses import dataclass

from ingest_core.execution.decode import DecodedPage
from ingest_core.execution.paging.place import Place, Step
from ingest_core.execution.paging.stopping import decide_step, records_gone
from ingest_core.model.spec import PaginationSpec


@dataclass(frozen=True)
class OffsetPaginator:
    """The place is ours: it moves by what came, or by what the provider says it moved."""

    config: PaginationSpec

    def first(self) -> str:
        """Nothing is skipped."""
        return "0"

    def offset(self, token: str | None) -> int | None:
        """The token itself."""
        return None if token is None else int(token)

    def step(self, page: DecodedPage, place: Place) -> Step:
        """Behind the records that came; back by as many as have left the result."""
        here, gone = int(place.token or 0), records_gone(page, place)
        if gone:
            return Step(str(max(0, here - gone)), rewound=True)
        moved = page.step if page.step is not None else page.count
        reached = here + moved if moved > 0 else None
        return decide_step(self.config, page, place, None if reached is None else str(reached), reached)
