"""The log of every request a provider got, in order."""

import hashlib
import time
from collections import deque
from typing import Any

from deployments.sandbox.faults import Kind, Rule
from deployments.sandbox.instant import write_micros
from deployments.sandbox.provider import Reply, Request

MOST_ENTRIES = 200_000
MOST_BODY = 20_000
CORRELATION = "x-ingest-correlation-id"
LOST = frozenset({Kind.STATUS, Kind.HTML, Kind.TIMEOUT, Kind.CUT, Kind.DROP})
SILENT = frozenset({Kind.TIMEOUT, Kind.DROP})


class Journal:
    """Keeps the last requests; what a client could not read counts no items."""

    def __init__(self) -> None:
        self._entries: deque[dict[str, Any]] = deque(maxlen=MOST_ENTRIES)
        self._no = 0

    def append(
        self, at_ms: int, began: float, source: str, request: Request, reply: Reply, rule: Rule | None
    ) -> dict[str, Any]:
        """Note one request that began then and what became of it; it is open until `end` is told of it."""
        self._no += 1
        lost = rule is not None and rule.kind in LOST
        ids = () if lost else reply.ids
        entry = {
            "no": self._no,
            "at": write_micros(at_ms),
            # The sandbox's clock may stand still; distances between requests need one that does not.
            "began_seconds": began,
            "monotonic_seconds": time.monotonic(),
            "ended_seconds": None,
            "source": source,
            "method": request.method,
            "path": f"/{source}{request.path}",
            "query": {**request.query, **({"cursor": _short(request.cursor)} if request.cursor else {})},
            "headers": dict(request.headers),
            "body": request.body[:MOST_BODY].decode("utf-8", "replace"),
            "status": None if rule and rule.kind in SILENT else reply.status,
            "items": len(ids),
            "first_id": ids[0] if ids else None,
            "ids_hash": _digest("\n".join(ids)) if ids else None,
            "cursor": _short(request.cursor) if request.cursor else None,
            "page": reply.page,
            "scroll": reply.scroll,
            "fault": rule.kind.value if rule else None,
            "correlation": request.headers.get(CORRELATION),
            "user_agent": request.headers.get("user-agent"),
        }
        self._entries.append(entry)
        return entry

    @staticmethod
    def end(entry: dict[str, Any]) -> None:
        """The answer has been sent, or the client has gone."""
        entry["ended_seconds"] = time.monotonic()

    def entries(self, source: str | None = None) -> list[dict[str, Any]]:
        """The requests so far, oldest first."""
        return [entry for entry in self._entries if source in {None, entry["source"]}]

    def clear(self) -> None:
        """Forget every request; numbers go on."""
        self._entries.clear()


def _short(cursor: str) -> str:
    return cursor if cursor == "*" else _digest(cursor)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
