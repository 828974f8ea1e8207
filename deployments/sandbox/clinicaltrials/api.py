"""ClinicalTrials.gov over the corpus: `/api/v2/studies`, `/api/v2/studies/{nctId}` and `/api/v2/version`."""

from dataclasses import replace
from functools import partial
from typing import Any

import orjson

from deployments.sandbox.clinicaltrials.catalogue import Catalogue
from deployments.sandbox.clinicaltrials.expression import UPDATED
from deployments.sandbox.clinicaltrials.failure import NOT_FOUND, TOO_MANY, BadRequestError, no_study
from deployments.sandbox.clinicaltrials.fields import pick
from deployments.sandbox.clinicaltrials.oracle import expected_record
from deployments.sandbox.clinicaltrials.query import Query, read_query
from deployments.sandbox.clinicaltrials.template import TEMPLATES
from deployments.sandbox.clinicaltrials.token import Key, Place, read_token, write_token
from deployments.sandbox.corpus import Version
from deployments.sandbox.instant import DAY_MS, to_datetime
from deployments.sandbox.logic import span_of
from deployments.sandbox.present import Present, beyond
from deployments.sandbox.provider import Reply, Request, Truth, tell
from deployments.sandbox.settings import Behaviour

STUDIES = "/api/v2/studies"
JSON = {"content-type": "application/json", "access-control-allow-origin": "*", "server": "nginx"}


class ClinicalTrialsApi:
    """Answers as ClinicalTrials.gov does."""

    def __init__(self, present: Present, behaviour: Behaviour) -> None:
        self._present = present
        self._catalogue = Catalogue(present.corpus)

    def answer(self, request: Request) -> Reply:
        """What ClinicalTrials.gov would answer."""
        try:
            reply = self._route(request)
        except BadRequestError as failure:
            reply = failure.reply()
        return replace(reply, headers={**JSON, **reply.headers})

    def refuse(self) -> Reply:
        """A 429 in plain text, without Retry-After."""
        return TOO_MANY

    def asked(self, request: Request) -> list[Version]:
        """Every version the request finds now, in its order."""
        return self._search(read_query(request.query))

    def truth(self, from_ms: int | None, to_ms: int | None) -> list[Truth]:
        """The studies visible now, by the day they are served with."""
        return [self._true(version) for version in self._present.window(from_ms, to_ms, DAY_MS)]

    def expire_scrolls(self) -> int:
        """Nothing to end: a token holds all there is to know."""
        return 0

    def _true(self, version: Version) -> Truth:
        reason = TEMPLATES.of(version.work).reason
        return tell(version, self._catalogue.key(version.work), reason, None if reason else self._record, DAY_MS)

    def _record(self, version: Version) -> dict[str, Any]:
        return expected_record(self._catalogue.body(version))

    def _route(self, request: Request) -> Reply:
        if request.method not in {"GET", "HEAD"}:
            return Reply(405, b"Method Not Allowed", {"content-type": "text/plain;charset=utf-8"})
        if request.path == STUDIES:
            return self._list(read_query(request.query))
        if request.path == "/api/v2/version":
            stamp = to_datetime(self._present.now_ms()).strftime("%Y-%m-%dT%H:%M:%S")
            return Reply(200, orjson.dumps({"apiVersion": "2.0.5", "dataTimestamp": stamp}))
        nct_id = request.path.removeprefix(f"{STUDIES}/")
        return self._detail(nct_id) if nct_id != request.path else NOT_FOUND

    def _detail(self, nct_id: str) -> Reply:
        work = self._catalogue.find(nct_id)
        version = self._present.current(work)
        if version is None:
            return no_study(nct_id)
        return Reply(200, orjson.dumps(self._catalogue.body(version)), ids=(nct_id,))

    def _list(self, query: Query) -> Reply:
        place = None if query.page_token is None else read_token(query.page_token, query.digest)
        found = self._search(query)
        rest = beyond(found, place.after if place else None, partial(self._key, query))
        hits, page = rest[: query.page_size], place.page if place else 0
        # As with the real one, a page that is full or empty has a token, whether or not anything follows.
        goes_on = len(hits) in {0, query.page_size}
        last = self._key(query, hits[-1]) if hits else place.after if place else (0, 0, 0)
        body = {
            **({"totalCount": len(found)} if query.count_total and place is None else {}),
            "studies": [pick(self._catalogue.body(version), query.fields) for version in hits],
            **({"nextPageToken": write_token(query.digest, Place(page + 1, last))} if goes_on else {}),
        }
        return Reply(200, orjson.dumps(body), ids=tuple(self._catalogue.key(v.work) for v in hits), page=page)

    def _search(self, query: Query) -> list[Version]:
        """Every version the query finds now, in its order."""
        span = span_of(query.where, UPDATED)
        versions = self._present.window(span.from_ms, span.to_ms)
        found = [v for v in versions if query.where.fits(self._catalogue.subject(v))]
        return sorted(found, key=partial(self._key, query))

    def _key(self, query: Query, version: Version) -> Key:
        """The place of a study in a result; what is updated meanwhile does not move the others."""
        rank = self._catalogue.rank(version.work)
        if query.sort is None:
            return 0, rank, version.work
        ms = self._catalogue.subject(version).date_ms(query.sort or UPDATED)
        return -ms if query.descending else ms, rank, version.work
