"""Paging by a token of the provider's."""

from dataclasses import dataclass

from ingest_core.execution.decode import DecodedPage
from ingest_core.execution.paging.place import Place, Step
from ingest_core.execution.paging.stopping import decide_step
from ingest_core.model.spec import PaginationSpec


@dataclass(frozen=True)
class TokenPaginator:
    """Each answer says by which token the next page is asked for; the same token again is no end."""

    config: PaginationSpec

    def first(self) -> str | None:
        """What opens a scroll, if anything does."""
        return self.config.initial_token

    def offset(self, token: str | None) -> None:
        """Nobody can tell."""

    def step(self, page: DecodedPage, place: Place) -> Step:
        """Where the answer says."""
        return decide_step(self.config, page, place, page.next_token)
