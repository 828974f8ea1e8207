"""The number of records that may be missing from a stated total before a slice counts as incomplete."""

LEAST = 2
MOST = 20
PERCENT = 100


def shortfall_limit(total: int, configured: int | None = None) -> int:
    """The most records that may be missing from `total`: `configured` if set, otherwise 1 %, at least 2, at most 20."""
    return configured if configured is not None else max(LEAST, min(MOST, total // PERCENT))
