"""The DOAJ API over the corpus: `/api/search/articles/{query}` and `/api/articles/{id}`."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import orjson

from deployments.sandbox.clock import SandboxClock
from deployments.sandbox.corpus import Corpus, Version
from deployments.sandbox.doaj.catalogue import SECOND_MS, Catalogue, served_ms
from deployments.sandbox.doaj.envelope import base_url, envelope, page_headers
from deployments.sandbox.doaj.failure import BadRequestError, not_found
from deployments.sandbox.doaj.oracle import common_record
from deployments.sandbox.doaj.query import Query, read_query
from deployments.sandbox.page import error_page
from deployments.sandbox.provider import Reply, Request, Truth
from deployments.sandbox.settings import Behaviour

HEADERS = {"content-type": "application/json", "access-control-allow-origin": "*", "server": "cloudflare"}
SEARCH = re.compile(r"/api(?:/v[1-4])?/search/articles/(?P<query>.+)", re.DOTALL)
ARTICLE = re.compile(r"/api(?:/v[1-4])?/articles/(?P<id>[0-9a-f]{32})")


class DoajApi:
    """Answers as DOAJ does."""

    def __init__(self, corpus: Corpus, clock: SandboxClock, behaviour: Behaviour) -> None:
        self._corpus = corpus
        self._clock = clock
        self._catalogue = Catalogue(corpus)

    def answer(self, request: Request) -> Reply:
        """What DOAJ would answer."""
        try:
            reply = self._route(request)
        except BadRequestError as refusal:
            reply = refusal.reply()
        return replace(reply, headers={**HEADERS, **reply.headers})

    def refuse(self) -> Reply:
        """The proxy's page, which is HTML and does not say how long to wait."""
        return error_page(429)

    def touch(self, request: Request, works: int) -> None:
        """Update the first articles of the asked result, now."""
        try:
            query = self._query(request)
        except BadRequestError:
            return
        now_ms = self._clock.now_ms()
        for version in self._search(query)[:works] if query else ():
            self._corpus.touch(version.work, now_ms)

    def truth(self, from_ms: int | None, to_ms: int | None) -> list[Truth]:
        """The articles visible now, by the update time they are served with, which has no fraction."""
        versions = self._corpus.window(_whole_second(from_ms), _whole_second(to_ms), self._clock.now_ms())
        return [self._true(version) for version in versions]

    def expire_scrolls(self) -> int:
        """Pages have numbers: there is no scroll to end."""
        return 0

    def _true(self, version: Version) -> Truth:
        flaw = self._catalogue.template(version.work).flaw
        return Truth(
            id=self._catalogue.key(version.work),
            updated_at_ms=served_ms(version),
            usable=flaw is None,
            version=version.number,
            reason=flaw,
            record=partial(self._record, version),
        )

    def _record(self, version: Version) -> dict[str, Any]:
        return common_record(self._catalogue.body(version))

    def _route(self, request: Request) -> Reply:
        article = ARTICLE.fullmatch(request.path)
        if article:
            return self._detail(request, article["id"])
        query = self._query(request) if request.method in {"GET", "HEAD"} else None
        return self._list(request, query) if query else not_found(request.path)

    def _query(self, request: Request) -> Query | None:
        """The search asked for, if it is one."""
        found = SEARCH.fullmatch(request.path)
        return read_query(found["query"], request.query, base_url(request)) if found else None

    def _detail(self, request: Request, key: str) -> Reply:
        work = self._catalogue.find(key)
        version = None if work is None else self._corpus.current(work, self._clock.now_ms())
        if version is None:
            return not_found(request.path)
        return Reply(200, orjson.dumps(self._catalogue.body(version)), ids=(key,))

    def _list(self, request: Request, query: Query) -> Reply:
        hits = self._search(query)
        page = hits[query.offset : query.offset + query.page_size]
        results = [self._catalogue.body(version) for version in page]
        document = envelope(request, query, results, len(hits), self._clock.now_ms())
        ids = tuple(self._catalogue.key(version.work) for version in page)
        return Reply(200, orjson.dumps(document), page_headers(document), ids=ids, page=query.page - 1)

    def _search(self, query: Query) -> list[Version]:
        """Every version the query finds now, in its order."""
        span = query.clause.span("last_updated")
        found = self._corpus.window(_whole_second(span.from_ms), _whole_second(span.to_ms), self._clock.now_ms())
        hits = [version for version in found if query.clause.holds(self._catalogue.document(version))]
        field, _, direction = (query.sort or "").partition(":")
        return sorted(hits, key=self._order(field), reverse=direction == "desc")

    def _order(self, field: str) -> Callable[[Version], Any]:
        orders: dict[str, Callable[[Version], Any]] = {
            "last_updated": lambda version: (served_ms(version), version.work),
            "created_date": lambda version: (self._catalogue.created_ms(version.work), version.work),
            "title": self._title,
        }
        return orders.get(field, self._catalogue.rank)

    def _title(self, version: Version) -> tuple[str, int]:
        return self._catalogue.template(version.work).record["bibjson"].get("title", ""), version.work


def _whole_second(ms: int | None) -> int | None:
    return None if ms is None else -(-ms // SECOND_MS) * SECOND_MS
