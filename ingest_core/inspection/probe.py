"""Asking a provider how much a window holds: one small request, through the gate."""

import logging
from datetime import datetime, timedelta

from ingest_core.execution.fetch import Fetcher, Spot
from ingest_core.execution.page import DecodedPage
from ingest_core.execution.paging import paginator_of
from ingest_core.execution.ports import Upstream
from ingest_core.execution.request import Caller, render_request
from ingest_core.execution.routing import Router
from ingest_core.gate.ports import Asker, RateGate
from ingest_core.gate.taxonomy import UpstreamError
from ingest_core.model.id_range import IdRange
from ingest_core.model.partition import partition_of
from ingest_core.model.slice_codes import EstimateMethod
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.window import Window
from ingest_core.planning.estimate import Estimate, SizeUnknown

log = logging.getLogger(__name__)

CORRELATION = "estimate"

MOST_CREDIBLE = 10**12
"""A total that is more, or less than none, says that the provider does not know."""


class UpstreamProbe:
    """A Probe."""

    def __init__(self, gate: RateGate, upstream: Upstream, contact: str | None = None) -> None:
        self._gate = gate
        self._upstream = upstream
        self._caller = Caller(CORRELATION, contact)

    def ask(self, spec: SpecSnapshot, window: Window, part: IdRange | None = None) -> Estimate | None:
        """COUNT where a total is stated, else FIRST_PAGE; none when a page tells nothing, SizeUnknown on a failure."""
        asked = _asked_once(spec)
        fetcher = Fetcher(asked, self._gate, self._upstream, asker=Asker(partition=partition_of(spec)))
        request = render_request(asked, window, paginator_of(asked.paging).first(), self._caller, part)
        try:
            page = fetcher.fetch(request, Spot(repeatable=False)).page
        except UpstreamError as error:
            log.warning("%s: no size of %s: %s", spec.provenance_code, window, error)
            raise SizeUnknown(str(error), reached=not error.unreachable) from error
        try:
            return _size(spec, asked, page, window)
        except Exception as error:
            # Nothing but the provider's data is read here, and no size is worth a plan.
            log.warning("%s: no size of %s", spec.provenance_code, window, exc_info=True)
            raise SizeUnknown(f"its first page cannot be read: {type(error).__name__}") from error


def _size(spec: SpecSnapshot, asked: SpecSnapshot, page: DecodedPage, window: Window) -> Estimate | None:
    """What a page says of its window's size."""
    if page.total is not None and 0 <= page.total <= MOST_CREDIBLE:
        return Estimate(page.total, EstimateMethod.COUNT)
    if spec.response.total_path and page.count:
        return None  # one requested record says nothing about the size
    if page.count < asked.paging.page_size:
        return Estimate(page.count, EstimateMethod.FIRST_PAGE)
    times = [record.updated_at for record in Router(spec).route(page, window.end).records]
    return Estimate(_extrapolated(page.count, times, window), EstimateMethod.FIRST_PAGE)


def _asked_once(spec: SpecSnapshot) -> SpecSnapshot:
    """The snapshot for one try; where the total is stated, for one record."""
    retry = spec.retry.model_copy(update={"max_attempts": 1})
    size = 1 if spec.response.total_path else spec.paging.page_size
    paging = spec.paging.model_copy(update={"page_size": size})
    return spec.model_copy(update={"retry": retry, "pagination": paging})


def _extrapolated(count: int, times: list[datetime], window: Window) -> int:
    """A full page's records spread over the window as they are over the page; at least one page more."""
    span = max(times) - min(times) if times else timedelta(0)
    return min(MOST_CREDIBLE, max(2 * count, -(-count * window.length // span) if span else 0))
