"""The arXiv API over the corpus: `/api/query`."""

from functools import partial
from typing import Any

from deployments.sandbox.arxiv.catalogue import SECOND_MS, Catalogue
from deployments.sandbox.arxiv.failure import RATE_EXCEEDED, QueryError
from deployments.sandbox.arxiv.feed import write_error, write_feed
from deployments.sandbox.arxiv.grammar import updated_span
from deployments.sandbox.arxiv.hiccup import Hiccups
from deployments.sandbox.arxiv.oracle import expected_record
from deployments.sandbox.arxiv.query import Query, read_query
from deployments.sandbox.clock import SandboxClock
from deployments.sandbox.corpus import Corpus, Version
from deployments.sandbox.page import error_page
from deployments.sandbox.provider import Reply, Request, Truth
from deployments.sandbox.settings import Behaviour

HEADERS = {"content-type": "application/atom+xml; charset=utf-8", "access-control-allow-origin": "*"}


class ArxivApi:
    """Answers as arXiv does."""

    def __init__(self, corpus: Corpus, clock: SandboxClock, behaviour: Behaviour) -> None:
        self._corpus = corpus
        self._clock = clock
        self._catalogue = Catalogue(corpus)
        self._hiccups = Hiccups(corpus.seed)

    def answer(self, request: Request) -> Reply:
        """What arXiv would answer: a feed, even when it is about an error."""
        if request.path.rstrip("/") != "/api/query":
            return error_page(404)
        if request.method not in {"GET", "HEAD", "POST"}:
            return error_page(405)
        given = request.asked
        try:
            return self._list(given, read_query(given))
        except QueryError as failure:
            entry = write_error(str(failure), self._clock.now_ms())
            return Reply(failure.status, write_feed(given, [entry], 1, 0, 1, self._clock.now_ms()), HEADERS)

    def refuse(self) -> Reply:
        """The 429 of the real one: 14 bytes of plain text."""
        return RATE_EXCEEDED

    def touch(self, request: Request, works: int) -> None:
        """Replace the first papers of the asked result by new versions, now."""
        try:
            found = self._search(read_query(request.asked))
        except QueryError:
            return
        now_ms = self._clock.now_ms()
        for version in found[:works]:
            self._corpus.touch(version.work, now_ms)

    def truth(self, from_ms: int | None, to_ms: int | None) -> list[Truth]:
        """The papers visible now, by the second they are served with."""
        versions = self._corpus.window(_whole_second(from_ms), _whole_second(to_ms), self._clock.now_ms())
        return [self._truth(version) for version in versions]

    def expire_scrolls(self) -> int:
        """Nothing to end: the place in a result is in the request."""
        self._hiccups.forget()
        return 0

    def _truth(self, version: Version) -> Truth:
        reason = self._catalogue.template(version.work).reason
        return Truth(
            id=self._catalogue.key(version.work),
            updated_at_ms=version.at_ms // SECOND_MS * SECOND_MS,
            usable=reason is None,
            version=version.number,
            reason=reason,
            record=None if reason else partial(self._record, version),
        )

    def _record(self, version: Version) -> dict[str, Any]:
        return expected_record(self._catalogue.entry(version))

    def _list(self, given: dict[str, str], query: Query) -> Reply:
        found = self._search(query)
        hits = found[query.start : query.start + query.size]
        if hits and self._hiccups.strikes(f"{query.text}:{query.id_text}", query.start):
            hits = []
        entries = [self._catalogue.entry(version) for version in hits]
        body = write_feed(given, entries, len(found), query.start, query.size, self._clock.now_ms())
        ids = tuple(self._catalogue.key(version.work) for version in hits)
        return Reply(200, body, HEADERS, ids=ids, page=query.start // query.size if query.size else None)

    def _search(self, query: Query) -> list[Version]:
        """Every version the query finds now, in its order."""
        found = self._listed(query) if query.ids else self._corpus.window(*_bounds(query), self._clock.now_ms())
        if query.where is not None:
            found = [version for version in found if query.where.fits(self._catalogue.paper(version))]
        return sorted(found, key=partial(self._place, query))

    def _listed(self, query: Query) -> list[Version]:
        """The papers of `id_list`; an id that is not there is left out, and nothing is said."""
        works = {self._catalogue.find(bare_id) for _, bare_id in query.ids}
        now_ms = self._clock.now_ms()
        return [v for work in works if work is not None and (v := self._corpus.current(work, now_ms))]

    def _place(self, query: Query, version: Version) -> tuple[int, int]:
        rank = self._catalogue.rank(version.work)
        if query.sort == "relevance":
            return 0, rank
        ms = self._catalogue.paper(version).date_ms(query.sort)
        return ms if query.ascending else -ms, rank


def _bounds(query: Query) -> tuple[int | None, int | None]:
    return (None, None) if query.where is None else updated_span(query.where)


def _whole_second(ms: int | None) -> int | None:
    return None if ms is None else -(-ms // SECOND_MS) * SECOND_MS
