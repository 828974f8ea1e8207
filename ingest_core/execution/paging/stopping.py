"""The rules by which paging stops, the same for every kind that goes from page to page.

The law: an end is accepted only from the provider's strongest signal. `has_more` outranks a next place, a next place
outranks an empty page and any total; a number of ours is no next place of the provider's. A total never ends a result,
unless the source declares it EXACT: it is what the result is checked against at the end.
"""

from dataclasses import dataclass, replace

from ingest_core.execution.page import DecodedPage
from ingest_core.execution.paging.counted import CountedPlace
from ingest_core.execution.paging.place import Place, Step
from ingest_core.model.codes import EmptyPage, EndSignal, TotalKind
from ingest_core.model.errors import EmptyPages, PagingLoop
from ingest_core.model.slice_codes import ResliceReason
from ingest_core.model.spec import PaginationSpec

MAX_REWINDS = 50
"""A total that goes up and down must not rewind for ever: completeness is checked at the end anyway."""

MAX_REPEATS = 3
"""One page may come twice by mistake; the same page again and again is where the provider's result ends."""

MAX_EMPTY_PAGES = 10
"""Withdrawn records leave single pages empty; this many in a row are no result any more."""


class NextPageMissing(Exception):
    """The provider says there is more and not where."""


@dataclass(frozen=True)
class Reach:
    """What a place that we count skips."""

    here: int
    """Records of the slice that this page skips."""
    next: int
    """Records of the slice that the next page skips."""
    in_query: int
    """Records of the next page's own query that it skips: the provider's cap is on these."""
    before: int
    """Records of the slice that come before this page's query."""
    size: int
    """How many records this page was asked for."""


def decide_step(
    config: PaginationSpec, page: DecodedPage, place: Place, token: str | None, reach: Reach | None = None
) -> Step:
    """What comes after a page; `reach` where the place is a number of ours."""
    if place.repeats >= MAX_REPEATS:
        return _stuck(page, place, token, reach)
    signal = _end_signal(config, page, place, token, reach)
    if signal is not None:
        return _capped(config, page, place, token, reach) or _ended(config, page, place, signal)
    assert token is not None
    if page.count == 0 and place.empties + 1 >= MAX_EMPTY_PAGES:
        raise EmptyPages(_empty_pages(page, place))
    onward = _onward(page, place, token, reach)
    limit = _limited(config, place, token, reach)
    return replace(limit, counts=onward.counts) if limit else onward


def step_by_time(step: Step, place: Place, here: CountedPlace, *, first: int) -> Step:
    """The same step, at the time the page reached instead of behind its records where its order allows that."""
    edge = place.edge
    if step.ends or edge is None or (here.since is not None and edge.since <= here.since):
        return step
    # What is before the edge has come, whatever shifts behind it: no position is needed.
    onward = CountedPlace(first, edge.since, place.distinct - edge.records)
    return replace(step, token=onward.write(), beyond=False, counts=False)


def records_gone(page: DecodedPage, place: Place) -> int:
    """How many records left the result since the last page, so that those behind them moved up."""
    if page.total is None or place.total_before is None or place.rewinds >= MAX_REWINDS:
        return 0
    return max(0, place.total_before - page.total)


def ended_by(config: PaginationSpec, page: DecodedPage, place: Place, signal: EndSignal) -> Step:
    """The end of a result without further pages."""
    return _capped(config, page, place, None, None) or Step(None, signal=signal)


def _end_signal(
    config: PaginationSpec, page: DecodedPage, place: Place, token: str | None, reach: Reach | None
) -> EndSignal | None:
    """By what the end is recognised; none where the result goes on."""
    if page.count == 0 and config.empty_page == EmptyPage.END:
        return EndSignal.EMPTY_PAGE
    if page.has_more is not None:
        return None if page.has_more else EndSignal.HAS_MORE_FALSE
    if token is None:
        return EndSignal.NO_NEXT_PLACE if page.count else EndSignal.EMPTY_PAGE
    if page.count == 0:
        return None if _more_expected(page, place, token, reach) else EndSignal.EMPTY_PAGE
    exact = config.total_kind == TotalKind.EXACT and _total_came(config, page, place, reach)
    return EndSignal.TOTAL_REACHED if exact else None


