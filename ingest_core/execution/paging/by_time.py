"""Paging by time: the slices are the pages."""

from ingest_core.execution.page import DecodedPage
from ingest_core.execution.paging.paginator import Paginator
from ingest_core.execution.paging.place import Place, Step
from ingest_core.execution.paging.stopping import ended_by
from ingest_core.model.codes import EndSignal, PaginationType
from ingest_core.model.slice_codes import ResliceReason


class TimePaginator(Paginator):
    """One page per slice: a full one may hide more, and the slice must be cut smaller."""

    kind = PaginationType.TIME

    def first(self) -> str | None:
        """The only page there is."""
        return self.config.initial_token

    def step(self, page: DecodedPage, place: Place) -> Step:
        """The end, or a limit; never another page."""
        if page.count < self.config.page_size and not page.has_more:
            return ended_by(self.config, page, place, EndSignal.SHORT_PAGE if page.count else EndSignal.EMPTY_PAGE)
        why = "says that more follows" if page.has_more else "is full"
        message = f"a page of {page.count} records {why}, and there is no next one"
        return Step("", limit=message, reslice=ResliceReason.PAGE_FULL)
