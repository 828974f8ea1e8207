"""Small pages of every kind of paging."""

from typing import Any

from ingest_core.execution.page import DecodedPage
from ingest_core.execution.paging import (
    Place,
    Step,
    paginator_of,
)
from ingest_core.model.spec import PaginationSpec
from tests.support.specs import crossref_spec, page_of

FULL = 3


def paging(kind: str, **changes: Any) -> PaginationSpec:
    """Paging of that kind with three records a page, and other changes."""
    usual = {"type": kind, "position": "CLIENT", "page_size": FULL, "initial_token": None, "token_ttl_seconds": None}
    return crossref_spec(pagination={**usual, **changes}).paging


def page(records: int = FULL, **said: Any) -> DecodedPage:
    """A page of that many records."""
    return page_of(list(range(records)), **said)


def after(config: PaginationSpec, token: str, distinct: int, before: int | None = None, **said: Any) -> Step:
    """What comes after the page at a token, when so many records have been seen, and a total was stated before."""
    return paginator_of(config).step(page(**said), Place(token, 2, distinct, before))


END = Step(None)
OFFSET, PAGE = paging("OFFSET"), paging("PAGE", page_base=1)
