"""The conditions a query is made of, and the times outside of which it finds nothing."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

S = TypeVar("S")
S_contra = TypeVar("S_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Span:
    """Instants from the first of `from` to before `to`; None is open."""

    from_ms: int | None = None
    to_ms: int | None = None

    def holds(self, ms: int) -> bool:
        """True when the instant is within."""
        return (self.from_ms is None or ms >= self.from_ms) and (self.to_ms is None or ms < self.to_ms)


ALWAYS = Span()


class Condition(Protocol[S_contra]):
    """What something must be to be found."""

    def fits(self, subject: S_contra) -> bool:
        """True when it is found."""


class Dated(Protocol):
    """What has dates a search can ask for."""

    def date_ms(self, field: str) -> int | None:
        """The instant in a date field; None when there is none, or no such field."""


@dataclass(frozen=True, slots=True)
class Within:
    """A date field within a span."""

    field: str
    limits: Span

    def fits(self, subject: Dated) -> bool:
        """True when the field's instant is within."""
        ms = subject.date_ms(self.field)
        return ms is not None and self.limits.holds(ms)


@dataclass(frozen=True, slots=True)
class All(Generic[S]):
    """Every part holds."""

    parts: tuple[Condition[S], ...]

    def fits(self, subject: S) -> bool:
        """True when each part fits."""
        return all(part.fits(subject) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Some(Generic[S]):
    """At least one part holds."""

    parts: tuple[Condition[S], ...]

    def fits(self, subject: S) -> bool:
        """True when a part fits."""
        return any(part.fits(subject) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Without(Generic[S]):
    """The part does not hold."""

    part: Condition[S]

    def fits(self, subject: S) -> bool:
        """True when the part does not fit."""
        return not self.part.fits(subject)


def all_of(parts: list[Condition[S]]) -> Condition[S]:
    """Every part; a lone one as it is."""
    return parts[0] if len(parts) == 1 else All(tuple(parts))


def some_of(parts: list[Condition[S]]) -> Condition[S]:
    """One of the parts; a lone one as it is."""
    return parts[0] if len(parts) == 1 else Some(tuple(parts))


def span_of(condition: object, field: str) -> Span:
    """Nothing whose date field is outside of this is found."""
    if isinstance(condition, Within) and condition.field == field:
        return condition.limits
    spans = [span_of(part, field) for part in condition.parts] if isinstance(condition, All) else []
    starts = (span.from_ms for span in spans if span.from_ms is not None)
    ends = (span.to_ms for span in spans if span.to_ms is not None)
    return Span(max(starts, default=None), min(ends, default=None))


def read_tokens(token: re.Pattern[str], text: str, most: int, wrong: Callable[[int], Exception]) -> list[re.Match[str]]:
    """The text in pieces; where there is none, or one too many, what is wrong there is raised."""
    found: list[re.Match[str]] = []
    place = 0
    while text[place:].strip():
        piece = token.match(text, place)
        if piece is None or len(found) == most:
            raise wrong(place)
        found.append(piece)
        place = piece.end()
    return found