def _more_expected(page: DecodedPage, place: Place, token: str, reach: Reach | None) -> bool:
    """Whether records may come behind an empty page: at a new place, or up to the stated total."""
    if reach is None:
        return token != place.token
    total = _stated(page, place)
    return total is not None and reach.here < total


def _total_came(config: PaginationSpec, page: DecodedPage, place: Place, reach: Reach | None) -> bool:
    """Whether the total stated on this page has come, and the page is where it must end."""
    if page.total is None or place.distinct < page.total:
        return False
    # Records that have left are among the distinct: the place must be there too.
    return page.count < config.page_size if reach is None else reach.next >= page.total


def _stated(page: DecodedPage, place: Place) -> int | None:
    return place.total_before if page.total is None else page.total


def _ended(config: PaginationSpec, page: DecodedPage, place: Place, signal: EndSignal) -> Step:
    """The end; a full page that names no next place may hide more, unless a total can be checked."""
    full = signal == EndSignal.NO_NEXT_PLACE and page.count >= config.page_size
    if full and _stated(page, place) is None and not config.tail_probe:
        message = (
            f"page {place.page_no} is full ({page.count} records), names no next place, and no total is stated:"
            " check pagination.next_token or next_url, or set pagination.tail_probe"
        )
        return Step("", limit=message, reslice=ResliceReason.END_UNCERTAIN, signal=signal)
    return Step(None, signal=signal)


def _empty_pages(page: DecodedPage, place: Place) -> str:
    total = _stated(page, place)
    came = f"{place.distinct} records" if total is None else f"{place.distinct} of {total} records"
    return (
        f"{MAX_EMPTY_PAGES} empty pages in a row up to page {place.page_no}, and {came} came: set"
        " pagination.empty_page: END if an empty page is this provider's end of a result"
    )


def _onward(page: DecodedPage, place: Place, token: str, reach: Reach | None) -> Step:
    if reach is None:
        return Step(token)
    total = _stated(page, place)
    beyond = total is not None and total <= min(place.distinct, reach.next)
    return Step(token, beyond=beyond, counts=True)


def _limited(config: PaginationSpec, place: Place, token: str, reach: Reach | None) -> Step | None:
    """Why we stop before the provider does, if so."""
    if config.max_page is not None and place.page_no >= config.max_page:
        return Step(token, limit=f"stopped at max_page {config.max_page}", reslice=ResliceReason.PAGE_CAP)
    given = place.distinct if reach is None else reach.in_query
    return _record_cap(config, token) if config.max_records is not None and given >= config.max_records else None


def _capped(
    config: PaginationSpec, page: DecodedPage, place: Place, token: str | None, reach: Reach | None
) -> Step | None:
    """The end, if the result may go on behind the provider's cap: a total that reaches it may be cut off there too."""
    before, total = reach.before if reach else 0, _stated(page, place)
    most = max(place.distinct, total or 0)  # a total that is too small must not hide that the cap was reached
    if config.max_records is None or most - before < config.max_records:
        return None
    return _record_cap(config, token or "")


def _record_cap(config: PaginationSpec, token: str) -> Step:
    message = f"the provider gives only the first {config.max_records} records of a query"
    return Step(token, limit=message, reslice=ResliceReason.RECORD_CAP)


def _stuck(page: DecodedPage, place: Place, token: str | None, reach: Reach | None) -> Step:
    """The same page over and over: behind a number of ours that is all there is, or all that can be reached."""
    again = f"page {place.page_no} holds the same records as the {place.repeats} before it"
    if reach is None or token is None:
        raise PagingLoop(again)
    if page.total is None or place.distinct >= page.total:
        return Step(None, signal=EndSignal.REPEATED_PAGE)
    return Step(token, limit=f"{again}: no more can be reached", reslice=ResliceReason.RECORD_CAP)
