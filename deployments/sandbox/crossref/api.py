"""The Crossref API over the corpus: `/works` and `/works/{doi}`."""

import secrets
from dataclasses import replace
from typing import Any

import orjson

from deployments.sandbox.corpus import Version
from deployments.sandbox.crossref.catalogue import Catalogue
from deployments.sandbox.crossref.expected import expected_record
from deployments.sandbox.crossref.failure import NOT_FOUND, ValidationFailureError, cursor_invalid
from deployments.sandbox.crossref.pool import pool_headers
from deployments.sandbox.crossref.query import MOST_OFFSET, Query, read_query
from deployments.sandbox.crossref.scroll import Page, ScrollBook
from deployments.sandbox.crossref.selects import pick
from deployments.sandbox.crossref.shelf import PageShelf, Written
from deployments.sandbox.crossref.template import TEMPLATES
from deployments.sandbox.instant import SECOND_MS
from deployments.sandbox.page import error_page
from deployments.sandbox.present import Present
from deployments.sandbox.provider import Reply, Request, Truth, tell
from deployments.sandbox.settings import Behaviour


class CrossrefApi:
    """Answers as Crossref does."""

    def __init__(self, present: Present, behaviour: Behaviour) -> None:
        self._present = present
        self._behaviour = behaviour
        self._catalogue = Catalogue(present.corpus)
        self._reach = behaviour.reachable(MOST_OFFSET)
        self._pages = PageShelf(behaviour.kept_pages)
        # Cursors of an earlier run must not fit this one's scrolls.
        self._scrolls = ScrollBook(present.clock, behaviour, nonce=secrets.token_bytes(16))

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

    def asked(self, request: Request) -> list[Version]:
        """Every version the request finds now, in its order."""
        query = read_query(request.query, self._reach)
        opened = self._scrolls.peek(query.cursor) if query.cursor else None
        return self._search(opened or query)

    def truth(self, from_ms: int | None, to_ms: int | None) -> list[Truth]:
        """The works visible now, by the index time they are served with, which has no fraction."""
        return [self._true(version) for version in self._present.window(from_ms, to_ms, SECOND_MS)]

    def expire_scrolls(self) -> int:
        """End every open scroll; the number ended."""
        return self._scrolls.expire()

    def _true(self, version: Version) -> Truth:
        reason = None if TEMPLATES.of(version.work).dated else "UPDATED_AT_MISSING"
        return tell(version, self._catalogue.key(version.work), reason, None if reason else self._record, SECOND_MS)

    def _record(self, version: Version) -> dict[str, Any]:
        return expected_record(self._catalogue.body(version))

    def _route(self, request: Request) -> Reply:
        if request.method not in {"GET", "HEAD"}:
            return Reply(405, b"Method not allowed.", {"content-type": "text/plain;charset=utf-8"})
        if request.path.rstrip("/") == "/works":
            return self._list(read_query(request.query, self._reach))
        doi = request.path.removeprefix("/works/")
        return self._detail(doi) if doi != request.path else NOT_FOUND

    def _detail(self, doi: str) -> Reply:
        work = self._catalogue.find(doi)
        version = self._present.current(work)
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
        hits = [v for v in self._present.window(span.from_ms, span.to_ms) if self._fits(v, query)]
        if query.by_time:
            return hits if query.ascending else hits[::-1]
        return sorted(hits, key=self._catalogue.rank)

    def _fits(self, version: Version, query: Query) -> bool:
        template = TEMPLATES.of(version.work)
        return (
            query.filters.fit(template)
            and (not query.filters.dois or self._catalogue.key(version.work) in query.filters.dois)
            and (not query.terms or query.terms.lower() in template.title)
        )

    def _write(self, query: Query, hits: list[Version]) -> Written:
        items = [pick(self._catalogue.body(version), query.select) for version in hits]
        return Written(orjson.dumps(items), tuple(self._catalogue.key(version.work) for version in hits))

    def _render(self, query: Query, hits: list[Version], total: int, page: Page | None) -> Reply:
        written = self._pages.get((query.select, *hits), lambda: self._write(query, hits))
        message: dict[str, Any] = {
            "facets": {},
            **({"next-cursor": page.cursor} if page else {}),
            "total-results": total,
            "items": orjson.Fragment(written.items),
            "items-per-page": query.rows,
            "query": {"start-index": query.offset, "search-terms": query.terms},
        }
        envelope = {"status": "ok", "message-type": "work-list", "message-version": "1.0.0", "message": message}
        return Reply(
            status=200,
            body=orjson.dumps(envelope),
            ids=written.ids,
            page=page.number if page else None,
            scroll=page.scroll.no if page else None,
        )
