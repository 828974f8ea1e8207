"""The API of bioRxiv and medRxiv over the corpus: `/details/{server}/...`."""

from functools import partial
from typing import Any

from deployments.sandbox.biorxiv.answer import listed, misunderstood, nothing, past_the_end
from deployments.sandbox.biorxiv.catalogue import Catalogue
from deployments.sandbox.biorxiv.history import back, posted
from deployments.sandbox.biorxiv.oracle import expected_record
from deployments.sandbox.biorxiv.route import Interval, UnreadablePathError, read_path
from deployments.sandbox.biorxiv.server import BIORXIV, MEDRXIV, Server
from deployments.sandbox.biorxiv.template import TEMPLATES
from deployments.sandbox.corpus import Version
from deployments.sandbox.instant import DAY_MS, round_up
from deployments.sandbox.page import error_page
from deployments.sandbox.present import Present
from deployments.sandbox.provider import Reply, Request, Truth, tell
from deployments.sandbox.settings import Behaviour


class RxivApi:
    """Answers as bioRxiv and medRxiv do, for one of the two."""

    def __init__(self, server: Server, present: Present, behaviour: Behaviour) -> None:
        self._server = server
        self._present = present
        self._catalogue = Catalogue(present.corpus, server)

    def answer(self, request: Request) -> Reply:
        """What the API would answer: a 200, always."""
        if request.method not in {"GET", "HEAD"}:
            return error_page(405)
        try:
            asked = read_path(request.path, self._server.code)
        except UnreadablePathError as unreadable:
            return misunderstood(str(unreadable))
        return self._list(asked, _category(request)) if isinstance(asked, Interval) else self._detail(asked)

    def refuse(self) -> Reply:
        """A proxy's 429: no limit is documented, so the API has no words for it."""
        return error_page(429)

    def asked(self, request: Request) -> list[Version]:
        """Every version in the asked interval, in its order."""
        asked = read_path(request.path, self._server.code)
        return self._search(asked, _category(request)) if isinstance(asked, Interval) else []

    def truth(self, from_ms: int | None, to_ms: int | None) -> list[Truth]:
        """Every version posted by now, by the day it is served with."""
        return [self._true(version) for version in self._posted(round_up(from_ms, DAY_MS), round_up(to_ms, DAY_MS))]

    def expire_scrolls(self) -> int:
        """Nothing to end: the place in a result is in the path."""
        return 0

    def _true(self, version: Version) -> Truth:
        reason = TEMPLATES[self._server].of(version.work).reason
        return tell(version, self._catalogue.key(version), reason, None if reason else self._record, DAY_MS)

    def _record(self, version: Version) -> dict[str, Any]:
        return expected_record(self._catalogue.body(version))

    def _posted(self, from_ms: int | None, to_ms: int | None) -> list[Version]:
        return posted(self._present.corpus, from_ms, to_ms, self._present.now_ms())

    def _search(self, interval: Interval, category: str) -> list[Version]:
        found = self._posted(interval.from_ms, interval.to_ms)
        wanted = [version for version in found if TEMPLATES[self._server].of(version.work).fits(category)]
        return sorted(wanted, key=self._catalogue.place)

    def _list(self, interval: Interval, category: str) -> Reply:
        found = self._search(interval, category)
        hits = found[interval.cursor : interval.cursor + self._server.page_size]
        if not hits:
            return past_the_end() if found else nothing()
        message = {
            "status": "ok",
            "category": category or "all",
            "interval": f"{interval.first}:{interval.last}",
            "funder": "all",
            # A number on the first page, text on every later one; so it came.
            "cursor": str(interval.cursor) if interval.cursor else 0,
            "count": len(hits),
            "count_new_papers": str(sum(version.number == 1 for version in found)),
            "total": str(len(found)),
        }
        return self._page(message, hits, interval.cursor // self._server.page_size)

    def _detail(self, doi: str) -> Reply:
        """Every version of one preprint, the first first."""
        work = self._catalogue.find(doi)
        version = self._present.current(work)
        if version is None:
            return past_the_end()
        return self._page({"status": "ok", "category": "all"}, [*back(self._present.corpus, version)][::-1], None)

    def _page(self, message: dict[str, Any], hits: list[Version], number: int | None) -> Reply:
        ids = tuple(self._catalogue.key(version) for version in hits)
        return listed(message, [self._catalogue.body(version) for version in hits], ids, number)


BiorxivApi = partial(RxivApi, BIORXIV)
MedrxivApi = partial(RxivApi, MEDRXIV)


def _category(request: Request) -> str:
    """The subject asked for, in which an underscore stands for a space; empty for all."""
    return request.query.get("category", "").replace("_", " ").strip().lower()
