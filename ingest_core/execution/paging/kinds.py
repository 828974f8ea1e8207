"""The ways of paging there are; a new one is a module and a line here."""

from collections.abc import Callable

from ingest_core.execution.decode import DecodedPage
from ingest_core.execution.paging.by_link import LinkedPaginator
from ingest_core.execution.paging.by_offset import OffsetPaginator
from ingest_core.execution.paging.by_page import PagePaginator
from ingest_core.execution.paging.by_time import TimePaginator
from ingest_core.execution.paging.paginator import Paginator
from ingest_core.execution.paging.place import Place, Step
from ingest_core.model.codes import PaginationType
from ingest_core.model.spec import PaginationSpec

KINDS: dict[PaginationType, Callable[[PaginationSpec], Paginator]] = {
    PaginationType.OFFSET: OffsetPaginator,
    PaginationType.PAGE: PagePaginator,
    PaginationType.TOKEN: LinkedPaginator,
    PaginationType.URL: LinkedPaginator,
    PaginationType.TIME: TimePaginator,
}


def paginator_of(pagination: PaginationSpec) -> Paginator:
    """The source's way of paging."""
    return KINDS[pagination.type](pagination)


def first_token(pagination: PaginationSpec) -> str | None:
    """The token of the first page."""
    return paginator_of(pagination).first()


def offset_of(pagination: PaginationSpec, token: str | None) -> int | None:
    """How many records a page skips, where that is known."""
    return paginator_of(pagination).offset(token)


def next_step(pagination: PaginationSpec, page: DecodedPage, place: Place) -> Step:
    """What comes after a page."""
    return paginator_of(pagination).step(page, place)
