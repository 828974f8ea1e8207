"""How far a provider's clock is behind ours, by the `Date` of its answers."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

NOISE = timedelta(seconds=2)
"""A `Date` has whole seconds, and may have been written before the answer was."""

CREDIBLE = timedelta(days=1)
"""A larger difference is no clock: a simulation, or an answer out of an archive."""


def seconds_behind(headers: Mapping[str, str], now: datetime, since_asked: float) -> int:
    """Whole seconds the provider's clock is behind, as far as is certain; 0 where it says nothing."""
    said = headers.get("date")
    cached = headers.get("age", "0").strip() not in ("", "0")  # and has the date of the origin's answer
    if said is None or cached:
        return 0
    try:
        stated = parsedate_to_datetime(said)
    except ValueError:
        return 0
    if stated.tzinfo is None:
        stated = stated.replace(tzinfo=UTC)
    behind = now - timedelta(seconds=since_asked) - stated - NOISE
    return max(0, int(behind.total_seconds())) if behind < CREDIBLE else 0
