"""Paging by links."""

from dataclasses import dataclass

from ingest_core.execution.decode import DecodedPage
from ingest_core.execution.paging.place import Place, Step
from ingest_core.execution.paging.stopping import decide_step
from ingest_core.model.spec import PaginationSpec


@dataclass(frozen=True)
class UrlPaginator:
    """Each answer links to the next; where a link may lead is for transport to say."""

    config: PaginationSpec

    def first(self) -> str | None:
        """The source's own request, which needs no link."""
        return self.config.initial_token

    def offset(self, token: str | None) -> None:
        """Nobody can tell."""

    def step(self, page: DecodedPage, place: Place) -> Step:
        """Where the link leads."""
        return decide_step(self.config, page, place, page.next_token)
