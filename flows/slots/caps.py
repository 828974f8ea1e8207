"""How many tasks may be worked at a time: the names of Prefect's limits, and their defaults."""

from ingest_core.model.codes import Operation
from ingest_core.model.partition import Partition

TOTAL = "ingest.total"
"""The limit that every task counts under."""

MOST_BY_DEFAULT = 4
_PREFIX = "ingest."
_PARTS = 4
_OPERATIONS = {operation.lower() for operation in Operation}


def limit_name(partition: Partition) -> str:
    """The name of a partition's limit."""
    return f"{_PREFIX}{partition}"


def is_partition_limit(name: str) -> bool:
    """Whether a limit of that name is a partition's, and so ours."""
    parts = name.split(".")
    return name.startswith(_PREFIX) and len(parts) == _PARTS and parts[-1] in _OPERATIONS


def default_cap(total: int, scheduled_sources: int) -> int:
    """A partition's cap where the Registry has none: a fair share of the total."""
    return max(1, min(MOST_BY_DEFAULT, total // max(1, scheduled_sources)))
