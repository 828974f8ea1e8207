"""The arXiv API over the corpus: `/api/query`."""

from functools import partial
from typing import Any

from deployments.sandbox.arxiv.catalogue import Catalogue
from deployments.sandbox.arxiv.condition import UPDATED
from deployments.sandbox.arxiv.failure import RATE_EXCEEDED, QueryError
from deployments.sandbox.arxiv.feed import write_error, write_feed
from deployments.sandbox.arxiv.hiccup import Hiccups
from deployments.sandbox.arxiv.oracle import expected_record
from deployments.sandbox.arxiv.query import REACHABLE, Query, read_query
from deployments.sandbox.arxiv.template import TEMPLATES
from deployments.sandbox.corpus import Version
from deployments.sandbox.instant import SECOND_MS
from deployments.sandbox.logic import span_of
from deployments.sandbox.page import error_page
from deployments.sandbox.present import Present
from deployments.sandbox.provider import Reply, Request, Truth, tell
from deployments.sandbox.settings import Behaviour

HEADERS = {"content-type": "application/atom+xml; charset=utf-8", "access-control-allow-origin": "*"}


class ArxivApi:
    """Answers as arXiv does."""

    def __init__(self, present: Present, behaviour: Behaviour) -> None:
        self._present = present
        self._catalogue = Catalogue(present.corpus)
        self._reach = behaviour.reachable(REACHABLE)
        self._hiccups = Hiccups(present.corpus.seed)

    def answer(self, request: Request) -> Reply:
        """What arXiv would answer: a feed, even when it is about an error."""
        if request.path.rstrip("/") != "/api/query":
            return error_page(404)
        if request.method not in {"GET", "HEAD", "POST"}:
            return error_page(405)
        given = request.asked
        try:
            return self._list(given, read_query(given, self._reach))
        except QueryError as failure:
            entry = write_error(str(failure), self._present.now_ms())
            return Reply(failure.status, write_feed(given, [entry], 1, 0, 1, self._present.now_ms()), HEADERS)

    def refuse(self) -> Reply:
        """The 429 of the real one: 14 bytes of plain text."""
        return RATE_EXCEEDED

    def asked(self, request: Request) -> list[Version]:
        """Every version the request finds now, in its order."""
        return self._search(read_query(request.asked, self._reach))

    def truth(self, from_ms: int | None, to_ms: int | None) -> list[Truth]:
        """The papers visible now, by the second they are served with."""
        return [self._true(version) for version in self._present.window(from_ms, to_ms, SECOND_MS)]

    def expire_scrolls(self) -> int:
        """Nothing to end: the place in a result is in the request."""
        self._hiccups.forget()
        return 0

    def _true(self, version: Version) -> Truth:
        reason = TEMPLATES.of(version.work).reason
        return tell(version, self._catalogue.key(version.work), reason, None if reason else self._record, SECOND_MS)

    def _record(self, version: Version) -> dict[str, Any]:
        return expected_record(self._catalogue.entry(version))

    def _list(self, given: dict[str, str], query: Query) -> Reply:
        found = self._search(query)
        hits = found[query.start : query.start + query.size]
        if hits and self._hiccups.strikes(f"{query.text}:{query.id_text}", query.start):
            hits = []
        entries = [self._catalogue.entry(version) for version in hits]
        body = write_feed(given, entries, len(found), query.start, query.size, self._present.now_ms())
        ids = tuple(self._catalogue.key(version.work) for version in hits)
        return Reply(200, body, HEADERS, ids=ids, page=query.start // query.size if query.size else None)

    def _search(self, query: Query) -> list[Version]:
        """Every version the query finds now, in its order."""
        span = span_of(query.where, UPDATED)
        found = self._listed(query) if query.ids else self._present.window(span.from_ms, span.to_ms)
        if query.where is not None:
            found = [version for version in found if query.where.fits(self._catalogue.paper(version))]
        return sorted(found, key=partial(self._place, query))

    def _listed(self, query: Query) -> list[Version]:
        """The papers of `id_list`; an id that is not there is left out, and nothing is said."""
        works = {self._catalogue.find(bare_id) for _, bare_id in query.ids}
        return [version for work in works if (version := self._present.current(work))]

    def _place(self, query: Query, version: Version) -> tuple[int, int]:
        rank = self._catalogue.rank(version.work)
        if query.sort == "relevance":
            return 0, rank
        ms = self._catalogue.paper(version).date_ms(query.sort)
        return ms if query.ascending else -ms, rank
