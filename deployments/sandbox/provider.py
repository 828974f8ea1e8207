"""What every simulated provider promises to the server around it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol
from urllib.parse import parse_qsl

from deployments.sandbox.corpus import Version
from deployments.sandbox.instant import round_down

POSITIONS = (
    *("cursor", "cursorMark", "page[cursor]", "page[number]", "pageToken", "token"),
    *("page", "offset", "start", "retstart"),
)
"""The parameters by which providers are told the place in a result."""

IN_THE_PATH = re.compile(r"/(\d+)$", re.ASCII)
BEGINNINGS = frozenset({"*", "0", "1"})
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Request:
    """A request as a provider sees it; `path` begins after the provider's own."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def cursor(self) -> str | None:
        """The scroll asked for: `*` opens one."""
        return self.query.get("cursor")

    @property
    def asked(self) -> dict[str, str]:
        """The parameters, in the URL or in a posted form; the form's win."""
        posted = self.method == "POST" and self.headers.get("content-type", FORM).startswith(FORM)
        form = parse_qsl(self.body.decode("utf-8", "replace"), keep_blank_values=True) if posted else ()
        return {**self.query, **dict(form)}

    @property
    def first(self) -> bool:
        """True when this asks for the beginning of a result: by no parameter, nor by a number at the path's end."""
        asked, in_path = self.asked, IN_THE_PATH.search(self.path)
        places = [asked.get(name, "*") for name in POSITIONS] + ([in_path[1]] if in_path else [])
        return BEGINNINGS.issuperset(places)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, and what the request log says of it."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    ids: tuple[str, ...] = ()
    page: int | None = None
    scroll: int | None = None


@dataclass(frozen=True, slots=True)
class Truth:
    """One record as it is now: what a harvest must end up with, or why it cannot be used."""

    id: str
    updated_at_ms: int
    version: int
    reason: str | None = None
    record: Callable[[], Mapping[str, Any]] | None = None

    @property
    def usable(self) -> bool:
        """True when a harvest must keep the record."""
        return self.reason is None


def tell(
    version: Version,
    key: str,
    reason: str | None,
    record: Callable[[Version], Mapping[str, Any]] | None,
    unit_ms: int = 1,
) -> Truth:
    """What is true of a version whose update time is served in this unit."""
    expected = record and partial(record, version)
    return Truth(key, round_down(version.at_ms, unit_ms), version.number, reason, expected)


class Refused(Exception):
    """A request the provider does not serve; each words it in its own way."""


class Provider(Protocol):
    """A literature API over the corpus."""

    def answer(self, request: Request) -> Reply:
        """What the real one would answer, its scroll moved on."""

    def refuse(self) -> Reply:
        """The answer to one request too many."""

    def asked(self, request: Request) -> list[Version]:
        """Every version the request finds now, in its order."""

    def truth(self, from_ms: int | None, to_ms: int | None) -> list[Truth]:
        """The records visible now, updated in `[from, to)`."""

    def expire_scrolls(self) -> int:
        """End every open scroll; the number ended."""
