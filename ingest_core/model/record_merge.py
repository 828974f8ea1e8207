"""Records that move from a DETAIL endpoint to the SEARCH endpoint that owns them."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PendingMerge:
    """Rows of one DETAIL endpoint that a merge would take up."""

    source: str
    """Code of the source."""
    endpoint: str
    """The DETAIL endpoint that the rows are stored under."""
    into: str
    """The SEARCH endpoint that owns the records."""
    records: int
    """Records under the DETAIL endpoint."""
    quarantined: int
    """Rows of quarantine under it."""

    def json(self) -> dict[str, Any]:
        """As scripts read it."""
        return {
            "source": self.source,
            "endpoint": self.endpoint,
            "into": self.into,
            "records": self.records,
            "quarantined": self.quarantined,
        }


@dataclass(frozen=True)
class RecordMerge:
    """What became of the rows of one DETAIL endpoint."""

    source: str
    """Code of the source."""
    endpoint: str
    """The DETAIL endpoint that the rows were stored under."""
    into: str
    """The SEARCH endpoint that owns the records."""
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
