"""How one page leads to the next, and when there is none."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ingest_core.execution.decode import DecodedPage
from ingest_core.model.canonical import hash_of
from ingest_core.model.codes import PagePosition, PaginationType
from ingest_core.model.slice_codes import ResliceReason
from ingest_core.model.spec import PaginationSpec
from ingest_core.model.work import Checkpoint

MAX_REWINDS = 50
"""A total that goes up and down is no reason to go round for ever: completeness is checked at the end anyway."""

COUNTED = (PaginationType.OFFSET, PaginationType.PAGE)
"""Paging by a number of ours."""


@dataclass(frozen=True)
class Step:
    """What comes after a page: another one at `token`, or the end; `limit` when the end is ours."""

    token: str | None
    limit: str | None = None
    rewound: bool = False
    reslice: ResliceReason | None = None

    @property
    def ends(self) -> bool:
        """Whether no page is asked for after this one."""
        return self.token is None or self.limit is not None

    @property
    def completes(self) -> bool:
        """Whether the provider has no more."""
        return self.token is None


END = Step(None)


class NextPageMissing(Exception):
    """The provider says there is more and not where."""


@dataclass(frozen=True)
class Place:
    """Where a page was: its token, its number, the records seen up to and with it, and the total stated before it."""

    token: str | None
    page_no: int
    distinct: int
    total_before: int | None = None
    rewinds: int = 0


def first_token(pagination: PaginationSpec) -> str | None:
    """The token of the first page."""
    if pagination.type == PaginationType.OFFSET:
        return "0"
    return str(pagination.page_base) if pagination.type == PaginationType.PAGE else pagination.initial_token


def offset_of(pagination: PaginationSpec, token: str | None) -> int | None:
    """How many records a page skips, where that is known."""
    if pagination.type not in COUNTED or token is None:
        return None
    return (
        int(token)
        if pagination.type == PaginationType.OFFSET
        else (int(token) - pagination.page_base) * pagination.page_size
    )


def next_step(pagination: PaginationSpec, page: DecodedPage, place: Place) -> Step:
    """An explicit hasMore, then the next place, then a short page with all received, then our limits.

    A token that did not change is no end: a scroll repeats it. An empty page is, even with a token.
    """
    if pagination.type == PaginationType.TIME:
        return _time_step(pagination, page)
    rewind = _rewind(pagination, page, place)
    if rewind is not None:
        return Step(rewind, rewound=True)
    token = _next_token(pagination, page, place)
    if page.has_more and token is None:
        raise NextPageMissing(f"page {place.page_no} says that more follows, but not where")
    if page.count == 0 or page.has_more is False or token is None:
        return END
    if page.has_more is None and _all_came(pagination, page, place, token):
        return END
    limit, reason = _limit(pagination, token, place.page_no)
    return Step(token, limit=limit, reslice=reason)


def _next_token(pagination: PaginationSpec, page: DecodedPage, place: Place) -> str | None:
    if pagination.type == PaginationType.OFFSET:
        moved = page.step if page.step is not None else page.count
        return str(int(place.token or 0) + moved) if moved > 0 else None
    if pagination.type == PaginationType.PAGE:
        return str(int(place.token or pagination.page_base) + 1)
    return page.next_token


def _time_step(pagination: PaginationSpec, page: DecodedPage) -> Step:
    """One page per slice: a full one may hide more, and the slice must be cut smaller."""
    if page.count < pagination.page_size:
        return END
    message = f"a page of {page.count} records is full, and there is no next one"
    return Step("", limit=message, reslice=ResliceReason.PAGE_FULL)


def _all_came(pagination: PaginationSpec, page: DecodedPage, place: Place, token: str) -> bool:
    """Whether what is stated has been received; without a stated total, only an empty page tells."""
    if page.total is None or place.distinct < page.total:
        return False
    reached = offset_of(pagination, token)  # records that have left are among the distinct: the place must be there too
    return page.count < pagination.page_size if reached is None else reached >= page.total


def _rewind(pagination: PaginationSpec, page: DecodedPage, place: Place) -> str | None:
    """Records that left the result moved the rest up: those that slipped past us are asked for again."""
    if pagination.type not in COUNTED or page.total is None or place.total_before is None:
        return None
    left = place.total_before - page.total
    if left <= 0 or place.rewinds >= MAX_REWINDS:
        return None
    if pagination.type == PaginationType.OFFSET:
        return str(max(0, int(place.token or 0) - left))
    pages = -(-left // pagination.page_size)
    return str(max(pagination.page_base, int(place.token or pagination.page_base) - pages))


def _limit(pagination: PaginationSpec, token: str, page_no: int) -> tuple[str | None, ResliceReason | None]:
    """Why we stop before the provider does, if so."""
    if pagination.max_page is not None and page_no >= pagination.max_page:
        return f"stopped at max_page {pagination.max_page}", ResliceReason.PAGE_CAP
    skipped = offset_of(pagination, token)
    if pagination.max_records is None or skipped is None or skipped < pagination.max_records:
        return None, None
    message = f"the provider gives only the first {pagination.max_records} records of a query"
    return message, ResliceReason.RECORD_CAP


def before_hash(pagination: PaginationSpec, token: str | None, batch_no: int, rewinds: int = 0) -> str:
    """The identity of a page within its run: the same again is a loop, unless there is a good reason."""
    at_provider = pagination.position == PagePosition.SERVER
    return hash_of(token, batch_no if at_provider else None, *([rewinds] if rewinds else []))


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
