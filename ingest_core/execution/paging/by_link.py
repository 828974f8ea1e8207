"""Paging by what the last answer says: a token or a URL."""

from collections.abc import Callable
from dataclasses import replace

from ingest_core.execution.page import DecodedPage
from ingest_core.execution.paging.paginator import PageRequest, Paginator
from ingest_core.execution.paging.place import Place, Step
from ingest_core.execution.paging.positions import counts_positions
from ingest_core.execution.paging.stopping import NextPageMissing, decide_step
from ingest_core.model.codes import EmptyPage, PagePosition, PaginationType


class TokenPaginator(Paginator):
    """Each answer gives the token of the next page."""

    kind = PaginationType.TOKEN
    linked = True

    def first(self) -> str | None:
        """The token that opens a scroll, if one is needed."""
        return self.config.initial_token

    def step(self, page: DecodedPage, place: Place) -> Step:
        """Where the answer says."""
        if self.lacks_next_place(page):
            raise NextPageMissing(f"page {place.page_no} says that more follows, but not where")
        step = decide_step(self.config, page, place, page.next_token)
        return replace(step, counts=True) if counts_positions(place.token, step.token) else step

    def lacks_next_place(self, page: DecodedPage) -> bool:
        """Whether the page says that more follows, but not where; an empty page may be the end all the same."""
        ends = not page.count and self.config.empty_page == EmptyPage.END
        return bool(page.has_more) and page.next_token is None and not ends

    def tail_is_doubtful(self, page: DecodedPage) -> bool:
        """Whether a full page names no next one, at a provider that is known to forget it."""
        silent = page.next_token is None and page.has_more is None
        again = self.config.tail_probe and self.config.position == PagePosition.CLIENT
        return again and silent and page.count >= self.config.page_size


class UrlPaginator(TokenPaginator):
    """Each answer gives the URL of the next page, of which transport checks the host."""

    kind = PaginationType.URL

    def request(self, token: str | None) -> PageRequest:
        """The URL itself; the first page is asked for as the source file says."""
        return PageRequest(self.config.page_size, url=token)

    def next_path(self) -> tuple[str, str | None]:
        """Where in an answer the URL is stated."""
        return "pagination.next_url", self.config.next_url_path

    def next_place(self, stated: str | None, credential: str | None) -> str | None:
        """The URL without the parameter that carries the credential."""
        return _without_param(stated, credential) if stated and credential else stated

    def kept_place(self, place: str | None, clean: Callable[[str | None], str | None]) -> str | None:
        """The URL without the credential."""
        return clean(place)


def _without_param(url: str, name: str) -> str:
    """The URL without the credential some providers repeat in it: it is written down as the next place."""
    path, mark, query = url.partition("?")
    kept = [part for part in query.split("&") if part.partition("=")[0].lower() != name.lower()]
    return f"{path}{mark}{'&'.join(kept)}"
