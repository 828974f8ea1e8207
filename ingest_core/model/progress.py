"""How far plans and partitions are: rows as reports give them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ingest_core.model.codes import LIVE_TASKS, PlanStatus, TaskStatus
from ingest_core.model.record import Counts


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
class PlanOutcome:
    """What has become of a plan so far."""

    plan_id: int
    flow_run_id: str
    """The Prefect flow run that made the plan."""
    status: PlanStatus
    tasks: Mapping[TaskStatus, int]
    """How many tasks are in which state."""
    counts: Counts
    """What became of the records, over all attempts that have ended."""
    weak_ends: int = 0
    """How many slices ended without a total that confirms it."""

    @property
    def ended(self) -> int:
        """How many tasks are over."""
        return sum(number for status, number in self.tasks.items() if status not in LIVE_TASKS)
