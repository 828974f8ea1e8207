"""Ranges of whole numbers, both ends in: how a slice that time cannot cut is cut by a second field."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ingest_core.model.slice_codes import EdgeKind

CLOSED = {"from": EdgeKind.CLOSED.value, "to": EdgeKind.CLOSED.value}


@dataclass(frozen=True)
class IdRange:
    """The numbers of a field from `start` to `end`; an end that is None is open."""

    field: str
    start: int | None = None
    end: int | None = None

    def __post_init__(self) -> None:
        if self.start is not None and self.end is not None and self.start > self.end:
            raise ValueError(f"empty range of {self.field}: {self.start} > {self.end}")

    def json(self) -> dict[str, Any]:
        """As slices, events and re-slice requests keep it."""
        return {"key": self.field, "from": _text(self.start), "to": _text(self.end), "boundary": CLOSED}

    def cut(self, middle: int) -> tuple["IdRange", "IdRange"]:
        """The numbers up to `middle`, and the others."""
        return IdRange(self.field, self.start, middle), IdRange(self.field, middle + 1, self.end)


def range_of(value: dict[str, Any] | None) -> IdRange | None:
    """The range a stored value stands for."""
    if value is None:
        return None
    return IdRange(value["key"], *(None if value.get(end) is None else int(value[end]) for end in ("from", "to")))


def _text(number: int | None) -> str | None:
    return None if number is None else str(number)


def _order(part: IdRange) -> tuple[bool, int]:
    return part.start is not None, part.start or 0


def missing_ranges(field: str, taken: Iterable[IdRange]) -> list[IdRange]:
    """What of all numbers is in none of `taken`, in order."""
    missing: list[IdRange] = []
    start: int | None = None
    for one in sorted((one for one in taken if one.field == field), key=_order):
        if one.start is not None and (start is None or one.start > start):
            missing.append(IdRange(field, start, one.start - 1))
        if one.end is None:
            return missing
        start = one.end + 1 if start is None else max(start, one.end + 1)
    return [*missing, IdRange(field, start, None)]
