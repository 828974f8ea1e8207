"""Whether a stored value is what its events say."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from ingest_core.cursor.frontier import Position
from ingest_core.model.namespace import Namespace


class CursorVerdict(StrEnum):
    """How a stored value stands to its events."""

    EQUAL = "EQUAL"
    BEHIND = "BEHIND"
    AHEAD = "AHEAD"
    LOST = "LOST"


def compare_with_events(stored: Position, rebuilt: Position, *, descending: bool = False) -> CursorVerdict:
    """Where the stored value stands to what its events say."""
    if stored == rebuilt:
        return CursorVerdict.EQUAL
    return CursorVerdict.BEHIND if (rebuilt < stored) == descending else CursorVerdict.AHEAD


class Ahead(StrEnum):
    """Why a value is ahead of its events."""

    FUTURE = "it stands in the future"
    CUT_SHORT = "readings that end after they were made count only up to there"
    VOIDED = "readings were voided: they are dated ahead of the database's clock"
    MISSING = "events are missing"


@dataclass(frozen=True)
class Rebuilt:
    """What a cursor's events say of its value; `missing` are the events that are known to lack."""

    namespace: Namespace
    verdict: CursorVerdict
    stored: str | None
    rebuilt: str | None
    holes: list[dict[str, str]] = field(default_factory=list)
    missing: list[dict[str, Any]] = field(default_factory=list)
    applied: bool = False
    why: str | None = None
    """Of a value that is ahead: why, as far as that is known."""

    @property
    def agrees(self) -> bool:
        """Whether the stored value is what the events say, and none is known to lack."""
        return self.verdict == CursorVerdict.EQUAL and not self.missing

    def json(self) -> dict[str, Any]:
        """As reports show it."""
        partition = self.namespace.partition
        return {
            "provenance": partition.provenance_code,
            "endpoint": partition.endpoint_name,
            "operation": partition.operation_code.value,
            "namespace_key": self.namespace.key,
            "verdict": self.verdict.value,
            "stored": self.stored,
            "rebuilt": self.rebuilt,
            "why": self.why,
            "holes": self.holes,
            "missing": self.missing,
            "applied": self.applied,
        }


def applied(before: Rebuilt, after: Rebuilt) -> Rebuilt:
    """What a repair came to: where the value stood, and where it stands now."""
    return replace(after, stored=before.stored, rebuilt=after.stored, why=before.why, applied=True)
