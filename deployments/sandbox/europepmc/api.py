"""The Europe PMC API over the corpus: `/search`, and `/searchPOST` for long queries."""

from typing import Any

from deployments.sandbox.corpus import Version
from deployments.sandbox.europepmc.catalogue import Catalogue
from deployments.sandbox.europepmc.condition import UPDATED
from deployments.sandbox.europepmc.cursor import Place, write_cursor
from deployments.sandbox.europepmc.envelope import build_envelope, write_envelope
from deployments.sandbox.europepmc.expected import expected_record
from deployments.sandbox.europepmc.failure import QueryFailureError
from deployments.sandbox.europepmc.projection import project
from deployments.sandbox.europepmc.search import Search, read_parameters, read_search
from deployments.sandbox.europepmc.template import TEMPLATES
from deployments.sandbox.instant import DAY_MS
from deployments.sandbox.logic import span_of
from deployments.sandbox.page import error_page
from deployments.sandbox.present import Present, beyond
from deployments.sandbox.provider import Reply, Request, Truth, tell
from deployments.sandbox.settings import Behaviour

ROUTES = {("GET", "/search"), ("POST", "/searchPOST")}


class EuropePmcApi:
    """Answers as Europe PMC does."""

    def __init__(self, present: Present, behaviour: Behaviour) -> None:
        self._present = present
        self._catalogue = Catalogue(present.corpus)

    def answer(self, request: Request) -> Reply:
        """What Europe PMC would answer; its errors come in a 200."""
        if (request.method, request.path) not in ROUTES:
            return error_page(404)
        given = read_parameters(request)
        is_json = given.get("format", "xml").lower() == "json"
        try:
            return self._page(read_search(given), is_json=is_json)
        except QueryFailureError as failure:
            return failure.reply(is_json=is_json)

    def refuse(self) -> Reply:
        """A proxy's 429: no limit is published."""
        return error_page(429)

    def asked(self, request: Request) -> list[Version]:
        """Every version the request finds now, in its order."""
        return self._find(read_search(read_parameters(request)))

    def truth(self, from_ms: int | None, to_ms: int | None) -> list[Truth]:
        """The records visible now, by the update time they are served with, which is a day."""
        return [self._true(version) for version in self._present.window(from_ms, to_ms, DAY_MS)]

    def expire_scrolls(self) -> int:
        """None: a cursor mark is a place, and the server keeps nothing."""
        return 0

    def _true(self, version: Version) -> Truth:
        reason = TEMPLATES.of(version.work).reason
        return tell(version, self._catalogue.key(version.work), reason, None if reason else self._record, DAY_MS)

    def _record(self, version: Version) -> dict[str, Any]:
        return expected_record(self._catalogue.body(version))

    def _page(self, search: Search, *, is_json: bool) -> Reply:
        found = self._find(search)
        hits = beyond(found, search.after, self._place)[: search.page_size]
        records = [project(self._catalogue.body(version), search.result_type) for version in hits]
        envelope = build_envelope(search, records, len(found), self._mark(search, hits, len(found)))
        body, headers = write_envelope(envelope, is_json=is_json)
        return Reply(200, body, headers, ids=tuple(self._catalogue.key(hit.work) for hit in hits))

    def _mark(self, search: Search, hits: list[Version], total: int) -> str | None:
        """A result of one page has no mark; after the last record of a longer one the mark comes back as it was."""
        if search.after is None and total <= search.page_size:
            return None
        return write_cursor(self._place(hits[-1])) if hits else search.mark

    def _find(self, search: Search) -> list[Version]:
        """Every version the search finds now, in its order."""
        span = span_of(search.condition, UPDATED)
        hits = self._present.window(span.from_ms, span.to_ms)
        fitting = [hit for hit in hits if search.condition.fits(self._catalogue.entry(hit))]
        return sorted(fitting, key=self._place)

    def _place(self, version: Version) -> Place:
        return self._catalogue.rank(version.work), version.work
