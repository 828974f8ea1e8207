"""Stored records as exports choose and give them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class StoredItem:
    """The common fields beside the payload, which is the provider's own text."""

    provider_id: str
    """The record's id, normalised."""
    endpoint: str
    """The SEARCH endpoint it is stored under."""
    source_updated_at: datetime
    """Update time as the provider states it."""
    source_version: str | None
    """Version as the provider states it."""
    state: str
    """PRESENT or GONE."""
    record: dict[str, Any]
    """The common fields."""
    payload: str
    """The provider's own text."""


@dataclass(frozen=True)
class ItemChoice:
    """Which records: of a source, of an endpoint of it, updated at the source in `[since, until)`."""

    source: str
    endpoint: str | None = None
    since: datetime | None = None
    until: datetime | None = None
