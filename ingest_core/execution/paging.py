"""How one page leads to the next, and when there is none."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ingest_core.execution.decode import DecodedPage
from ingest_core.model.canonical import hash_of
from ingest_core.model.codes import PagePosition
from ingest_core.model.spec import PaginationSpec
from ingest_core.model.work import Checkpoint


@dataclass(frozen=True)
class Step:
    """What comes after a page: another one at `token`, or the end; `limit` when the end is ours."""

    token: str | None
    limit: bool = False

    @property
    def ends(self) -> bool:
        """Whether no page is asked for after this one."""
        return self.token is None or self.limit

    @property
    def completes(self) -> bool:
        """Whether the provider has no more."""
        return self.token is None


END = Step(None)


class NextPageMissing(Exception):
    """The provider says there is more and not where."""


def next_step(pagination: PaginationSpec, page: DecodedPage, page_no: int, distinct: int) -> Step:
    """An explicit hasMore, then the next token, then a short page with all received, then the page limit.

    A token that did not change is no end: a scroll repeats it. An empty page is, even with a token.
    """
    if page.has_more and page.next_token is None:
        raise NextPageMissing(f"page {page_no} says that more follows, but has no token for it")
    if not page.items or page.has_more is False or page.next_token is None:
        return END
    short = len(page.items) < pagination.page_size
    if page.has_more is None and short and page.total is not None and distinct >= page.total:
        return END
    if pagination.max_page is not None and page_no >= pagination.max_page:
        return Step(page.next_token, limit=True)
    return Step(page.next_token)


def before_hash(pagination: PaginationSpec, token: str | None, batch_no: int) -> str:
    """The identity of a page within its run: the same again is a loop, unless the place is the provider's."""
    return hash_of(token, batch_no if pagination.position == PagePosition.SERVER else None)


def resume_point(pagination: PaginationSpec, checkpoint: Checkpoint, now: datetime) -> Checkpoint:
    """Where an attempt begins: at the checkpoint, or anew where the place is gone."""
    if not checkpoint.started or checkpoint.ended:
        return checkpoint
    if pagination.position == PagePosition.SERVER or _expired(pagination, checkpoint, now):
        return checkpoint.anew()
    return checkpoint


def _expired(pagination: PaginationSpec, checkpoint: Checkpoint, now: datetime) -> bool:
    if pagination.token_ttl_seconds is None or checkpoint.token_at is None:
        return False
    return now - checkpoint.token_at > timedelta(seconds=pagination.token_ttl_seconds)
