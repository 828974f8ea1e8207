"""The DataCite API over the corpus: `/dois` and `/dois/{doi}`."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson

from deployments.sandbox.corpus import Version
from deployments.sandbox.datacite.catalogue import Catalogue
from deployments.sandbox.datacite.failure import JSON, NOT_ALLOWED, NOT_FOUND, SearchRefusedError, too_many
from deployments.sandbox.datacite.links import page_links, total_pages
from deployments.sandbox.datacite.oracle import common_record
from deployments.sandbox.datacite.query import MOST_REACHED, Query, read_query, write_cursor
from deployments.sandbox.datacite.template import TEMPLATES
from deployments.sandbox.instant import SECOND_MS, round_down
from deployments.sandbox.logic import span_of
from deployments.sandbox.present import Present, beyond
from deployments.sandbox.provider import Reply, Request, Truth, tell
from deployments.sandbox.settings import Behaviour

HEADERS = {
    **JSON,
    "cache-control": "max-age=0, private, must-revalidate",
    "vary": "Accept-Encoding, Origin",
    "x-anonymous-consumer": "true",
    "server": "nginx/1.14.0 + Phusion Passenger(R) 6.0.8",
}


class DataciteApi:
    """Answers as DataCite does."""

    def __init__(self, present: Present, behaviour: Behaviour) -> None:
        self._present = present
        self._catalogue = Catalogue(present.corpus)
        self._reach = behaviour.reachable(MOST_REACHED)

    def answer(self, request: Request) -> Reply:
        """What DataCite would answer."""
        try:
            reply = self._route(request)
        except SearchRefusedError as refusal:
            reply = refusal.reply()
        return replace(reply, headers={**HEADERS, **reply.headers})

    def refuse(self) -> Reply:
        """The answer to one request too many."""
        return too_many()

    def asked(self, request: Request) -> list[Version]:
        """Every version the request finds now, in its order."""
        return self._search(read_query(request.query, self._reach))

    def truth(self, from_ms: int | None, to_ms: int | None) -> list[Truth]:
        """The DOIs visible now, by the update time they are served with, which has no fraction."""
        return [self._true(version) for version in self._present.window(from_ms, to_ms, SECOND_MS)]

    def expire_scrolls(self) -> int:
        """A cursor is a place, not a scroll: there is none to end."""
        return 0

    def _true(self, version: Version) -> Truth:
        reason = TEMPLATES.of(version.work).reason
        return tell(version, self._catalogue.key(version.work), reason, self._record, SECOND_MS)

    def _record(self, version: Version) -> dict[str, Any]:
        return common_record(self._catalogue.body(version))

    def _route(self, request: Request) -> Reply:
        if request.method not in {"GET", "HEAD"}:
            return NOT_ALLOWED
        if request.path.rstrip("/") == "/dois":
            return self._list(request, read_query(request.query, self._reach))
        doi = request.path.removeprefix("/dois/")
        return self._detail(doi) if doi != request.path else NOT_FOUND

    def _detail(self, doi: str) -> Reply:
        work = self._catalogue.find(doi)
        version = self._present.current(work)
        if version is None:
            return NOT_FOUND
        return Reply(
            200, orjson.dumps({"data": self._catalogue.body(version)}), ids=(self._catalogue.key(version.work),)
        )

    def _list(self, request: Request, query: Query) -> Reply:
        hits = self._search(query)
        page = self._page(query, hits)
        cursor = write_cursor(self._catalogue.place(page[-1])) if query.by_cursor and page else None
        document = {
            "data": [self._catalogue.body(version) for version in page],
            "meta": _meta(request, query, len(hits)),
            "links": page_links(request, query, len(page), len(hits), cursor),
        }
        ids = tuple(self._catalogue.key(version.work) for version in page)
        return Reply(200, orjson.dumps(document), ids=ids, page=None if query.by_cursor else query.number - 1)

    def _page(self, query: Query, hits: list[Version]) -> list[Version]:
        if not query.by_cursor:
            return hits[query.offset : query.offset + query.size]
        return beyond(hits, query.after, self._catalogue.place)[: query.size]

    def _search(self, query: Query) -> list[Version]:
        """Every version the query finds now; by cursor in order of making, whatever `sort` says."""
        span = span_of(query.clause, "updated")
        found = self._present.window(span.from_ms, span.to_ms, SECOND_MS)
        hits = [version for version in found if query.clause.fits(self._catalogue.document(version))]
        return sorted(hits, key=self._catalogue.place) if query.by_cursor else self._sorted(query.sort, hits)

    def _sorted(self, sort: str, hits: list[Version]) -> list[Version]:
        keys: dict[str, Callable[[Version], Any]] = {
            "updated": lambda version: (round_down(version.at_ms, SECOND_MS), version.work),
            "created": self._catalogue.place,
            "name": lambda version: self._catalogue.key(version.work),
            "relevance": self._catalogue.rank,
        }
        return sorted(hits, key=keys[sort.removeprefix("-")], reverse=sort.startswith("-"))


def _meta(request: Request, query: Query, total: int) -> dict[str, Any]:
    meta: dict[str, Any] = {"total": total, "totalPages": total_pages(query, total)}
    if not query.by_cursor:
        meta["page"] = query.number
    if total and not request.query.get("disable-facets"):
        meta["states"] = [{"id": "findable", "title": "Findable", "count": total}]
    return meta
