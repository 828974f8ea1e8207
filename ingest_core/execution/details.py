"""Two phases: a search lists ids, and the records are asked for in batches; a bad id spoils only itself."""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ingest_core.execution.decode import decode_detail
from ingest_core.execution.fetch import ANYWHERE, GARBLED, FetchedPage, Fetcher, Spot
from ingest_core.execution.page import DecodedPage
from ingest_core.execution.ports import Request, Response
from ingest_core.execution.request import Caller, render_detail
from ingest_core.execution.routing import Router, short_hash
from ingest_core.gate.taxonomy import UpstreamError
from ingest_core.model.codes import ErrorLevel, GoneReason
from ingest_core.model.record import BadId, Gone, Witnesses
from ingest_core.model.spec import DriftSpec

GONE_STATUSES = frozenset({404, 410})
TOO_MANY_GONE = 10
"""Without another stored record to ask for, this number of ids not found is taken for an outage."""

NO_ANSWER = Response("", 0, {}, b"", 0.0)


NO_BAD_IDS: Mapping[str, BadId] = MappingProxyType({})


def fetch_whole(
    fetcher: Fetcher,
    router: Router,
    request: Request,
    caller: Caller,
    at: Spot = ANYWHERE,
    *,
    bad_ids: Callable[[list[str]], Mapping[str, BadId]] = lambda _ids: NO_BAD_IDS,
    known: Container[bytes] = frozenset(),
) -> FetchedPage:
    """The page, with the records behind its ids where the source has two phases.

    Records whose id's short hash is `known` came in the pass before, and are not asked for again.
    """
    found = fetcher.fetch(request, at, probe_tail=True)
    if fetcher.spec.detail is None:
        return found
    ids = router.listed_ids(found.page, fetcher.spec.response.id_path)
    named, gone = router.split_hits(found.page, ids)
    bad = bad_ids(named) if named else NO_BAD_IDS
    left_out = {one: entry.why for one, entry in bad.items() if entry.hopeless}
    repeated = frozenset(one for one in named if short_hash(one) in known)
    wanted = [one for one in named if one not in left_out and one not in repeated]
    details = fetch_details(fetcher, wanted, caller, bad)
    page = replace(
        found.page,
        items=details.items,
        raw=details.raw,
        declarations=details.declarations,
        long_numbers=details.long_numbers,
        listed=ids,
        hits=found.page.raw,
        failed=details.failed | left_out,
        repeated=repeated,
        gone=gone,
    )
    return replace(found, page=page, details=details.evidence)


class Details:
    """The records that came, and the ids whose would not."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.raw: list[str] = []
        self.declarations: list[str] = []
        self.long_numbers = False
        self.failed: dict[str, str] = {}
        self.not_found: list[str] = []
        self.evidence: list[dict[str, object]] = []
        self.last: Response | None = None

    def add(self, asked: int, fetched: FetchedPage) -> None:
        """Take an answer's records."""
        page: DecodedPage = fetched.page
        self.last = fetched.response
        self.items += page.items
        self.raw += page.raw
        self.declarations += page.declarations
        self.long_numbers = self.long_numbers or page.long_numbers
        self.evidence.append({"asked": asked, "came": len(page.items), "bytes": len(fetched.response.body)})

    def hopeless(self, bad: Mapping[str, BadId], drift: DriftSpec) -> bool:
        """Whether too many ids failed, so that the page is refused: the ids are not at fault."""
        news = sum(one not in bad for one in self.failed)
        return drift.is_drift(news, news + len(self.items))

    def as_page(self, ids: list[str]) -> FetchedPage:
        """The records as a page of their own, for a refresh by id."""
        page = DecodedPage(
            self.items,
            self.raw,
            None,
            None,
            None,
            self.long_numbers,
            listed=ids,
            failed=self.failed,
            declarations=self.declarations,
            gone=[Gone(one, None, GoneReason.NOT_FOUND) for one in self.not_found],
        )
        return FetchedPage(page, self.last or NO_ANSWER, details=self.evidence)


def fetch_listed(
    fetcher: Fetcher,
    ids: Sequence[str],
    offset: int,
    caller: Caller,
    bad_ids: Callable[[list[str]], Mapping[str, BadId]] = lambda _ids: NO_BAD_IDS,
    witnesses: Callable[[list[str]], Witnesses] = lambda _ids: Witnesses(),
) -> FetchedPage:
    """The records of the next ids of a list, as a page of it; none is left out.

    Where no record came and stored ones are not found, `witnesses` tell whether the provider finds any record at all.
    """
    size = fetcher.spec.paging.page_size
    wanted = list(ids[offset : offset + size])
    found = fetch_details(fetcher, wanted, caller, bad_ids(wanted), by_id=True)
    if found.not_found and not found.items:
        known = witnesses(found.not_found)
        proven = not known.at_stake
        for one in known.others:
            proven = proven or bool(fetch_details(fetcher, [one], caller, by_id=True).items)
        if not proven:
            _refuse_all_gone(known)
    page = found.as_page(wanted)
    return replace(page, page=replace(page.page, step=len(wanted), has_more=offset + size < len(ids)))


def _refuse_all_gone(known: Witnesses) -> None:
    """Raise where the provider found no record that must exist: an outage or a wrong path deletes nothing."""
    if known.others or known.at_stake >= TOO_MANY_GONE:
        also = f", and for {', '.join(known.others)}, updated last," if known.others else ""
        message = (
            f"the provider answered 404 or 410 for all {known.at_stake} stored records of a page{also} and gave none; "
            "none was marked GONE. Correct the endpoint's path, or wait until the provider is well, and resume"
        )
        raise UpstreamError("ALL_GONE", message, moved=False, in_detail=True)


def fetch_details(
    fetcher: Fetcher, ids: list[str], caller: Caller, bad: Mapping[str, BadId] = NO_BAD_IDS, *, by_id: bool = False
) -> Details:
    """The records of these ids, those known to be bad alone and last; a refused batch is halved down to the bad id.

    With `by_id`, an id that is not found when it is asked for alone is gone, not bad.
    """
    detail = fetcher.spec.detail
    assert detail is not None
    found = Details()
    size = detail.id_batch_size
    good = [one for one in ids if one not in bad]
    pending = [good[at : at + size] for at in range(0, len(good), size)] + [[one] for one in ids if one in bad]
    while pending:
        batch = pending.pop(0)
        try:
            answer = fetcher.ask(
                render_detail(fetcher.spec, batch, caller),
                lambda body: decode_detail(body, fetcher.spec),
                detail.response,
                repeatable=True,
                detail=True,
            )
        except UpstreamError as error:
            error.in_detail = True
            # An answer that stays unreadable is halved too: one record may spoil the text of all.
            if (error.level != ErrorLevel.L2 and error.code not in GARBLED) or found.hopeless(bad, fetcher.spec.drift):
                raise
            if len(batch) == 1 and by_id and error.status in GONE_STATUSES:
                found.not_found += batch
            elif len(batch) == 1:
                found.failed[batch[0]] = str(error)
            else:
                middle = len(batch) // 2
                pending[:0] = [batch[:middle], batch[middle:]]
        else:
            found.add(len(batch), answer)
            # A 404 that `response.empty` reads as an answer without records says the same of a single id.
            if by_id and len(batch) == 1 and answer.response.status in GONE_STATUSES and not answer.page.items:
                found.not_found += batch
    return found
