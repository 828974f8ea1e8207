"""What a way of paging knows."""

from typing import Protocol

from ingest_core.execution.decode import DecodedPage
from ingest_core.execution.paging.place import Place, Step


class Paginator(Protocol):
    """One way from page to page; a small value that remembers nothing between two pages."""

    def first(self) -> str | None:
        """The token of the first page."""

    def offset(self, token: str | None) -> int | None:
        """How many records a page skips, where that is known."""

    def step(self, page: DecodedPage, place: Place) -> Step:
        """What comes after a page at that place."""
