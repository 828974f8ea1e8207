"""A script of faults: which requests go wrong, how, and how often."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from deployments.sandbox.provider import Request

SERVER_ERROR = 500
LOWEST_STATUS = 400
HIGHEST_STATUS = 599


class Kind(StrEnum):
    """What can go wrong with one request."""

    STATUS = "status"
    HTML = "html"
    TIMEOUT = "timeout"
    CUT = "cut"
    LATENCY = "latency"
    TOUCH = "touch"
    CHURN = "churn"
    DROP = "drop"


class Place(StrEnum):
    """Which page of a result a rule is about."""

    FIRST = "first"
    LATER = "later"
    ANY = "any"


NEEDED = {
    Kind.STATUS: "status",
    Kind.TIMEOUT: "seconds",
    Kind.LATENCY: "seconds",
    Kind.TOUCH: "works",
    Kind.CHURN: "works",
}


@dataclass(frozen=True, slots=True)
class Match:
    """The requests a rule is about; a path ending in `*` matches all below it."""

    path: str | None = None
    cursor: Place = Place.ANY
    contains: str = ""

    def fits(self, path: str, request: Request) -> bool:
        """True when the request is one of them."""
        asked = "&".join(f"{name}={value}" for name, value in request.asked.items())
        return self._at(path) and self._on(request) and self.contains in asked

    def _at(self, path: str) -> bool:
        if self.path is None:
            return True
        return path.startswith(self.path[:-1]) if self.path.endswith("*") else path == self.path

    def _on(self, request: Request) -> bool:
        return self.cursor is Place.ANY or (self.cursor is Place.FIRST) == request.first


@dataclass(slots=True)
class Rule:
    """One fault, and the count of the requests it saw and hit."""

    kind: Kind
    status: int = 0
    retry_after: float | None = None
    times: int | None = 1
    after: int = 0
    match: Match = field(default_factory=Match)
    seconds: float = 0.0
    works: int = 0
    moves: bool | None = None
    seen: int = 0
    hits: int = 0

    def strikes(self, path: str, request: Request) -> bool:
        """Count a matching request; True when the rule is due on it."""
        if not self.match.fits(path, request):
            return False
        self.seen += 1
        return self.seen > self.after and (self.times is None or self.hits < self.times)

    @property
    def moves_scroll(self) -> bool:
        """True when the provider worked the request although its answer is lost."""
        # Nobody can know it of a 5xx or a lost answer, so the worse case is the default.
        if self.moves is not None:
            return self.moves
        return self.kind is not Kind.STATUS or self.status >= SERVER_ERROR


class FaultScript:
    """The rules in force; on each request the first that is due strikes."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []

    def strike(self, path: str, request: Request) -> Rule | None:
        """The fault this request meets, counted."""
        due = [rule for rule in self.rules if rule.strikes(path, request)]
        if not due:
            return None
        due[0].hits += 1
        return due[0]


def read_script(document: object) -> list[Rule]:
    """The rules of a JSON list; a TypeError or ValueError names what is wrong in it."""
    if not isinstance(document, list):
        raise TypeError("faults: expected a JSON list of rules")
    return [_read_rule(no, entry) for no, entry in enumerate(document)]


def _read_rule(no: int, entry: object) -> Rule:
    if not isinstance(entry, dict):
        raise TypeError(f"faults[{no}]: expected an object, got {entry!r}")
    known: dict[str, Any] = {name: value for name, value in entry.items() if name not in {"seen", "hits"}}
    try:
        match = dict(known.pop("match", None) or {})
        place = Place(match.pop("cursor", Place.ANY))
        rule = Rule(kind=Kind(known.pop("kind", None)), match=Match(cursor=place, **match), **known)
    except (TypeError, ValueError) as error:
        raise ValueError(f"faults[{no}]: {error}") from error
    _check(no, rule)
    return rule


def _check(no: int, rule: Rule) -> None:
    needed = NEEDED.get(rule.kind)
    if needed and not getattr(rule, needed):
        raise ValueError(f"faults[{no}]: kind {rule.kind.value!r} needs {needed!r}")
    if rule.moves is not None and rule.kind not in {Kind.STATUS, Kind.HTML}:
        raise ValueError(f"faults[{no}]: 'moves' is for kinds 'status' and 'html', not {rule.kind.value!r}")
    if rule.kind is Kind.STATUS and not LOWEST_STATUS <= rule.status <= HIGHEST_STATUS:
        raise ValueError(f"faults[{no}]: status {rule.status} must be within 400..599")
