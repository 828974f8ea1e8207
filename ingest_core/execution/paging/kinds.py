"""The ways of paging there are; a new one is a module and a word here."""

from ingest_core.execution.paging.by_link import TokenPaginator, UrlPaginator
from ingest_core.execution.paging.by_offset import OffsetPaginator
from ingest_core.execution.paging.by_page import PagePaginator
from ingest_core.execution.paging.by_time import TimePaginator
from ingest_core.execution.paging.paginator import Paginator
from ingest_core.model.codes import PaginationType
from ingest_core.model.spec import PaginationSpec

_PAGINATORS: tuple[type[Paginator], ...] = (
    OffsetPaginator,
    PagePaginator,
    TokenPaginator,
    UrlPaginator,
    TimePaginator,
)
KINDS: dict[PaginationType, type[Paginator]] = {paginator.kind: paginator for paginator in _PAGINATORS}


def paginator_of(pagination: PaginationSpec) -> Paginator:
    """The source's way of paging."""
    return KINDS[pagination.type](pagination)
