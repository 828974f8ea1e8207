"""The DOAJ API over the corpus: `/api/search/articles/{query}` and `/api/articles/{id}`."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson

from deployments.sandbox.corpus import Version
from deployments.sandbox.doaj.catalogue import Catalogue
from deployments.sandbox.doaj.envelope import base_url, envelope, page_headers
from deployments.sandbox.doaj.failure import BadRequestError, not_found
from deployments.sandbox.doaj.oracle import common_record
from deployments.sandbox.doaj.query import MOST_REACHED, Query, read_query
from deployments.sandbox.doaj.template import TEMPLATES
from deployments.sandbox.instant import SECOND_MS, round_down
from deployments.sandbox.logic import span_of
from deployments.sandbox.page import error_page
from deployments.sandbox.present import Present
from deployments.sandbox.provider import Reply, Request, Truth, tell
from deployments.sandbox.settings import Behaviour

HEADERS = {"content-type": "application/json", "access-control-allow-origin": "*", "server": "cloudflare"}
SEARCH = re.compile(r"/api(?:/v[1-4])?/search/articles/(?P<query>.+)", re.DOTALL)
ARTICLE = re.compile(r"/api(?:/v[1-4])?/articles/(?P<id>[0-9a-f]{32})")


class DoajApi:
    """Answers as DOAJ does."""

    def __init__(self, present: Present, behaviour: Behaviour) -> None:
        self._present = present
        self._catalogue = Catalogue(present.corpus)
        self._reach = behaviour.reachable(MOST_REACHED)

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

    def asked(self, request: Request) -> list[Version]:
        """Every version the request finds now, in its order."""
        query = self._query(request)
        return self._search(query) if query else []

    def truth(self, from_ms: int | None, to_ms: int | None) -> list[Truth]:
        """The articles visible now, by the update time they are served with, which has no fraction."""
        return [self._true(version) for version in self._present.window(from_ms, to_ms, SECOND_MS)]

    def expire_scrolls(self) -> int:
        """Pages have numbers: there is no scroll to end."""
        return 0

    def _true(self, version: Version) -> Truth:
        reason = TEMPLATES.of(version.work).reason
        return tell(version, self._catalogue.key(version.work), reason, self._record, SECOND_MS)

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
        return read_query(found["query"], request.query, base_url(request), self._reach) if found else None

    def _detail(self, request: Request, key: str) -> Reply:
        work = self._catalogue.find(key)
        version = self._present.current(work)
        if version is None:
            return not_found(request.path)
        return Reply(200, orjson.dumps(self._catalogue.body(version)), ids=(key,))

    def _list(self, request: Request, query: Query) -> Reply:
        hits = self._search(query)
        page = hits[query.offset : query.offset + query.page_size]
        results = [self._catalogue.body(version) for version in page]
        document = envelope(request, query, results, len(hits), self._present.now_ms())
        ids = tuple(self._catalogue.key(version.work) for version in page)
        return Reply(200, orjson.dumps(document), page_headers(document), ids=ids, page=query.page - 1)

    def _search(self, query: Query) -> list[Version]:
        """Every version the query finds now, in its order."""
        span = span_of(query.clause, "last_updated")
        found = self._present.window(span.from_ms, span.to_ms, SECOND_MS)
        hits = [version for version in found if query.clause.fits(self._catalogue.document(version))]
        field, _, direction = (query.sort or "").partition(":")
        return sorted(hits, key=self._order(field), reverse=direction == "desc")

    def _order(self, field: str) -> Callable[[Version], Any]:
        orders: dict[str, Callable[[Version], Any]] = {
            "last_updated": lambda version: (round_down(version.at_ms, SECOND_MS), version.work),
            "created_date": lambda version: (self._catalogue.created_ms(version.work), version.work),
            "title": self._title,
        }
        return orders.get(field, self._catalogue.rank)

    def _title(self, version: Version) -> tuple[str, int]:
        return TEMPLATES.of(version.work).record["bibjson"].get("title", ""), version.work
