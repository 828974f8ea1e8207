"""Partitions: the unit that caps, pauses and claims apply to."""

from dataclasses import dataclass

from ingest_core.model.codes import ControlState, Operation
from ingest_core.model.spec import SpecSnapshot


@dataclass(frozen=True, order=True)
class Partition:
    """Work that shares a cap: one endpoint of one source for one operation."""

    provenance_code: str
    """The source, in lower case: `crossref`."""
    endpoint_name: str
    """The endpoint of the source, in lower case: `works`."""
    operation_code: Operation
    """HARVEST, BACKFILL or UPDATE."""

    def __str__(self) -> str:
        return f"{self.provenance_code}.{self.endpoint_name}.{self.operation_code.lower()}"


def partition_of(spec: SpecSnapshot) -> Partition:
    """The partition that the snapshot's work belongs to."""
    return Partition(spec.provenance_code, spec.endpoint_name, spec.operation_code)


@dataclass(frozen=True)
class Due:
    """Claimable tasks of a partition: all of one priority, or a single one."""

    partition: Partition
    priority: int
    """1 to 9; smaller is more urgent."""
    task_id: int | None = None
    """The single task; None for all tasks of the priority."""
    shared: bool = False
    """Whether other partitions have claimable tasks of the same priority: they are then served in rotation."""


@dataclass(frozen=True)
class SlotCaps:
    """Maximum numbers of concurrent tasks, as counted by the concurrency limits that a slot was taken from."""

    partition: int
    """Of the slot's partition."""
    total: int
    """Of all partitions together."""


@dataclass(frozen=True)
class Resting:
    """A partition that is PAUSED or FUSED."""

    partition: Partition
    state: ControlState
    reason: str | None
    """Why it was stopped, in words for an operator."""
    waiting: int
    """Tasks that are queued until an operator resumes the partition."""
