"""Ranges of whole numbers, both ends in: how a slice that time cannot cut is cut by a second field."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from ingest_core.model.slice_codes import EdgeKind

CLOSED = {"from": EdgeKind.CLOSED.value, "to": EdgeKind.CLOSED.value}


class Without(StrEnum):
    """Which part reads the records that lack the field: they are in no range of numbers."""

    INCLUDED = "INCLUDED"
    """The range that is open below answers for them. Ranges stored before schema level 5 say so."""
    EXCLUDED = "EXCLUDED"
    """A sibling of this range does."""
    ONLY = "ONLY"
    """This part does, and it has no numbers."""


@dataclass(frozen=True)
class IdRange:
    """The numbers of a field from `start` to `end`; an end that is None is open."""

    field: str
    start: int | None = None
    end: int | None = None
    without: Without = Without.INCLUDED

    def __post_init__(self) -> None:
        if self.start is not None and self.end is not None and self.start > self.end:
            raise ValueError(f"empty range of {self.field}: {self.start} > {self.end}")
        if self.start is not None and self.without is not Without.INCLUDED:
            raise ValueError(f"{self.field}: only a range that is open below can answer for records without the field")
        if self.end is not None and self.without is Without.ONLY:
            raise ValueError(f"{self.field}: a part for records without the field has no numbers")

    def __str__(self) -> str:
        if self.is_unset:
            return f"without {self.field}"
        return f"{self.field} {'' if self.start is None else self.start}..{'' if self.end is None else self.end}"

    @property
    def is_unset(self) -> bool:
        """Whether this is the part for the records that lack the field."""
        return self.without is Without.ONLY

    @property
    def answers_for_unset(self) -> bool:
        """Whether a window of which this part was read has had its records without the field read."""
        return self.is_unset or (self.start is None and self.without is Without.INCLUDED)

    @property
    def asked(self) -> "IdRange":
        """The part as the provider is asked for it: of a range, its numbers alone."""
        return self if self.is_unset else replace(self, without=Without.INCLUDED)

    def json(self) -> dict[str, Any]:
        """As slices, events and re-slice requests keep it."""
        without = {} if self.without is Without.INCLUDED else {"without": self.without.value}
        return {"key": self.field, "from": _text(self.start), "to": _text(self.end), "boundary": CLOSED, **without}

    def cut(self, middle: int) -> tuple["IdRange", "IdRange"]:
        """The numbers up to `middle`, and the others."""
        return replace(self, end=middle), IdRange(self.field, middle + 1, self.end)

    def apart(self) -> tuple["IdRange", "IdRange | None"]:
        """The numbers alone, and the part for records without the field if this range answered for them."""
        if self.is_unset or not self.answers_for_unset:
            return self, None
        return replace(self, without=Without.EXCLUDED), unset_part(self.field)


def unset_part(field: str) -> IdRange:
    """The part for the records that lack the field."""
    return IdRange(field, without=Without.ONLY)


def range_of(value: dict[str, Any] | None) -> IdRange | None:
    """The range a stored value stands for."""
    if value is None:
        return None
    start, end = (None if value.get(end) is None else int(value[end]) for end in ("from", "to"))
    return IdRange(value["key"], start, end, Without(value.get("without", Without.INCLUDED)))


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


def _order(part: IdRange) -> tuple[bool, int]:
    return part.start is not None, part.start or 0


def missing_ranges(field: str, taken: Iterable[IdRange]) -> list[IdRange]:
    """What `taken` leaves out of all numbers, in order, and of the records without the field."""
    mine = [one for one in taken if one.field == field]
    holes = _holes(field, [one for one in mine if not one.is_unset])
    unset_taken = any(one.answers_for_unset for one in mine)
    if holes and holes[0].start is None:
        return [replace(holes[0], without=Without.EXCLUDED) if unset_taken else holes[0], *holes[1:]]
    return holes if unset_taken else [*holes, unset_part(field)]


def _holes(field: str, taken: Iterable[IdRange]) -> list[IdRange]:
    missing: list[IdRange] = []
    start: int | None = None
    for one in sorted(taken, key=_order):
        if one.start is not None and (start is None or one.start > start):
            missing.append(IdRange(field, start, one.start - 1))
        if one.end is None:
            return missing
        start = one.end + 1 if start is None else max(start, one.end + 1)
    return [*missing, IdRange(field, start, None)]
