"""ClinicalTrials.gov over the corpus: `/api/v2/studies`, `/api/v2/studies/{nctId}` and `/api/v2/version`."""

from dataclasses import replace
from functools import partial
from typing import Any

import orjson

from deployments.sandbox.clinicaltrials.catalogue import DAY_MS, Catalogue
from deployments.sandbox.clinicaltrials.expression import UPDATED
from deployments.sandbox.clinicaltrials.failure import NOT_FOUND, TOO_MANY, BadRequestError, no_study
from deployments.sandbox.clinicaltrials.fields import pick
from deployments.sandbox.clinicaltrials.grammar import updated_span
from deployments.sandbox.clinicaltrials.oracle import expected_record
from deployments.sandbox.clinicaltrials.query import Query, read_query
from deployments.sandbox.clinicaltrials.token import Key, Place, read_token, write_token
from deployments.sandbox.clock import SandboxClock
from deployments.sandbox.corpus import Corpus, Version
from deployments.sandbox.instant import to_datetime
from deployments.sandbox.provider import Reply, Request, Truth
from deployments.sandbox.settings import Behaviour

STUDIES = "/api/v2/studies"
JSON = {"content-type": "application/json", "access-control-allow-origin": "*", "server": "nginx"}


class ClinicalTrialsApi:
    """Answers as ClinicalTrials.gov does."""

    def __init__(self, corpus: Corpus, clock: SandboxClock, behaviour: Behaviour) -> None:
        self._corpus = corpus
        self._clock = clock
        self._catalogue = Catalogue(corpus)

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

    def touch(self, request: Request, works: int) -> None:
        """Update the first studies of the asked result, now."""
        try:
            found = self._search(read_query(request.query))
        except BadRequestError:
            return
        now_ms = self._clock.now_ms()
        for version in found[:works]:
            self._corpus.touch(version.work, now_ms)

    def truth(self, from_ms: int | None, to_ms: int | None) -> list[Truth]:
        """The studies visible now, by the day they are served with."""
        versions = self._corpus.window(_whole_day(from_ms), _whole_day(to_ms), self._clock.now_ms())
        return [self._truth(version) for version in versions]

    def expire_scrolls(self) -> int:
        """Nothing to end: a token holds all there is to know."""
        return 0

    def _truth(self, version: Version) -> Truth:
        reason = self._catalogue.template(version.work).reason
        return Truth(
            id=self._catalogue.key(version.work),
            updated_at_ms=version.at_ms // DAY_MS * DAY_MS,
            usable=reason is None,
            version=version.number,
            reason=reason,
            record=None if reason else partial(self._record, version),
        )

    def _record(self, version: Version) -> dict[str, Any]:
        return expected_record(self._catalogue.body(version))

    def _route(self, request: Request) -> Reply:
        if request.method not in {"GET", "HEAD"}:
            return Reply(405, b"Method Not Allowed", {"content-type": "text/plain;charset=utf-8"})
        if request.path == STUDIES:
            return self._list(read_query(request.query))
        if request.path == "/api/v2/version":
            stamp = to_datetime(self._clock.now_ms()).strftime("%Y-%m-%dT%H:%M:%S")
            return Reply(200, orjson.dumps({"apiVersion": "2.0.5", "dataTimestamp": stamp}))
        nct_id = request.path.removeprefix(f"{STUDIES}/")
        return self._detail(nct_id) if nct_id != request.path else NOT_FOUND

    def _detail(self, nct_id: str) -> Reply:
        work = self._catalogue.find(nct_id)
        version = None if work is None else self._corpus.current(work, self._clock.now_ms())
        if version is None:
            return no_study(nct_id)
        return Reply(200, orjson.dumps(self._catalogue.body(version)), ids=(nct_id,))

    def _list(self, query: Query) -> Reply:
        place = None if query.page_token is None else read_token(query.page_token, query.digest)
        found = self._search(query)
        rest = [v for v in found if place is None or self._key(query, v) > place.after]
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
        span = updated_span(query.where)
        versions = self._corpus.window(*span, self._clock.now_ms())
        found = [v for v in versions if query.where.fits(self._catalogue.subject(v))]
        return sorted(found, key=partial(self._key, query))

    def _key(self, query: Query, version: Version) -> Key:
        """The place of a study in a result; what is updated meanwhile does not move the others."""
        rank = self._catalogue.rank(version.work)
        if query.sort is None:
            return 0, rank, version.work
        ms = self._catalogue.subject(version).date_ms(query.sort or UPDATED)
        return -ms if query.descending else ms, rank, version.work


def _whole_day(ms: int | None) -> int | None:
    return None if ms is None else -(-ms // DAY_MS) * DAY_MS
