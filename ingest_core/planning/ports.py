"""What planning needs from a store, and what the store promises."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

from ingest_core.model.codes import ControlState, PlanStatus
from ingest_core.model.cursor import Coverage, CursorState
from ingest_core.model.id_range import IdRange
from ingest_core.model.namespace import Namespace
from ingest_core.model.partition import Partition
from ingest_core.model.quarantine import Quarantined
from ingest_core.model.record import Arrivals
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.window import Window
from ingest_core.planning.estimate import Estimate, History, WindowPart
from ingest_core.planning.request import PlanRequest, Trigger
from ingest_core.planning.slicing import SliceDraft

T = TypeVar("T")


@dataclass(frozen=True)
class PlanHead:
    """A plan about to be stored."""

    plan_key: str
    """Unique key: the same trigger finds the same plan."""
    instance_id: int
    """The trigger in `ing_schedule_instance`."""
    namespace: Namespace
    """The cursor that the plan moves."""
    start: datetime
    """Start of the window."""
    end: datetime
    """End of the window, exclusive."""
    spec: SpecSnapshot
    """The compiled source."""
    strategy: str
    """Code of the slice strategy."""
    slice_params: dict[str, Any]
    """The strategy's parameters, as stored."""


@dataclass(frozen=True)
class Anchor:
    """Where a namespace begins, which way it runs, and what a campaign was asked for."""

    value: datetime
    """The value the cursor starts at."""
    window: Window
    """The window of the first plan."""
    bound_from: datetime | None = None
    """Start of the period that a campaign was asked for."""
    bound_to: datetime | None = None
    """End of that period."""
    descending: bool = False
    """Whether the cursor moves from newest to oldest."""


@dataclass(frozen=True)
class StoredPlan:
    """A plan as it stands in the store."""

    plan_id: int
    plan_key: str
    """Unique key of the plan."""
    status: str
    """State of the plan."""
    start: datetime
    """Start of the window."""
    end: datetime
    """End of the window, exclusive."""
    slices: int
    """Number of slices."""
    tasks: int
    """Number of tasks."""
    remarks: dict[str, Any] = field(default_factory=dict)
    """What planning decided and warned about, as stored."""


@dataclass(frozen=True)
class Control:
    """Whether a partition may work, and why not."""

    state: ControlState = ControlState.ACTIVE
    """ACTIVE, PAUSED or FUSED."""
    reason: str | None = None
    """Why the partition was stopped."""


@dataclass(frozen=True)
class Reslice:
    """A request to cut what is left of a slice, with the slice it came from."""

    request_id: int
    """Row in `ing_reslice_request`."""
    key: str
    """Unique key: a repetition makes the same slices."""
    plan_id: int
    """Plan of the slice."""
    instance_id: int
    """Trigger of the plan."""
    plan_key: str
    """Key of the plan."""
    namespace: Namespace
    """The cursor that the plan moves."""
    spec: SpecSnapshot
    """The compiled source of the plan."""
    strategy: str
    """Code of the slice strategy."""
    parent: Window
    """Window of the slice that is cut."""
    parent_range: IdRange | None
    """Its part of a second field, if it had one."""
    window: Window
    """The window that remains to be read."""
    range: IdRange | None
    """The part of a second field that remains."""
    lag_seconds: int
    """Lag that the plan kept from now."""
    priority: int
    """Priority of the slice's task."""


