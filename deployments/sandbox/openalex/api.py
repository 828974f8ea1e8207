"""The OpenAlex API over the corpus: `/works` and `/works/{id}`."""

from dataclasses import replace
from functools import partial
from typing import Any

import orjson

from deployments.sandbox.corpus import Version
from deployments.sandbox.openalex.allowance import Allowance
from deployments.sandbox.openalex.catalogue import FIRST_NUMBER, Catalogue
from deployments.sandbox.openalex.cursor import Place, write_cursor
from deployments.sandbox.openalex.expected import expected_record
from deployments.sandbox.openalex.failure import JSON, NOT_ALLOWED, NOT_FOUND, RefusalError, too_many
from deployments.sandbox.openalex.query import MOST_RESULTS, Query, read_query
from deployments.sandbox.openalex.template import TEMPLATES
from deployments.sandbox.present import Present, beyond
from deployments.sandbox.provider import Reply, Request, Truth, tell
from deployments.sandbox.settings import Behaviour


class OpenAlexApi:
    """Answers as OpenAlex does."""

    def __init__(self, present: Present, behaviour: Behaviour) -> None:
        self._present = present
        self._behaviour = behaviour
        self._reach = behaviour.reachable(MOST_RESULTS)
        self._catalogue = Catalogue(present.corpus)
        self._allowance = Allowance()

    def answer(self, request: Request) -> Reply:
        """What OpenAlex would answer."""
        try:
            self._allowance.check(request)
            is_list = request.path.rstrip("/") == "/works"
            headers, spent = self._allowance.spend(request, self._present.now_ms(), int(is_list))
            reply = spent or self._route(request, is_list=is_list)
        except RefusalError as refusal:
            return refusal.reply()
        return replace(reply, headers={**headers, **reply.headers})

    def refuse(self) -> Reply:
        """The 429 of too many requests a second."""
        limit = self._behaviour.rate_limit_per_second
        message = f"You have exceeded the rate limit of {limit} requests per second. Please try again later."
        return too_many(message, 1, {"ratelimit-limit": str(limit), "ratelimit-remaining": "0", "ratelimit-reset": "1"})

    def asked(self, request: Request) -> list[Version]:
        """Every version the request finds now, in its order."""
        return self._search(read_query(request.query, self._reach))

    def truth(self, from_ms: int | None, to_ms: int | None) -> list[Truth]:
        """The works visible now, by the update time they are served with, which is to the millisecond."""
        return [self._true(version) for version in self._present.window(from_ms, to_ms)]

    def expire_scrolls(self) -> int:
        """None: a cursor is a place, and the server keeps nothing."""
        return 0

    def _true(self, version: Version) -> Truth:
        reason = TEMPLATES.of(version.work).reason
        return tell(version, self._catalogue.key(version.work), reason, None if reason else self._record)

    def _record(self, version: Version) -> dict[str, Any]:
        return expected_record(self._catalogue.body(version))

    def _route(self, request: Request, *, is_list: bool) -> Reply:
        if request.method not in {"GET", "HEAD"}:
            return NOT_ALLOWED
        if is_list:
            return self._list(read_query(request.query, self._reach))
        name = request.path.removeprefix("/works/")
        return self._detail(name) if name != request.path else NOT_FOUND

    def _detail(self, name: str) -> Reply:
        doi = name.removeprefix("doi:")
        work = self._catalogue.find_doi(doi) if "/10." in name or doi != name else self._catalogue.find(name)
        version = self._present.current(work)
        if version is None:
            return NOT_FOUND
        return Reply(200, orjson.dumps(self._catalogue.body(version)), JSON, ids=(self._catalogue.key(version.work),))

    def _list(self, query: Query) -> Reply:
        found = self._search(query)
        if query.scrolls:
            hits = beyond(found, query.after, partial(self._place, query))[: query.per_page]
        else:
            hits = found[(query.page - 1) * query.per_page : query.page * query.per_page]
        return self._render(query, hits, len(found))

    def _search(self, query: Query) -> list[Version]:
        """Every version the query finds now, in its order."""
        asked = self._asked(query)
        hits = self._present.window(query.filters.from_ms, query.filters.to_ms)
        if asked is not None or query.filters.types or query.filters.words:
            hits = [hit for hit in hits if (asked is None or hit.work in asked) and self._fits(query, hit.work)]
        return sorted(hits, key=partial(self._place, query))

    def _fits(self, query: Query, work: int) -> bool:
        template = TEMPLATES.of(work)
        return query.filters.fit(template.type, template.title)

    def _asked(self, query: Query) -> set[int | None] | None:
        """The works named by id, or None when any will do."""
        named: list[set[int | None]] = []
        if query.filters.openalex is not None:
            named.append({self._catalogue.find(text) for text in query.filters.openalex})
        if query.filters.dois is not None:
            named.append({self._catalogue.find_doi(text) for text in query.filters.dois})
        return set.intersection(*named) if named else None

    def _place(self, query: Query, version: Version) -> Place:
        value = version.at_ms if query.sort == "updated_date" else self._catalogue.cited(version.work)
        return (-value if query.descending else value), FIRST_NUMBER + version.work

    def _render(self, query: Query, hits: list[Version], total: int) -> Reply:
        meta: dict[str, Any] = {
            "count": total,
            "db_response_time_ms": 42,
            "page": None if query.scrolls else query.page,
            "per_page": query.per_page,
            "groups_count": None,
        }
        if query.scrolls:
            # Not null after the last work: only an empty page says that there is no more.
            meta["next_cursor"] = write_cursor(self._place(query, hits[-1])) if hits else None
        bodies = [self._catalogue.body(version) for version in hits]
        if query.select is not None:
            bodies = [{name: part for name, part in body.items() if name in query.select} for body in bodies]
        envelope = {"meta": meta, "results": bodies, "group_by": []}
        return Reply(200, orjson.dumps(envelope), JSON, ids=tuple(self._catalogue.key(hit.work) for hit in hits))
