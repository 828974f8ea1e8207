"""The Crossref API over the corpus: `/works` and `/works/{doi}`."""

import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson

from deployments.sandbox.clock import SandboxClock
from deployments.sandbox.corpus import Corpus, Version
from deployments.sandbox.crossref.catalogue import Catalogue
from deployments.sandbox.crossref.expected import expected_record
from deployments.sandbox.crossref.failure import NOT_FOUND, ValidationFailureError, cursor_invalid
from deployments.sandbox.crossref.pool import pool_headers
from deployments.sandbox.crossref.query import Query, read_query
from deployments.sandbox.crossref.scroll import Page, ScrollBook
from deployments.sandbox.crossref.selects import pick
from deployments.sandbox.page import error_page
from deployments.sandbox.provider import Reply, Request, Truth
from deployments.sandbox.settings import Behaviour

SECOND_MS = 1000


class CrossrefApi:
    """Answers as Crossref does."""

    def __init__(self, corpus: Corpus, clock: SandboxClock, behaviour: Behaviour) -> None:
        self._corpus = corpus
        self._clock = clock
        self._behaviour = behaviour
        self._catalogue = Catalogue(corpus)
        # Cursors of an earlier run must not fit this one's scrolls.
        self._scrolls = ScrollBook(clock, behaviour, nonce=secrets.token_bytes(16))

    def answer(self, request: Request) -> Reply:
        """What Crossref would answer, its scroll moved on."""
        try:
            reply = self._route(request)
        except ValidationFailureError as failure:
            reply = failure.reply()
        headers = pool_headers(request, self._behaviour.rate_limit_per_second)
        return replace(reply, headers={**headers, **reply.headers})

    def refuse(self) -> Reply:
        """The 429 of the real one: HTML, without Retry-After."""
        return error_page(429)

    def touch(self, request: Request, works: int) -> None:
        """Index the first works of the asked result anew, now."""
        try:
            query = read_query(request.query)
        except ValidationFailureError:
            return
        opened = self._scrolls.peek(query.cursor) if query.cursor else None
        now_ms = self._clock.now_ms()
        for version in self._search(opened or query)[:works]:
            self._corpus.touch(version.work, now_ms)

    def truth(self, from_ms: int | None, to_ms: int | None) -> list[Truth]:
        """The works visible now, by the index time they are served with, which has no fraction."""
        versions = self._corpus.window(_whole_second(from_ms), _whole_second(to_ms), self._clock.now_ms())
        return [self._true(version) for version in versions]

    def expire_scrolls(self) -> int:
        """End every open scroll; the number ended."""
        return self._scrolls.expire()

    def _true(self, version: Version) -> Truth:
        usable = self._catalogue.template(version.work).dated
        return Truth(
            id=self._catalogue.key(version.work),
            updated_at_ms=version.at_ms // SECOND_MS * SECOND_MS,
            usable=usable,
            version=version.number,
            reason=None if usable else "UPDATED_AT_MISSING",
            record=self._record(version) if usable else None,
        )

    def _record(self, version: Version) -> Callable[[], dict[str, Any]]:
        return lambda: expected_record(self._catalogue.body(version))

    def _route(self, request: Request) -> Reply:
        if request.method not in {"GET", "HEAD"}:
            return Reply(405, b"Method not allowed.", {"content-type": "text/plain;charset=utf-8"})
        if request.path.rstrip("/") == "/works":
            return self._list(read_query(request.query))
        doi = request.path.removeprefix("/works/")
        return self._detail(doi) if doi != request.path else NOT_FOUND

    def _detail(self, doi: str) -> Reply:
        work = self._catalogue.find(doi)
        version = None if work is None else self._corpus.current(work, self._clock.now_ms())
        if version is None:
            return NOT_FOUND
        message = {**self._catalogue.body(version), "score": 1}
        envelope = {"status": "ok", "message-type": "work", "message-version": "1.0.0", "message": message}
        return Reply(200, orjson.dumps(envelope), ids=(self._catalogue.key(version.work),))

    def _list(self, query: Query) -> Reply:
        if query.cursor is None:
            hits = self._search(query)
            return self._render(query, hits[query.offset : query.offset + query.rows], len(hits), None)
        page = (
            self._scrolls.open(query, self._search(query)) if query.cursor == "*" else self._scrolls.read(query.cursor)
        )
        if page is None:
            return cursor_invalid(query.cursor)
        return self._render(query, page.hits, len(page.scroll.hits), page)

    def _search(self, query: Query) -> list[Version]:
        """Every version the query finds now, in its order."""
        span = query.filters.indexed
        hits = [v for v in self._corpus.window(span.from_ms, span.to_ms, self._clock.now_ms()) if self._fits(v, query)]
        if query.by_time:
            return hits if query.ascending else hits[::-1]
        return sorted(hits, key=self._catalogue.rank)

    def _fits(self, version: Version, query: Query) -> bool:
        template = self._catalogue.template(version.work)
        return (
            query.filters.fit(template)
            and (not query.filters.dois or self._catalogue.key(version.work) in query.filters.dois)
            and (not query.terms or query.terms.lower() in template.title)
        )

    def _render(self, query: Query, hits: list[Version], total: int, page: Page | None) -> Reply:
        message: dict[str, Any] = {
            "facets": {},
            **({"next-cursor": page.cursor} if page else {}),
            "total-results": total,
            "items": [pick(self._catalogue.body(version), query.select) for version in hits],
            "items-per-page": query.rows,
            "query": {"start-index": query.offset, "search-terms": query.terms},
        }
        envelope = {"status": "ok", "message-type": "work-list", "message-version": "1.0.0", "message": message}
        return Reply(
            status=200,
            body=orjson.dumps(envelope),
            ids=tuple(self._catalogue.key(version.work) for version in hits),
            page=page.number if page else None,
            scroll=page.scroll.no if page else None,
        )


def _whole_second(ms: int | None) -> int | None:
    return None if ms is None else -(-ms // SECOND_MS) * SECOND_MS
