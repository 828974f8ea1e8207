"""Scrolls: a result frozen at its opening, read page by page until it goes idle."""

import base64
import hashlib
import time
from collections import OrderedDict
from dataclasses import dataclass

from deployments.sandbox.clock import SandboxClock
from deployments.sandbox.corpus import Version
from deployments.sandbox.crossref.query import Query
from deployments.sandbox.settings import Behaviour, ScrollMode

MOST_OPEN = 500
SHARDS = 36


@dataclass(slots=True)
class Scroll:
    """A result as it was at its opening."""

    no: int
    query: Query
    hits: list[Version]
    used_ms: int
    used_monotonic: float
    page: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """One part of a scroll, and the cursor to ask with for the next."""

    scroll: Scroll
    number: int
    cursor: str

    @property
    def hits(self) -> list[Version]:
        """The versions on this page; none beyond the end."""
        rows = self.scroll.query.rows
        return self.scroll.hits[self.number * rows : (self.number + 1) * rows]


class ScrollBook:
    """The open scrolls, the longest unused first."""

    def __init__(self, clock: SandboxClock, behaviour: Behaviour, nonce: bytes) -> None:
        self._clock = clock
        self._behaviour = behaviour
        self._nonce = nonce
        self._open: OrderedDict[str, Scroll] = OrderedDict()
        self._opened = 0

    def open(self, query: Query, hits: list[Version]) -> Page:
        """Freeze a result and give its first page."""
        self._opened += 1
        scroll = Scroll(self._opened, query, hits, self._clock.now_ms(), time.monotonic())
        name = _scroll_id(self._nonce, scroll.no)
        self._open[name] = scroll
        while len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)
        return self._turn(name, scroll, 0)

    def read(self, cursor: str) -> Page | None:
        """The page the cursor stands at; None when it is unknown or has expired."""
        name, _, position = cursor.partition(".")
        scroll = self._open.get(name)
        if scroll is None or self._expired(scroll, is_token=bool(position)):
            self._open.pop(name, None)
            return None
        return self._turn(name, scroll, int(position) if position.isdecimal() else scroll.page)

    def peek(self, cursor: str) -> Query | None:
        """The query a cursor was opened with, its position left alone."""
        scroll = self._open.get(cursor.partition(".")[0])
        return scroll.query if scroll else None

    def expire(self) -> int:
        """End every scroll; the number ended."""
        ended = len(self._open)
        self._open.clear()
        return ended

    def _turn(self, name: str, scroll: Scroll, number: int) -> Page:
        # The position moves with the request, whether or not its answer arrives.
        scroll.page = number + 1
        scroll.used_ms, scroll.used_monotonic = self._clock.now_ms(), time.monotonic()
        self._open.move_to_end(name)
        token = self._behaviour.scroll is ScrollMode.TOKEN
        return Page(scroll, number, f"{name}.{number + 1}" if token else name)

    def _expired(self, scroll: Scroll, *, is_token: bool) -> bool:
        if is_token:
            return False
        # A test may let real time pass, or move the sandbox's clock: both make a scroll idle.
        idle_ms = max(self._clock.now_ms() - scroll.used_ms, (time.monotonic() - scroll.used_monotonic) * 1000)
        return idle_ms > self._behaviour.scroll_ttl_seconds * 1000


def _scroll_id(nonce: bytes, no: int) -> str:
    """A name of the recorded look and length: one search context per shard."""
    shards = b"".join(_context(nonce, no, shard) for shard in range(SHARDS))
    return base64.urlsafe_b64encode(b"\x0equeryThenFetch" + bytes([SHARDS]) + shards).decode()


def _context(nonce: bytes, no: int, shard: int) -> bytes:
    digest = hashlib.sha256(nonce + f"{no}:{shard}".encode()).digest()
    return digest[:8] + b"\x16" + base64.urlsafe_b64encode(digest[8:24])[:22]
