"""The shelf's API over the corpus."""

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import orjson

from deployments.sandbox.corpus import Version
from deployments.sandbox.present import Present
from deployments.sandbox.provider import Refused, Reply, Request, Truth
from deployments.sandbox.settings import Behaviour
from deployments.sandbox.shelf.details import bad, lost, whole
from deployments.sandbox.shelf.layout import Layout, lay_out
from deployments.sandbox.shelf.numbers import filtered
from deployments.sandbox.shelf.query import Asked, read_query
from deployments.sandbox.shelf.result import book, found, hidden, key_of, truths
from deployments.sandbox.shelf.token import Token
from deployments.sandbox.ways import Beyond, DeadToken, More, NextEnd, NextShape, PastEnd, Total, Ways

JSON = {"content-type": "application/json"}
WOBBLE, ROUND = 3, 100
EXPIRED = orjson.dumps({"error": {"code": "badResumptionToken", "message": "this token has expired"}})
DEAD = {
    DeadToken.GONE: Reply(410, EXPIRED, JSON),
    DeadToken.REFUSED: Reply(400, EXPIRED, JSON),
    DeadToken.UNPROCESSABLE: Reply(422, EXPIRED, JSON),
    DeadToken.IN_200: Reply(200, EXPIRED, JSON),
}
PAST_END = {
    PastEnd.NOT_FOUND: Reply(404, b'{"error": "no such page"}', JSON),
    PastEnd.REFUSED: Reply(400, b'{"error": "there are fewer records than that"}', JSON),
}
LAST: dict[NextEnd, dict[str, Any]] = {
    NextEnd.ABSENT: {},
    NextEnd.NULL: {"next": None},
    NextEnd.BLANK: {"next": ""},
}


