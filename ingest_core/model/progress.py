"""How far plans and partitions are: rows as reports give them."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PartitionStatus:
    """A partition's control, and its tasks by state."""

    source: str
    endpoint: str
    operation: str
    control: str
    counts: dict[str, int]
    """Number of tasks for every state, 0 included."""

    def json(self) -> dict[str, Any]:
        """As scripts read it."""
        return {
            "provenance": self.source,
            "endpoint": self.endpoint,
            "operation": self.operation,
            "control": self.control,
            "counts": self.counts,
        }


@dataclass(frozen=True)
class PlanProgress:
    """What of a plan is done."""

    tasks: int
    ended: int
    """Tasks in a final state."""
    pages: int
    """Committed pages."""
    records: int
    """Records on committed pages."""


@dataclass(frozen=True)
class TaskProgress:
    """What of a task is done."""

    records: int
    """Records on committed pages of all its attempts."""
    expected: int
    """Estimated records of its slice; 0 where they are not known."""


@dataclass(frozen=True)
class PlanRun:
    """The flow run of a plan, and how many of the plan's slices ended without a total that confirms it."""

    flow_run_id: str
    weak_ends: int
