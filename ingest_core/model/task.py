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
    """Where a row comes from, all the way up."""

    schedule_instance_id: int
    plan_id: int
    slice_id: int
    task_id: int
    run_id: int | None = None


@dataclass(frozen=True)
class FlowRun:
    """The Prefect run and task run an attempt belongs to, if any."""

    flow_run_id: str | None = None
    flow_task_run_id: str | None = None


@dataclass(frozen=True)
class Task:
    """A leased task with all it needs: its snapshot, its window and its checkpoint."""

    lease: Lease
    lineage: Lineage
    partition: Partition
    namespace: Namespace
    spec: SpecSnapshot
    window: Window
    slice_no: int
    expr_hash: str
    checkpoint: Checkpoint
    attempt_no: int
    params: dict[str, Any] = field(default_factory=dict)
    range: IdRange | None = None
    ids: tuple[str, ...] = ()
    watermark: datetime | None = None
    budget: BudgetPayload | None = None
    slice_count: int = 0
    """How many slices its plan has."""
    control_version: int = 0
    """Of the partition's control, as it was when the task was claimed."""

    @property
    def item_endpoint(self) -> str:
        """The endpoint whose records these are: never the one that only gives details."""
        return self.spec.item_endpoint or self.partition.endpoint_name