@dataclass
class ShelfApi:
    """Answers as its switches say; counts what a switch has still to spoil."""

    present: Present
    behaviour: Behaviour
    answers: int = 0
    lost_tokens: int = 0
    _ways: Ways = field(default_factory=Ways)

    @property
    def ways(self) -> Ways:
        """The switches; new ones are counted from the start."""
        if self.behaviour.shelf is not self._ways:
            self._ways, self.answers, self.lost_tokens = self.behaviour.shelf, 0, 0
        return self._ways

    def answer(self, request: Request) -> Reply:
        """A page, or the records of ids."""
        try:
            return self._details(request) if request.path == "/details" else self._list(request)
        except Refused as refused:
            return Reply(400, orjson.dumps({"error": str(refused)}), JSON)

    def refuse(self) -> Reply:
        """One request too many."""
        return Reply(429, b'{"error": "slow down"}', JSON)

    def asked(self, request: Request) -> list[Version]:
        """Every version the request finds, in order."""
        asked = read_query(request, self.ways.page_base)
        return filtered(found(self.present, self.ways, asked.from_ms, asked.to_ms), asked.filter, self.ways)

    def truth(self, from_ms: int | None, to_ms: int | None) -> list[Truth]:
        """The latest version of each record in `[from, to)`; what the details never give cannot be used."""
        ways = self.ways
        rows = truths(found(self.present, ways, from_ms, to_ms), ways)
        return [row if reason is None else Truth(row.id, row.updated_at_ms, row.version, reason)
                for row in rows for reason in [_reason(row.id, ways)]]  # fmt: skip

    def expire_scrolls(self) -> int:
        """Nothing to end: places are in tokens."""
        return 0

    def _list(self, request: Request) -> Reply:
        ways, asked = self.ways, read_query(request, self.ways.page_base)
        if self._dead(asked.token):
            return DEAD[ways.dead_token]
        result = filtered(found(self.present, ways, asked.from_ms, asked.to_ms), asked.filter, ways)
        layout = lay_out(result, ways)
        self.answers += 1
        if not asked.linked and 0 < asked.place >= layout.length and ways.past_end in PAST_END:
            return PAST_END[ways.past_end]
        begin, end = self._span(asked, layout.length)
        shown = [version for version in layout.between(begin, end, asked.size) if not hidden(version, ways)]
        said = {
            **self._total(asked, layout),
            **({"more": self._more(end < layout.length)} if ways.more is not More.UNSAID else {}),
            **({"moved": end - begin} if ways.hidden_every or ways.listed_twice else {}),
            **(self._next(request, asked, begin, end, layout.length) if asked.linked else {}),
        }
        ids = tuple(map(key_of, shown))
        body = orjson.dumps({**said, "items": self._items(asked, shown)})
        return Reply(200, body, JSON, ids=ids, page=asked.place // asked.size)

    def _items(self, asked: Asked, shown: list[Version]) -> list[Any]:
        if asked.route != "/ids":
            return [book(version, self.ways) for version in shown]
        return [key_of(version) for version in shown for _ in range(2 if self.ways.listed_twice else 1)]

    def _span(self, asked: Asked, there: int) -> tuple[int, int]:
        """Which places a page holds: fewer now and then, none or the last ones again behind what may be reached."""
        ways, page = self.ways, asked.place // asked.size
        if ways.cap is not None and not asked.linked and asked.place + asked.size > ways.cap:
            raise Refused(f"offset + size must not exceed {ways.cap}")
        reach = there if ways.reach is None else min(there, ways.reach)
        if ways.reach is not None and asked.place >= ways.reach:
            if ways.beyond is Beyond.REFUSED:
                raise Refused(f"only the first {ways.reach} records of a query can be read")
            return (max(0, reach - asked.size), reach) if ways.beyond is Beyond.REPEATED else (reach, reach)
        short = ways.short_every and page % ways.short_every == ways.short_every - 1 and asked.route != "/page"
        begin = max(0, asked.place - (ways.overlap if asked.linked else 0))
        return begin, min(asked.place + (max(1, asked.size // 2) if short else asked.size), reach)

    def _total(self, asked: Asked, layout: Layout) -> dict[str, int]:
        ways, first = self.ways, asked.place == 0
        if ways.total is Total.NONE or (ways.total is Total.FIRST and not first):
            return {}
        size = sum(row is not None and not hidden(row, ways) for row in layout.rows)
        said = {
            Total.WOBBLES: size + WOBBLE * (self.answers % 2),
            Total.OVER: size + ways.total_off,
            Total.UNDER: max(0, size - ways.total_off),
            Total.ROUNDED: -(-size // ROUND) * ROUND,
        }.get(ways.total, size)
        return {"total": said if ways.total_cap is None else min(said, ways.total_cap)}

    def _more(self, follows: bool) -> bool:  # noqa: FBT001 - it is what is told
        return {More.ALWAYS: True, More.NEVER: False}.get(self.ways.more, follows)

    def _next(self, request: Request, asked: Asked, begin: int, end: int, there: int) -> dict[str, Any]:
        ways = self.ways
        again = ways.stutters and asked.place == asked.size and not (asked.token and asked.token.again)
        follows = end < there or (ways.empty_end and (asked.place < there or begin == end))
        if not (follows or again):
            return LAST[ways.next_end]
        if end < there and self.lost_tokens < ways.lose_next:
            self.lost_tokens += 1
            return {}
        token = Token(asked.place if again else end, self.present.now_ms(), again, self.answers).write()
        place = token if asked.route == "/token" else self._link(request, token)
        shapes: dict[NextShape, dict[str, Any]] = {
            NextShape.PLAIN: {"next": place},
            NextShape.HREF: {"next": {"href": place}},
            NextShape.FLAG: {"next": True},
            NextShape.LIST: {"next": [end, place]},
            NextShape.RENAMED: {"continue": place},
        }
        return shapes[ways.next_shape]

    def _link(self, request: Request, token: str) -> str:
        parameters = urlencode({**request.query, "token": token})
        return f"{self.ways.next_base or ''}/shelf/url?{parameters}"

    def _dead(self, token: Token | None) -> bool:
        """Whether a token is too old, or was given before the provider forgot them all."""
        if token is None:
            return False
        ttl, answers = self.ways.token_ttl_seconds, self.ways.token_answers
        too_old = ttl is not None and self.present.now_ms() - token.given_ms > ttl * 1000
        return too_old or (answers is not None and token.answer <= answers <= self.answers)

    def _details(self, request: Request) -> Reply:
        try:
            ids = [str(one) for one in json.loads(request.body)["ids"]]
        except (ValueError, KeyError, TypeError) as error:
            raise Refused("a body of ids is needed") from error
        came = whole(ids, self.present.window(), self.ways)
        body = orjson.dumps({"items": [book(version, self.ways) for version in came]})
        return Reply(200, body, JSON, ids=tuple(map(key_of, came)))


def _reason(key: str, ways: Ways) -> str | None:
    work = int(key.rpartition("-")[2])
    if bad(work, ways):
        return "DETAIL_FAILED"
    return "DETAIL_MISSING" if lost(work, ways) else None
