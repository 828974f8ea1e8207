"""The Semantic Scholar API over the corpus: papers by id, and the bulk search that lists them."""

from functools import partial
from typing import Any

import orjson

from deployments.sandbox.corpus import Version
from deployments.sandbox.present import Present, beyond
from deployments.sandbox.provider import Reply, Request, Truth, tell
from deployments.sandbox.semanticscholar.batch import read_ids
from deployments.sandbox.semanticscholar.catalogue import Catalogue
from deployments.sandbox.semanticscholar.expected import expected_record
from deployments.sandbox.semanticscholar.failure import FORBIDDEN, JSON, NO_ROUTE, TOO_MANY, RefusalError
from deployments.sandbox.semanticscholar.fields import read_fields
from deployments.sandbox.semanticscholar.query import Place, Query, read_query, write_token
from deployments.sandbox.semanticscholar.template import TEMPLATES
from deployments.sandbox.settings import Behaviour

ROOT = "/graph/v1/paper"
PAGE = 1000
OVERESTIMATE = 50
"""Of so many papers one more is counted than is there."""


class SemanticScholarApi:
    """Answers as Semantic Scholar does."""

    def __init__(self, present: Present, behaviour: Behaviour) -> None:
        self._present = present
        self._catalogue = Catalogue(present.corpus)

    def answer(self, request: Request) -> Reply:
        """What Semantic Scholar would answer; a key that begins with `invalid` is not known."""
        if request.headers.get("x-api-key", "").startswith("invalid"):
            return FORBIDDEN
        try:
            return self._route(request)
        except RefusalError as refusal:
            return refusal.reply()

    def refuse(self) -> Reply:
        """The 429 of the real one: JSON, without Retry-After."""
        return TOO_MANY

    def asked(self, request: Request) -> list[Version]:
        """Every paper the request finds now, in its order."""
        is_batch = request.path == f"{ROOT}/batch"
        hits = self._named(request.body) if is_batch else self._search(read_query(request.query))
        return [hit for hit in hits if hit]

    def truth(self, from_ms: int | None, to_ms: int | None) -> list[Truth]:
        """The papers visible now, by the time they changed, which no answer tells."""
        return [self._true(version) for version in self._present.window(from_ms, to_ms)]

    def expire_scrolls(self) -> int:
        """None: a token is a place, and the server keeps nothing."""
        return 0

    def _true(self, version: Version) -> Truth:
        reason = "DETAIL_MISSING" if self._catalogue.gone(version.work) else None
        return tell(version, self._catalogue.key(version.work), reason, None if reason else self._record)

    def _record(self, version: Version) -> dict[str, Any]:
        return expected_record(self._catalogue.body(version))

    def _route(self, request: Request) -> Reply:
        if (request.method, request.path) == ("POST", f"{ROOT}/batch"):
            return self._batch(request)
        if (request.method, request.path) == ("GET", f"{ROOT}/search/bulk"):
            return self._bulk(read_query(request.query))
        return NO_ROUTE

    def _batch(self, request: Request) -> Reply:
        fields = read_fields(request.query.get("fields"))
        found = self._named(request.body)
        if not any(found):
            raise RefusalError("No valid paper ids given")
        papers = [fields.pick(self._catalogue.body(version)) if version else None for version in found]
        return Reply(200, orjson.dumps(papers), JSON, ids=tuple(self._catalogue.key(hit.work) for hit in found if hit))

    def _named(self, body: bytes) -> list[Version | None]:
        """The papers asked for by id, each in its place; None where there is none."""
        return [self._current(self._catalogue.find(text)) for text in read_ids(body)]

    def _current(self, work: int | None) -> Version | None:
        if work is None or self._catalogue.gone(work):
            return None
        return self._present.current(work)

    def _bulk(self, query: Query) -> Reply:
        found = self._search(query)
        rest = beyond(found, query.after, partial(self._place, query))
        hits = rest[:PAGE]
        envelope = {
            "total": len(found) + len(found) // OVERESTIMATE,
            "token": write_token(self._place(query, hits[-1])) if len(rest) > PAGE else None,
            "data": [query.fields.pick(self._catalogue.body(version)) for version in hits],
        }
        return Reply(200, orjson.dumps(envelope), JSON, ids=tuple(self._catalogue.key(hit.work) for hit in hits))

    def _search(self, query: Query) -> list[Version]:
        """Every paper the query finds now, in its order."""
        hits = self._present.window(None, None)
        fitting = [hit for hit in hits if self._fits(query, hit.work)]
        return sorted(fitting, key=partial(self._place, query))

    def _fits(self, query: Query, work: int) -> bool:
        paper = TEMPLATES.of(work)
        if query.years and not query.years[0] <= (paper["year"] or -1) <= query.years[1]:
            return False
        title = (paper["title"] or "").lower()
        return all(word in title for word in query.words)

    def _place(self, query: Query, version: Version) -> Place:
        value = self._catalogue.cited(version.work) if query.by_citations else 0
        return (-value if query.descending else value), self._catalogue.key(version.work)
