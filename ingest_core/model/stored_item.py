"""Stored records as exports choose and give them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class StoredItem:
    """The common fields beside the payload, which is the provider's own text."""

    provider_id: str
    endpoint: str
    source_updated_at: datetime
    source_version: str | None
    state: str
    record: dict[str, Any]
    payload: str


@dataclass(frozen=True)
class ItemChoice:
    """Which records: of a source, of an endpoint of it, updated at the source in `[since, until)`."""

    source: str
    endpoint: str | None = None
    since: datetime | None = None
    until: datetime | None = None
