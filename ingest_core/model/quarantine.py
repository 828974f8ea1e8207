"""Quarantined records as people and retries see them."""

from dataclasses import dataclass, fields
from datetime import datetime
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
class QuarantineRecord:
    """A row whole, as exports write it."""

    entry: QuarantineEntry
    """The row in short."""
    operation: str
    """The operation that received it."""
    fragment: str
    """Text of the record, shortened and redacted."""
    fragment_hash: str
    """Hash of the whole text."""
    plan_id: int | None
    slice_id: int | None
    task_id: int | None
    run_id: int | None
    batch_no: int | None
    """Page of the run."""
    seen_count: int
    """How many times it was rejected."""
    remarks: dict[str, Any] | None
    """What set its state, as stored."""
    created_at: datetime
    """When it was rejected first."""
    updated_at: datetime
    """When the row was last changed."""

    def json(self) -> dict[str, Any]:
        """As scripts read it."""
        names = [one.name for one in fields(self) if one.name != "entry"]
        return {**self.entry.json(), **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True)
class UsableRecord:
    """The stored record of the same id."""

    row_id: int
    """Row in `ing_item`."""
    source_updated_at: datetime
    """Update time as the provider states it."""
    last_run_id: int
    """Run that wrote it last."""
    last_batch_no: int
    """Page of that run."""
    updated_at: datetime
    """When the row was last changed."""

    def json(self) -> dict[str, Any]:
        """As scripts read it."""
        return {
            "id": self.row_id,
            "source_updated_at": self.source_updated_at,
            "last_run_id": self.last_run_id,
            "last_batch_no": self.last_batch_no,
            "updated_at": self.updated_at,
        }


@dataclass(frozen=True)
class RefreshRequest:
    """The refresh by id that waits for a rejected record, or was made."""

    endpoint: str
    """The endpoint that is asked."""
    state: str
    """State of the request."""
    updated_at: datetime
    """When the request was last changed."""

    def json(self) -> dict[str, Any]:
        """As scripts read it."""
        return {"endpoint": self.endpoint, "state": self.state, "updated_at": self.updated_at}


@dataclass(frozen=True)
class QuarantineReport:
    """A row whole, where it was found, and what became of it."""

    record: QuarantineRecord
    """The row."""
    window: Window | None
    """Window of the task that received it."""
    item: UsableRecord | None
    """The usable record of the same id, if one is stored."""
    signal: RefreshRequest | None
    """The refresh by id, if it was retried so."""

    def json(self) -> dict[str, Any]:
        """As scripts read it."""
        return {
            **self.record.json(),
            "window": self.window.json() if self.window else None,
            "item": self.item.json() if self.item else None,
            "signal": self.signal.json() if self.signal else None,
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
