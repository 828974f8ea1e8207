"""Records that move from a DETAIL endpoint to the SEARCH endpoint that owns them."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RecordMerge:
    """What became of the rows of one DETAIL endpoint."""

    source: str
    endpoint: str
    into: str
    merged: int = 0
    """Records that had a row under both endpoints."""
    moved: int = 0
    """Records that had a row under the DETAIL endpoint only."""
    quarantined: int = 0
    """Rows of quarantine that were merged or moved."""

    @property
    def rows(self) -> int:
        """Rows that left the DETAIL endpoint."""
        return self.merged + self.moved + self.quarantined

    def json(self) -> dict[str, Any]:
        """As scripts read it."""
        return {
            "source": self.source,
            "endpoint": self.endpoint,
            "into": self.into,
            "merged": self.merged,
            "moved": self.moved,
            "quarantined": self.quarantined,
        }
