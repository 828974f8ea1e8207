"""Quarantined records as people and retries see them."""

from dataclasses import dataclass
from typing import Any

from ingest_core.model.window import Window


@dataclass(frozen=True)
class Quarantined:
    """One row: whose it is, and what asking again needs: an id, or the window it was found in and the query."""

    row_id: int
    source: str
    """Code of the source."""
    endpoint: str
    """The endpoint that it was received from."""
    provider_id: str | None
    """Id of the record, if it was readable."""
    seen_count: int
    """How many times it was rejected."""
    window: Window | None
    """The window it was found in; None for a refresh by id."""
    query: str | None
    """The trigger's own query, if it had one."""


@dataclass(frozen=True)
class QuarantineCount:
    """The number of rejected records of one source, reason and state."""

    source: str
    reason_code: str
    state: str
    records: int


@dataclass(frozen=True)
class QuarantineEntry:
    """A row in short, as lists show it."""

    row_id: int
    """Row in `ing_quarantine`."""
    source: str
    """Code of the source."""
    endpoint: str
    """The endpoint that it was received from."""
    provider_id: str | None
    """Id of the record, if it was readable."""
    reason_code: str
    """Why it was rejected."""
    json_path: str | None
    """The path of the value that could not be used."""
    state: str
    """State of the row."""

    def json(self) -> dict[str, Any]:
        """As scripts read it."""
        return {
            "id": self.row_id,
            "provenance": self.source,
            "endpoint": self.endpoint,
            "provider_id": self.provider_id,
            "reason_code": self.reason_code,
            "json_path": self.json_path,
            "state": self.state,
        }


@dataclass(frozen=True)
class Settled:
    """A row whose state an operator has set."""

    row_id: int
    before: str
    after: str

    def json(self) -> dict[str, Any]:
        """As scripts read it."""
        return {"id": self.row_id, "from": self.before, "to": self.after}


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
