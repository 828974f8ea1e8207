"""Two phases: a search lists ids, and the records are asked for in batches; a bad id spoils only itself."""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ingest_core.execution.decode import DecodedPage, decode_detail
from ingest_core.execution.fetch import ANYWHERE, FetchedPage, Fetcher, Spot
from ingest_core.execution.ports import Request, Response
from ingest_core.execution.request import Caller, render_detail
from ingest_core.execution.routing import Router, short_hash, too_many_unusable
from ingest_core.gate.taxonomy import UpstreamError
from ingest_core.model.codes import ErrorLevel
from ingest_core.model.record import BadId

_GARBLED = frozenset({"NOT_JSON", "NOT_XML"})
"""Answers that stayed unreadable however often they were asked for: one record may spoil the text of all."""

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
    found = fetcher.fetch_to_next(request, at)
    if fetcher.spec.detail is None:
        return found
    ids = router.listed_ids(found.page, fetcher.spec.response.id_path)
    named = list(filter(None, dict.fromkeys(ids)))
    bad = bad_ids(named) if named else NO_BAD_IDS
    left_out = {one: known.why for one, known in bad.items() if known.hopeless}
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
        failed=details.failed | left_out,
        repeated=repeated,
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

    def hopeless(self, bad: Mapping[str, BadId]) -> bool:
        """Whether so many ids failed that the page is refused anyway: it is not the ids' fault."""
        news = sum(one not in bad for one in self.failed)
        return too_many_unusable(news, news + len(self.items))

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
        )
        return FetchedPage(page, self.last or NO_ANSWER, details=self.evidence)


def fetch_listed(
    fetcher: Fetcher,
    ids: Sequence[str],
    offset: int,
    caller: Caller,
    bad_ids: Callable[[list[str]], Mapping[str, BadId]] = lambda _ids: NO_BAD_IDS,
) -> FetchedPage:
    """The records of the next ids of a list, as a page of it; none is left out, for somebody wants them all."""
    size = fetcher.spec.paging.page_size
    wanted = list(ids[offset : offset + size])
    found = fetch_details(fetcher, wanted, caller, bad_ids(wanted)).as_page(wanted)
    return replace(found, page=replace(found.page, step=len(wanted), has_more=offset + size < len(ids)))


def fetch_details(fetcher: Fetcher, ids: list[str], caller: Caller, bad: Mapping[str, BadId] = NO_BAD_IDS) -> Details:
    """The records of these ids, those known to be bad alone and last; a refused batch is halved down to the bad id."""
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
                rate=fetcher.detail_rate or detail.rate,
            )
        except UpstreamError as error:
            error.in_detail = True
            if (error.level != ErrorLevel.L2 and error.code not in _GARBLED) or found.hopeless(bad):
                raise
            if len(batch) == 1:
                found.failed[batch[0]] = str(error)
            else:
                middle = len(batch) // 2
                pending[:0] = [batch[:middle], batch[middle:]]
        else:
            found.add(len(batch), answer)
    return found
