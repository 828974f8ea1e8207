"""Leased tasks, and where they come from."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ingest_core.model.checkpoint import Checkpoint
from ingest_core.model.id_range import IdRange
from ingest_core.model.lease import Lease
from ingest_core.model.namespace import Namespace
from ingest_core.model.partition import Partition
from ingest_core.model.slice_spec import BudgetPayload
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.window import Window

ID_FIELD = "provider_id"
"""The field that a slice of ids asks for in its expression."""


@dataclass(frozen=True)
class Lineage:
    """The ids of all rows above a row, from the trigger down."""

    schedule_instance_id: int
    """The trigger."""
    plan_id: int
    slice_id: int
    task_id: int
    run_id: int | None = None
    """The attempt; None before one has begun."""


@dataclass(frozen=True)
class FlowRun:
    """The Prefect flow run and task run of an attempt; both None outside Prefect."""

    flow_run_id: str | None = None
    flow_task_run_id: str | None = None


@dataclass(frozen=True)
class Task:
    """A leased task with everything needed to execute it."""

    lease: Lease
    lineage: Lineage
    partition: Partition
    namespace: Namespace
    """The cursor that the task's coverage counts for."""
    spec: SpecSnapshot
    """The plan's compiled source; later changes of the Registry do not reach the task."""
    window: Window
    """The time that the slice owns, `[from, to)`."""
    slice_no: int
    """Position of the slice in its plan, from 1."""
    expr_hash: str
    """Hash of the slice's expression, window included."""
    checkpoint: Checkpoint
    """Where the attempt continues."""
    attempt_no: int
    """The number of this attempt, from 1."""
    priority: int = 5
    """Smaller is more urgent; quotas are kept for the more urgent ones."""
    params: dict[str, Any] = field(default_factory=dict)
    """The task's stored parameters."""
    range: IdRange | None = None
    """The part of a second field that the slice reads, where one unit of time was too large."""
    ids: tuple[str, ...] = ()
    """The records to refresh, for an UPDATE by id."""
    watermark: datetime | None = None
    """The cursor's value when the task was claimed: records below it arrived late."""
    budget: BudgetPayload | None = None
    """Requests, records and seconds after which the task goes back to the queue."""
    slice_count: int = 0
    """Number of slices of the plan."""
    control_version: int = 0
    """Version of the partition's control row at the claim; a fuse applies only if it has not changed since."""

    @property
    def item_endpoint(self) -> str:
        """The endpoint that the records are stored under: the SEARCH endpoint, never DETAIL."""
        return self.spec.item_endpoint or self.partition.endpoint_name
