"""Partitions: the unit that caps, pauses and claims apply to."""

from dataclasses import dataclass

from ingest_core.model.codes import ControlState, Operation
from ingest_core.model.spec import SpecSnapshot


@dataclass(frozen=True, order=True)
class Partition:
    """Work that shares a cap: one endpoint of one source for one operation."""

    provenance_code: str
    endpoint_name: str
    operation_code: Operation

    def __str__(self) -> str:
        return f"{self.provenance_code}.{self.endpoint_name}.{self.operation_code.lower()}"


def partition_of(spec: SpecSnapshot) -> Partition:
    """Whose cap the snapshot's work shares."""
    return Partition(spec.provenance_code, spec.endpoint_name, spec.operation_code)


@dataclass(frozen=True)
class Due:
    """Tasks of a partition that wait to be worked: those of one priority, or one of them."""

    partition: Partition
    priority: int
    task_id: int | None = None
    shared: bool = False
    """Whether tasks of other partitions wait at the same priority: then these take turns."""


@dataclass(frozen=True)
class SlotCaps:
    """How many tasks may be worked at a time, as whoever gave a slot counts: of its partition, and in all."""

    partition: int
    total: int


@dataclass(frozen=True)
class Resting:
    """A partition that is not active, and how many of its tasks wait for somebody to resume it."""

    partition: Partition
    state: ControlState
    reason: str | None
    waiting: int
