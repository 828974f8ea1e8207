"""Paging by the number of records to skip."""

from ingest_core.execution.page import DecodedPage
from ingest_core.execution.paging.counted import CountedPaginator, CountedPlace, read_place
from ingest_core.execution.paging.place import Place, Step
from ingest_core.execution.paging.stopping import Reach, decide_step, records_gone, step_by_time
from ingest_core.model.codes import PaginationType


class OffsetPaginator(CountedPaginator):
    """The place is ours: it moves by the records that came, or by what the provider says it moved."""

    kind = PaginationType.OFFSET

    def first(self) -> str:
        """Nothing is skipped."""
        return "0"

    def size_at(self, token: str | None) -> int:
        """A page's records, but never more than the provider gives of a query."""
        if self.config.max_records is None:
            return self.config.page_size
        return max(1, min(self.config.page_size, self.config.max_records - read_place(token).number))

    def offset(self, token: str | None) -> int | None:
        """How many records of the query the place skips."""
        return None if token is None else read_place(token).number

    def step(self, page: DecodedPage, place: Place) -> Step:
        """Behind the records that came, or behind their time; back by as many as have left the result."""
        here = read_place(place.token)
        gone = records_gone(page, place) if here.number else 0
        if gone:
            return Step(CountedPlace(max(0, here.number - gone), here.since, here.before).write(), rewound=True)
        size = self.size_at(place.token)
        # An empty page that is not the end is passed over whole; a step of nothing is none.
        moved = (page.step if page.step is not None and page.step > 0 else page.count) if page.count else size
        next_place = CountedPlace(here.number + moved, here.since, here.before)
        reach = Reach(here.before + here.number, here.before + next_place.number, next_place.number, here.before, size)
        step = decide_step(self.config, page, place, next_place.write(), reach)
        return step_by_time(step, place, here, first=0)