class PlanTransaction(Protocol):
    """One planning transaction: what it writes is seen together or not at all."""

    def control(self, partition: Partition) -> Control:
        """The partition's control as it is now; ACTIVE where it has no row yet."""

    def lock_control(self, partition: Partition) -> Control:
        """The partition's control, locked until the transaction ends: plans of a partition are stored one by one.

        A row is inserted where there is none, because only a row can be locked.
        """

    def find_plan(self, plan_key: str) -> StoredPlan | None:
        """The plan of that key, if it exists."""

    def lock_cursor(self, namespace: Namespace) -> CursorState | None:
        """The namespace's watermark, locked until the transaction ends."""

    def other_cursor(self, namespace: Namespace) -> CursorState | None:
        """Another namespace's watermark, as it is now; nothing is locked."""

    def predecessor(self, namespace: Namespace) -> datetime | None:
        """The watermark of the Registry's query before this one, if there was one; a trigger's own query is none."""

    def arrivals(self, namespace: Namespace, since: datetime, clock_since: datetime) -> Arrivals:
        """What came on the days after `since`; how late the provider's clock was, on the days after `clock_since`."""

    def coverage(self, namespace: Namespace, window: Window) -> Iterator[Coverage]:
        """What of the window was read and when, in order of time."""

    def live(self, namespace: Namespace, window: Window) -> Iterator[Window]:
        """What of the window is in a live task, in order of time, or in an open re-slice request."""

    def estimates(self, spec: SpecSnapshot, window: Window) -> dict[WindowPart, Estimate]:
        """What the provider has lately said of windows within this one."""

    def history(self, spec: SpecSnapshot) -> History | None:
        """What the newest windows that were read held."""

    def queued(self, partition: Partition | None, most: int) -> int:
        """How many tasks wait, of a partition or in all; no more than `most` are counted."""

    def add_signals(self, partition: Partition, campaign: str, ids: Iterable[str]) -> None:
        """Remember that these ids are to be refreshed; one that is remembered already stays as it is."""

    def planned_signals(self, partition: Partition, ids: Iterable[str]) -> set[str]:
        """Which of these ids a live task is about to refresh."""

    def open_signals(self, partition: Partition) -> Iterator[str]:
        """The ids that wait to be refreshed, each once, in order."""

    def insert_plan(self, head: PlanHead, anchor: Anchor | None, drafts: Iterable[SliceDraft]) -> int:
        """Plan, slices, tasks and, for a first plan, the anchor; the plan's id."""

    def finish_plan(
        self, plan_id: int, namespace: Namespace, status: PlanStatus, remarks: dict[str, Any], settled: datetime | None
    ) -> None:
        """What the plan came to, and what its namespace's events say is settled."""

    def note_lag(self, namespace: Namespace, seconds: int, now: datetime) -> None:
        """The lag that was learned, and when."""

    def lock_reslice(self, request_id: int) -> Reslice | None:
        """The request, locked; none when it is no longer open."""

    def insert_children(self, reslice: Reslice, drafts: Iterable[SliceDraft]) -> int:
        """Slices and tasks of the same plan; how many. The request is served."""

    def refuse_reslice(self, reslice: Reslice, reason: str) -> None:
        """The request cannot be served; the plan says why."""


class PlanStore(Protocol):
    """Triggers and plans: the same trigger key always finds the same rows."""

    def record_trigger(self, trigger: Trigger, request: PlanRequest, partition: Partition) -> int:
        """The trigger's row, made once; BadInput when its key was used for another request."""

    def note_trigger(self, instance_id: int, remarks: dict[str, Any]) -> None:
        """Write down what became of a trigger that has no plan."""

    def save_estimates(self, spec: SpecSnapshot, found: Mapping[WindowPart, Estimate]) -> None:
        """Keep what the provider said."""

    def open_reslices(self, partition: Partition | None, most: int) -> list[int]:
        """The requests that wait, oldest first."""

    def transact(self, work: Callable[[PlanTransaction], T]) -> T:
        """Run `work` in one transaction, again when another was in the way."""

    def look(self) -> AbstractContextManager[PlanTransaction]:
        """A transaction that writes nothing."""


class RetryStore(Protocol):
    """Quarantine as a retry changes it: rows are RETRYING before anything is asked for."""

    def signal(self, partition: Partition, campaign: str, entries: Sequence[Quarantined]) -> None:
        """The rows are RETRYING, and their ids wait to be refreshed, together."""

    def mark_retrying(self, row_ids: Sequence[int], campaign: str) -> None:
        """The rows wait for a campaign that reads their window."""

    def give_up(self, row_ids: Sequence[int], reason: str) -> None:
        """The rows are open again: there will be no such campaign."""


FRESH = timedelta(days=1)
"""How long a size that the provider stated is used."""
