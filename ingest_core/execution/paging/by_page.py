"""Paging by page number."""

from ingest_core.execution.page import DecodedPage
from ingest_core.execution.paging.counted import CountedPaginator, CountedPlace, read_place
from ingest_core.execution.paging.place import Place, Step
from ingest_core.execution.paging.stopping import Reach, decide_step, records_gone, step_by_time
from ingest_core.model.codes import PaginationType


class PagePaginator(CountedPaginator):
    """The next page has the next number; the first has the one the source says."""

    kind = PaginationType.PAGE

    def first(self) -> str:
        """The number providers begin to count with: 0 or 1."""
        return str(self.config.page_base)

    def offset(self, token: str | None) -> int | None:
        """How many records of the query the whole pages before this one hold."""
        return None if token is None else self._skipped(read_place(token).number)

    def _skipped(self, number: int) -> int:
        return (number - self.config.page_base) * self.config.page_size

    def step(self, page: DecodedPage, place: Place) -> Step:
        """The next number, or the first behind the records' time; back by whole pages where records have left."""
        base = self.config.page_base
        here = read_place(place.token, base)
        gone = records_gone(page, place) if here.number > base else 0
        if gone:
            pages = -(-gone // self.config.page_size)
            return Step(CountedPlace(max(base, here.number - pages), here.since, here.before).write(), rewound=True)
        skipped, reached = self._skipped(here.number), self._skipped(here.number + 1)
        size = self.config.page_size
        reach = Reach(here.before + skipped, here.before + reached, reached, here.before, size)
        token = CountedPlace(here.number + 1, here.since, here.before).write()
        step = decide_step(self.config, page, place, token, reach)
        return step_by_time(step, place, here, first=base)
