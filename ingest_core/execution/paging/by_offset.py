"""Paging by the number of records to skip."""

from dataclasses import dataclass

from ingest_core.execution.decode import DecodedPage
from ingest_core.execution.paging.counted import CountedPlace, asked_size, read_place
from ingest_core.execution.paging.place import Place, Step
from ingest_core.execution.paging.stopping import Reach, decide_step, records_gone, step_by_time
from ingest_core.model.spec import PaginationSpec


@dataclass(frozen=True)
class OffsetPaginator:
    """The place is ours: it moves by the records that came, or by what the provider says it moved."""

    config: PaginationSpec

    def first(self) -> str:
        """Nothing is skipped."""
        return "0"

    def offset(self, token: str | None) -> int | None:
        """How many records of the query the place skips."""
        return None if token is None else read_place(token).number

    def step(self, page: DecodedPage, place: Place) -> Step:
        """Behind the records that came, or behind their time; back by as many as have left the result."""
        here = read_place(place.token)
        gone = records_gone(page, place) if here.number else 0
        if gone:
            return Step(CountedPlace(max(0, here.number - gone), here.since, here.before).write(), rewound=True)
        size = asked_size(self.config, place.token)
        # An empty page that is not the end is passed over whole; a step of nothing is none.
        moved = (page.step if page.step is not None and page.step > 0 else page.count) if page.count else size
        next_place = CountedPlace(here.number + moved, here.since, here.before)
        reach = Reach(here.before + here.number, here.before + next_place.number, next_place.number, here.before, size)
        step = decide_step(self.config, page, place, next_place.write(), reach)
        return step_by_time(step, place, here, first=0)
