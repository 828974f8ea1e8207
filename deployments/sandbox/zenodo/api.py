"""The Zenodo API over the corpus: `/api/records` and `/api/records/{id}`."""

from dataclasses import replace
from typing import Any

import orjson

from deployments.sandbox.corpus import Version
from deployments.sandbox.logic import span_of
from deployments.sandbox.present import Present
from deployments.sandbox.provider import Reply, Request, Truth, tell
from deployments.sandbox.settings import Behaviour
from deployments.sandbox.zenodo.catalogue import Catalogue, template_of
from deployments.sandbox.zenodo.concept import is_latest, work_of
from deployments.sandbox.zenodo.envelope import base_url, envelope
from deployments.sandbox.zenodo.failure import JSON, NO_ROUTE, NOT_ALLOWED, NOT_FOUND, RefusedError, error
from deployments.sandbox.zenodo.oracle import common_record
from deployments.sandbox.zenodo.query import MOST_REACHED, NEWEST, Query, read_query
from deployments.sandbox.zenodo.quota import Quota

RECORDS = "/api/records"


class ZenodoApi:
    """Answers as Zenodo does."""

    def __init__(self, present: Present, behaviour: Behaviour) -> None:
        self._present = present
        self._catalogue = Catalogue(present.corpus)
        self._quota = Quota(present.clock, behaviour)
        self._reach = behaviour.reachable(MOST_REACHED)

    def answer(self, request: Request) -> Reply:
        """What Zenodo would answer."""
        self._quota.count()
        try:
            reply = self._route(request)
        except RefusedError as refusal:
            reply = refusal.reply()
        return replace(reply, headers={**JSON, **reply.headers, **self._quota.headers()})

    def refuse(self) -> Reply:
        """The 429 says what the limit is and, as a time, when it begins anew."""
        reply = error(429, self._quota.wording)
        return replace(reply, headers={**reply.headers, **self._quota.headers(), "x-ratelimit-remaining": "0"})

    def asked(self, request: Request) -> list[Version]:
        """Every version the request finds now, in its order."""
        return self._search(self._read(request))

    def truth(self, from_ms: int | None, to_ms: int | None) -> list[Truth]:
        """The records visible now, all versions of an upload among them, by the update time they are served with."""
        return [self._true(version) for version in self._present.window(from_ms, to_ms)]

    def expire_scrolls(self) -> int:
        """Pages have numbers: there is no scroll to end."""
        return 0

    def _true(self, version: Version) -> Truth:
        reason = template_of(version.work).reason
        return tell(version, self._catalogue.key(version.work), reason, self._record)

    def _record(self, version: Version) -> dict[str, Any]:
        return common_record(self._catalogue.body(version, self._present.now_ms(), ""))

    def _route(self, request: Request) -> Reply:
        if request.method not in {"GET", "HEAD"}:
            return NOT_ALLOWED
        if request.path.rstrip("/") == RECORDS:
            return self._list(request, self._read(request))
        number = request.path.removeprefix(f"{RECORDS}/")
        return self._detail(request, number) if number != request.path else NO_ROUTE

    def _read(self, request: Request) -> Query:
        return read_query(request.query, identified=_identified(request), reach=self._reach)

    def _detail(self, request: Request, number: str) -> Reply:
        work = work_of(int(number), self._present.corpus) if number.isascii() and number.isdecimal() else None
        version = self._present.current(work)
        if version is None:
            return NOT_FOUND
        return Reply(
            200, orjson.dumps(self._catalogue.body(version, self._present.now_ms(), base_url(request))), ids=(number,)
        )

    def _list(self, request: Request, query: Query) -> Reply:
        hits, now_ms, base = self._search(query), self._present.now_ms(), base_url(request)
        page = hits[query.offset : query.offset + query.size]
        records = [self._catalogue.body(version, now_ms, base) for version in page]
        document = envelope(request, query, records, len(hits))
        ids = tuple(self._catalogue.key(version.work) for version in page)
        return Reply(200, orjson.dumps(document), ids=ids, page=query.page - 1)

    def _search(self, query: Query) -> list[Version]:
        """Every version the query finds now, in its order; of an upload only the latest unless all are asked for."""
        span, now_ms = span_of(query.clause, "updated"), self._present.now_ms()
        hits = [
            version
            for version in self._present.window(span.from_ms, span.to_ms)
            if (query.all_versions or is_latest(version.work, self._present.corpus, now_ms))
            and query.clause.fits(self._catalogue.document(version))
        ]
        return self._sorted(query.sort, hits)

    def _sorted(self, sort: str, hits: list[Version]) -> list[Version]:
        name, turned = sort.removeprefix("-"), sort.startswith("-")
        if name not in NEWEST | {"oldest"}:
            return sorted(hits, key=self._catalogue.rank, reverse=turned)
        return sorted(hits, key=self._made, reverse=(name in NEWEST) != turned)

    def _made(self, version: Version) -> tuple[int, int]:
        return self._catalogue.created_ms(version.work), version.work


def _identified(request: Request) -> bool:
    """True for a client that shows a token; which one does not matter here."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return bool(request.query.get("access_token") or (scheme.lower() == "bearer" and token.strip()))
