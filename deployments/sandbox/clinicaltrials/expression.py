"""The Essie expressions of `query.*` and `filter.advanced`, as far as harvests need them."""

import re
from dataclasses import dataclass
from typing import Protocol

from deployments.sandbox.clinicaltrials.failure import BadRequestError
from deployments.sandbox.clinicaltrials.stamp import read_stamp

UPDATED = "LastUpdatePostDate"
POSTED = "StudyFirstPostDate"
DATES = (UPDATED, POSTED)
TEXTS = ("BriefTitle", "Condition", "LeadSponsorName", "OverallStatus", "Phase", "StudyType", "NCTId", "BasicSearch")
CODES = frozenset({"OverallStatus", "Phase", "StudyType", "NCTId"})
"""Areas of fixed values, which are found whole or not at all."""

MOST_TOKENS = 200
TOKEN = re.compile(
    r"\s*(?:(?P<sign>[()])|AREA\[(?P<area>\w+)\]|RANGE\[(?P<low>[^\[\],]*),(?P<high>[^\[\],]*)\]"
    r"|\"(?P<phrase>[^\"]*)\"|(?P<word>[^\s()\[\]\"]+))"
)


class Subject(Protocol):
    """A study as a search sees it."""

    def text(self, area: str) -> str:
        """What the area holds, in lower case."""

    def date_ms(self, area: str) -> int:
        """The instant a date area holds."""


class Expression(Protocol):
    """A condition on studies."""

    def fits(self, subject: Subject) -> bool:
        """True when the study is found."""


@dataclass(frozen=True, slots=True)
class Span:
    """A date area within both ends, which are inclusive; None is open."""

    area: str
    from_ms: int | None
    to_ms: int | None

    def fits(self, subject: Subject) -> bool:
        """True when the study's date is within."""
        ms = subject.date_ms(self.area)
        return (self.from_ms is None or ms >= self.from_ms) and (self.to_ms is None or ms < self.to_ms)


@dataclass(frozen=True, slots=True)
class Words:
    """A text that an area holds."""

    area: str
    text: str

    def fits(self, subject: Subject) -> bool:
        """True when it is there."""
        held = subject.text(self.area)
        return self.text in (held.splitlines() if self.area in CODES else held)


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds."""

    parts: tuple[Expression, ...]

    def fits(self, subject: Subject) -> bool:
        """True when each part fits."""
        return all(part.fits(subject) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Some:
    """At least one part holds."""

    parts: tuple[Expression, ...]

    def fits(self, subject: Subject) -> bool:
        """True when a part fits."""
        return any(part.fits(subject) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Without:
    """The part does not hold."""

    part: Expression

    def fits(self, subject: Subject) -> bool:
        """True when the part does not fit."""
        return not self.part.fits(subject)


def tokens(text: str, parameter: str) -> list[re.Match[str]]:
    """The expression in pieces; BadRequestError where it has none."""
    found: list[re.Match[str]] = []
    place = 0
    while text[place:].strip():
        piece = TOKEN.match(text, place)
        if piece is None or len(found) == MOST_TOKENS:
            raise BadRequestError(f"`{parameter}` has incorrect query syntax at position {place}")
        found.append(piece)
        place = piece.end()
    return found


def read_span(area: str, low: str, high: str, parameter: str) -> Span:
    """The range of a date area; a bound is a date, MIN or MAX."""
    if area not in DATES:
        raise BadRequestError(f"`{parameter}`: RANGE is not applicable to area {area}")
    return Span(area, _bound(low, "MIN", 0, parameter), _bound(high, "MAX", 1, parameter))


def _bound(text: str, unlimited: str, side: int, parameter: str) -> int | None:
    if text.strip() == unlimited:
        return None
    unit = read_stamp(text.strip())
    if unit is None:
        raise BadRequestError(f"`{parameter}`: {text.strip()!r} is not a valid date, use YYYY-MM-DD")
    return unit[side]
