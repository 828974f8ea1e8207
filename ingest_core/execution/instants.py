"""Times as providers write them."""

from datetime import UTC, datetime
from typing import Any

from ingest_core.model.instant import as_utc

_EPOCH_MS_FROM = 10_000_000_000
"""Numbers from here on are milliseconds: as seconds they would be past the year 2286."""


def parse_source_time(value: Any) -> datetime | None:
    """The instant a provider means: ISO 8601, or seconds or milliseconds since 1970; None when it is no time."""
    try:
        if isinstance(value, str):
            return as_utc(datetime.fromisoformat(value.strip()))
        if isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1000 if abs(value) >= _EPOCH_MS_FROM else value
            return datetime.fromtimestamp(seconds, tz=UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None
