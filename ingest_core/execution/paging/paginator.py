"""What a way of paging knows."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from ingest_core.execution.page import DecodedPage
from ingest_core.execution.paging.place import Place, Step
from ingest_core.model.codes import PaginationType
from ingest_core.model.spec import PaginationSpec


@dataclass(frozen=True)
class PageRequest:
    """How the page at a place is asked for."""

    size: int
    """Records to ask for."""
    number: int | None = None
    """The record or page number to send; None where the place is the provider's."""
    since: datetime | None = None
    """Lower bound of the request; None: the slice's own."""
    url: str | None = None
    """The whole URL to request, where the provider named it."""


@dataclass(frozen=True)
class Paginator(ABC):
    """One way from page to page; a small value that remembers nothing between two pages.

    Whatever depends on `pagination.type` while a source is read is asked of its paginator.
    """

    config: PaginationSpec

    kind: ClassVar[PaginationType]
    counted: ClassVar[bool] = False
    """Whether places are numbers of ours, which can be asked for again at any time."""
    linked: ClassVar[bool] = False
    """Whether each answer says where the next page is."""

    @abstractmethod
    def first(self) -> str | None:
        """The token of the first page."""

    @abstractmethod
    def step(self, page: DecodedPage, place: Place) -> Step:
        """What comes after a page at that place."""

    def request(self, token: str | None) -> PageRequest:
        """How the page at `token` is asked for."""
        return PageRequest(self.config.page_size)

    def offset(self, token: str | None) -> int | None:
        """How many records of the query a page skips, where that is known."""
        return None

    def before(self, token: str | None) -> int:
        """How many distinct records of the slice came before the page's query began."""
        return 0

    def next_path(self) -> tuple[str, str | None]:
        """Where in an answer the next place is stated: the source file's key, and the path it gives."""
        return "pagination.next_token", self.config.next_token_path

    def next_place(self, stated: str | None, credential: str | None) -> str | None:
        """The next place that an answer states, without the parameter that carries the credential."""
        return stated

    def kept_place(self, place: str | None, clean: Callable[[str | None], str | None]) -> str | None:
        """The place as it may be stored; `clean` removes the credential from a URL."""
        return place

    def lacks_next_place(self, page: DecodedPage) -> bool:
        """Whether the page says that more follows, but not where."""
        return False

    def tail_is_doubtful(self, page: DecodedPage) -> bool:
        """Whether a page that names no next one is to be asked for once more before that is accepted."""
        return False
