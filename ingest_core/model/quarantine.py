"""Quarantined records as people and retries see them."""

from dataclasses import dataclass
from typing import Any

from ingest_core.model.window import Window


@dataclass(frozen=True)
class Quarantined:
    """One row: whose it is, and what asking again needs: an id, or the window it was found in and the query."""

    row_id: int
    source: str
    endpoint: str
    provider_id: str | None
    seen_count: int
    window: Window | None
    query: str | None


@dataclass(frozen=True)
class Refusal:
    """Rows that cannot be asked for again, and why."""

    row_ids: list[int]
    reason: str


@dataclass(frozen=True)
class Redriven:
    """Rows that will be asked for again, and how."""

    row_ids: list[int]
    source: str
    endpoint: str
    operation: str
    campaign: str
    plan_id: int | None = None

    def json(self) -> dict[str, Any]:
        """As reports show it."""
        return {
            "ids": self.row_ids,
            "provenance": self.source,
            "endpoint": self.endpoint,
            "operation": self.operation,
            "campaign": self.campaign,
            "plan_id": self.plan_id,
        }
