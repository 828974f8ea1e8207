"""The rules by which paging stops, the same for every kind that goes from page to page."""

from ingest_core.execution.decode import DecodedPage
from ingest_core.execution.paging.place import END, Place, Step
from ingest_core.model.codes import PagePosition, PaginationType
from ingest_core.model.errors import PagingLoop
from ingest_core.model.slice_codes import ResliceReason
from ingest_core.model.spec import PaginationSpec

MAX_REWINDS = 50
"""A total that goes up and down is no reason to go round for ever: completeness is checked at the end anyway."""

MAX_REPEATS = 3
"""One page may come twice by mistake; the same again and again is where the provider's result ends, or its sense."""


class NextPageMissing(Exception):
    """The provider says there is more and not where."""


def decide_step(
    config: PaginationSpec, page: DecodedPage, place: Place, token: str | None, reached: int | None = None
) -> Step:
    """An explicit hasMore, then the next place, then a short page with all received, then our limits.

    A token that did not change is no end: a scroll repeats it. An empty page is, even with a token. `reached` is how
    many records the next place skips, where that is known.
    """
    if page.has_more and token is None and page.count:
        raise NextPageMissing(f"page {place.page_no} says that more follows, but not where")
    if place.repeats >= MAX_REPEATS:
        return _stuck(page, place, token, reached)
    if token is None or page.count == 0 or page.has_more is False:
        return _capped(config, page, place, token) or END
    if page.has_more is None and _all_came(config, page, place, reached):
        return _capped(config, page, place, token) or END
    return _limited(config, page, place, token, reached) or Step(token)


def records_gone(page: DecodedPage, place: Place) -> int:
    """How many records left the result since the last page, so that those behind them moved up."""
    if page.total is None or place.total_before is None or place.rewinds >= MAX_REWINDS:
        return 0
    return max(0, place.total_before - page.total)


def tail_is_doubtful(config: PaginationSpec, page: DecodedPage) -> bool:
    """Whether a page that names no next one is to be asked for once more before that is believed."""
    linked = config.type in (PaginationType.TOKEN, PaginationType.URL) and config.position == PagePosition.CLIENT
    silent = page.next_token is None and page.has_more is None
    return config.tail_probe and linked and silent and page.count >= config.page_size


def _all_came(config: PaginationSpec, page: DecodedPage, place: Place, reached: int | None) -> bool:
    """Whether what is stated has been received; without a stated total, only an empty page tells."""
    if page.total is None or place.distinct < page.total:
        return False
    # Records that have left are among the distinct: the place must be there too.
    return page.count < config.page_size if reached is None else reached >= page.total


def _limited(config: PaginationSpec, page: DecodedPage, place: Place, token: str, reached: int | None) -> Step | None:
    """Why we stop before the provider does, if so."""
    if config.max_page is not None and place.page_no >= config.max_page:
        return Step(token, limit=f"stopped at max_page {config.max_page}", reslice=ResliceReason.PAGE_CAP)
    if config.max_records is not None and reached is not None and reached >= config.max_records:
        return _record_cap(config, token)
    return _capped(config, page, place, token) if reached is None else None


def _capped(config: PaginationSpec, page: DecodedPage, place: Place, token: str | None) -> Step | None:
    """All that the provider gives of a query has come; a total that is no larger than that may be cut off there too."""
    if config.max_records is None or place.distinct < config.max_records:
        return None
    return None if page.total is not None and page.total < config.max_records else _record_cap(config, token or "")


def _record_cap(config: PaginationSpec, token: str) -> Step:
    message = f"the provider gives only the first {config.max_records} records of a query"
    return Step(token, limit=message, reslice=ResliceReason.RECORD_CAP)


def _stuck(page: DecodedPage, place: Place, token: str | None, reached: int | None) -> Step:
    """The same page over and over: behind a number of ours that is all there is, or all that can be reached."""
    again = f"page {place.page_no} holds the same records as the {place.repeats} before it"
    if reached is None or token is None:
        raise PagingLoop(again)
    if page.total is None or place.distinct >= page.total:
        return END
    return Step(token, limit=f"{again}: no more can be reached", reslice=ResliceReason.RECORD_CAP)
