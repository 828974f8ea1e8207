"""Rows of the Registry that an apply adds or closes, and those that were in force."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ingest_core.model.instant import format_instant


@dataclass(frozen=True)
class RowChange:
    """A row that is added or closed; a replaced row is one of each."""

    source: str
    """Code of the source."""
    table: str
    """Table of the row, such as `reg_prov_http_cfg`."""
    change: str
    """`added` or `closed`."""
    row: dict[str, Any]
    """The columns that have a value, without bookkeeping."""

    def json(self) -> dict[str, Any]:
        """As scripts read it."""
        return {"source": self.source, "table": self.table, "change": self.change, "row": self.row}


@dataclass(frozen=True)
class RowVersion:
    """A row that is or was in force, and when."""

    table: str
    """Table of the row, such as `reg_prov_http_cfg`."""
    opened_at: datetime
    """Since when it is or was in force."""
    closed_at: datetime | None
    """Until when; None for a row in force."""
    row: dict[str, Any]
    """The columns that have a value, without bookkeeping."""

    def json(self) -> dict[str, Any]:
        """As scripts read it."""
        return {
            "table": self.table,
            "opened_at": format_instant(self.opened_at),
            "closed_at": format_instant(self.closed_at) if self.closed_at else None,
            "row": self.row,
        }
