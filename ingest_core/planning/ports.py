"""What planning needs from a store, and what the store promises."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, TypeVar

from ingest_core.model.window import Window
from ingest_core.model.work import CursorState, Namespace, Partition
from ingest_core.planning.needs import Ground
from ingest_core.planning.request import PlanRequest, Trigger
from ingest_core.planning.slicing import SliceDraft

T = TypeVar("T")


@dataclass(frozen=True)
class PlanHead:
    """A plan about to be stored."""

    plan_key: str
    instance_id: int
    namespace: Namespace
    start: datetime
    end: datetime
    snapshot: dict[str, Any]
    fingerprint: str
    expression: dict[str, Any]
    expr_proto_hash: str
    settled: datetime | None
    slice_params: dict[str, Any]
    remarks: dict[str, Any]


@dataclass(frozen=True)
class StoredPlan:
    """A plan as it stands in the store."""

    plan_id: int
    plan_key: str
    status: str
    start: datetime
    end: datetime
    slices: int
    tasks: int
    remarks: dict[str, Any] = field(default_factory=dict)


class PlanTransaction(Protocol):
    """One planning transaction: what it writes is seen together or not at all."""

    def find_plan(self, plan_key: str) -> StoredPlan | None:
        """The plan of that key, if it exists."""

    def lock_cursor(self, namespace: Namespace) -> CursorState | None:
        """The namespace's watermark, locked until the transaction ends."""

    def predecessor(self, namespace: Namespace) -> datetime | None:
        """The watermark of the Registry's query before this one, if there was one; a trigger's own query is none."""

    def ground(self, namespace: Namespace, window: Window) -> Ground:
        """What is known of the window."""

    def insert_plan(self, head: PlanHead, *, anchor: bool, drafts: Iterable[SliceDraft]) -> StoredPlan:
        """Plan, slices, tasks and, for a first plan, the anchor."""


class PlanStore(Protocol):
    """Triggers and plans: the same trigger key always finds the same rows."""

    def record_trigger(self, trigger: Trigger, request: PlanRequest, partition: Partition) -> int:
        """The trigger's row, made once; BadInput when its key was used for another request."""

    def note_trigger(self, instance_id: int, remarks: dict[str, Any]) -> None:
        """Write down what became of a trigger."""

    def transact(self, work: Callable[[PlanTransaction], T]) -> T:
        """Run `work` in one transaction, again when another was in the way."""

    def look(self) -> AbstractContextManager[PlanTransaction]:
        """A transaction that writes nothing."""
