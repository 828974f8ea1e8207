"""Paging by what the last answer says: a token or a link."""

from dataclasses import dataclass, replace

from ingest_core.execution.decode import DecodedPage
from ingest_core.execution.paging.place import Place, Step
from ingest_core.execution.paging.positions import counts_positions
from ingest_core.execution.paging.stopping import decide_step
from ingest_core.model.spec import PaginationSpec


@dataclass(frozen=True)
class LinkedPaginator:
    """Each answer says where the next page is: by a token, or by a link whose hosts transport checks."""

    config: PaginationSpec

    def first(self) -> str | None:
        """The token that opens a scroll, if one is needed; a first request by link needs none."""
        return self.config.initial_token

    def offset(self, token: str | None) -> None:
        """Unknown: the place is the provider's."""

    def step(self, page: DecodedPage, place: Place) -> Step:
        """Where the answer says."""
        step = decide_step(self.config, page, place, page.next_token)
        return replace(step, counts=True) if counts_positions(place.token, step.token) else step
