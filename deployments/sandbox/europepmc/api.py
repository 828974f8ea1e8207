"""The Europe PMC API over the corpus: `/search`, and `/searchPOST` for long queries."""

from collections.abc import Callable
from typing import Any

from deployments.sandbox.clock import SandboxClock
from deployments.sandbox.corpus import Corpus, Version
from deployments.sandbox.europepmc.catalogue import Catalogue
from deployments.sandbox.europepmc.cursor import Place, write_cursor
from deployments.sandbox.europepmc.envelope import build_envelope, write_envelope
from deployments.sandbox.europepmc.expected import expected_record
from deployments.sandbox.europepmc.failure import QueryFailureError
from deployments.sandbox.europepmc.projection import project
from deployments.sandbox.europepmc.search import Search, read_parameters, read_search
from deployments.sandbox.page import error_page
from deployments.sandbox.provider import Reply, Request, Truth
from deployments.sandbox.settings import Behaviour

DAY_MS = 86_400_000
ROUTES = {("GET", "/search"), ("POST", "/searchPOST")}


class EuropePmcApi:
    """Answers as Europe PMC does."""

    def __init__(self, corpus: Corpus, clock: SandboxClock, behaviour: Behaviour) -> None:
        self._corpus = corpus
        self._clock = clock
        self._catalogue = Catalogue(corpus)

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

    def touch(self, request: Request, works: int) -> None:
        """Index the first works of the asked result anew, now."""
        try:
            search = read_search(read_parameters(request))
        except QueryFailureError:
            return
        now_ms = self._clock.now_ms()
        for version in self._find(search)[:works]:
            self._corpus.touch(version.work, now_ms)

    def truth(self, from_ms: int | None, to_ms: int | None) -> list[Truth]:
        """The records visible now, by the update time they are served with, which is a day."""
        versions = self._corpus.window(_whole_day(from_ms), _whole_day(to_ms), self._clock.now_ms())
        return [self._true(version) for version in versions]

    def expire_scrolls(self) -> int:
        """None: a cursor mark is a place, and the server keeps nothing."""
        return 0

    def _true(self, version: Version) -> Truth:
        problem = self._catalogue.template(version.work).problem
        return Truth(
            id=self._catalogue.key(version.work),
            updated_at_ms=version.at_ms // DAY_MS * DAY_MS,
            usable=problem is None,
            version=version.number,
            reason=problem,
            record=self._record(version) if problem is None else None,
        )

    def _record(self, version: Version) -> Callable[[], dict[str, Any]]:
        return lambda: expected_record(self._catalogue.body(version))

    def _page(self, search: Search, *, is_json: bool) -> Reply:
        found = self._find(search)
        rest = found if search.after is None else [hit for hit in found if self._place(hit) > search.after]
        hits = rest[: search.page_size]
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
        first, last = search.condition.span()
        hits = self._corpus.window(first, last, self._clock.now_ms())
        fitting = [hit for hit in hits if search.condition.holds(self._catalogue.entry(hit))]
        return sorted(fitting, key=self._place)

    def _place(self, version: Version) -> Place:
        return self._catalogue.rank(version.work), version.work


def _whole_day(ms: int | None) -> int | None:
    return None if ms is None else -(-ms // DAY_MS) * DAY_MS
