"""What the use cases need from the outside, and what each port promises."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

from ingest_core.model.codes import TaskStatus
from ingest_core.model.record import Counts, PageOutcome
from ingest_core.model.spec import RateSpec
from ingest_core.model.window import Window
from ingest_core.model.work import Checkpoint, CursorState, FlowRun, Lease, Namespace, Partition, Task
from ingest_core.planning.needs import Ground
from ingest_core.planning.request import PlanRequest, Trigger
from ingest_core.planning.slicing import SliceDraft
from ingest_core.registry.rows import Rows

T = TypeVar("T")


class Clock(Protocol):
    """The database's time, which everybody shares."""

    def now(self) -> datetime:
        """What time it is."""


class RegistryStore(Protocol):
    """The sources as configured: an applied file is all there or not at all."""

    def rows(self, source: str) -> Rows:
        """The rows in force; BadInput when there is no such source."""

    def changes(self, sources: list[Rows]) -> list[dict[str, Any]]:
        """What applying these would change; nothing is written."""

    def apply(self, sources: list[Rows]) -> list[dict[str, Any]]:
        """Make these the rows in force, all or none; what changed, nothing when nothing did."""

    def sources(self) -> list[dict[str, Any]]:
        """Every source in short."""


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


class TaskQueue(Protocol):
    """A durable queue: at most one unexpired lease per task."""

    def claim(self, owner: str, ttl_seconds: int, source: str | None = None) -> Task | None:
        """The most urgent task that is due, leased to `owner`; none when there is none."""

    def leased(self, lease: Lease) -> Task:
        """The task behind a lease; LeaseLost when it is another's."""

    def renew(self, lease: Lease) -> None:
        """Keep the lease; LeaseLost when it is another's."""

    def give_back_expired(self) -> int:
        """Queue again what dead workers held; how many."""

    def waiting(self, source: str | None = None) -> timedelta | None:
        """How long until a lease or a scheduled task may come free; none when nothing is under way."""


@dataclass(frozen=True)
class Run:
    """One attempt at a task."""

    run_id: int
    attempt_no: int
    task: Task


@dataclass(frozen=True)
class Batch:
    """One page of a run that is about to be asked for."""

    batch_id: int
    batch_no: int
    page_no: int
    asked_at: datetime


class RunLedger(Protocol):
    """What every attempt did, page by page; nothing is written without the lease's fence."""

    def begin_run(self, task: Task, flow: FlowRun) -> Run:
        """Open an attempt; older ones left open are closed as abandoned."""

    def open_batch(self, run: Run, page_no: int, batch_no: int, token: str | None, before_hash: str) -> Batch:
        """Write down that a page is about to be asked for."""

    def commit_page(self, run: Run, batch: Batch, page: PageOutcome, checkpoint: Checkpoint) -> Counts:
        """Records, quarantine, ledger and checkpoint together; a page committed before is read, not written."""

    def fail_batch(self, run: Run, batch: Batch, error: dict[str, Any]) -> None:
        """Close a page that did not come."""

    def seen_ids(self, task: Task) -> bytes:
        """The id hashes of every page committed since the slice (re)started."""

    def finish(self, run: Run, outcome: "RunOutcome") -> None:
        """End the attempt and settle the task, its slice, its plan and, on success, its coverage."""


@dataclass(frozen=True)
class RunOutcome:
    """How an attempt ended and what becomes of its task."""

    task_status: TaskStatus
    stats: dict[str, Any]
    as_of: datetime | None = None
    error: dict[str, Any] | None = None
    checkpoint: Checkpoint | None = None
    retry_in: timedelta = timedelta(0)
    observed_max: datetime | None = None


class CursorStore(Protocol):
    """Watermarks: only ever forward, always what the events say."""

    def advance(self, namespace: Namespace) -> datetime | None:
        """Move the value to the end of contiguous coverage; the value afterwards."""

    def repair(self) -> None:
        """Advance every cursor that a crash left behind its events."""

    def cursors(self) -> list[dict[str, Any]]:
        """Every cursor as reports show it."""


class RateGate(Protocol):
    """All workers together stay within a provider's rate."""

    def acquire(self, key: str, rate: RateSpec) -> timedelta:
        """Take a turn; how long to wait before using it."""

    def cool_down(self, key: str, span: timedelta) -> None:
        """Nobody asks for that long."""

    def live_rate(self, partition: Partition, planned: RateSpec) -> RateSpec:
        """The rate that holds today, whatever it was when the plan was made."""


@dataclass(frozen=True)
class Request:
    """What is sent: everything but the host, which may be another one here."""

    source: str
    method: str
    base_url: str
    path: str
    query: list[tuple[str, str]]
    headers: dict[str, str]
    connect_timeout_seconds: float
    read_timeout_seconds: float
    allow_plain_http: bool


@dataclass(frozen=True)
class Response:
    """What came back, whole."""

    status: int
    headers: dict[str, str]
    body: bytes
    elapsed_seconds: float


class NotSent(Exception):
    """The provider could not be reached: it has not seen the request."""


class AnswerLost(Exception):
    """The request was sent but its answer did not arrive whole."""


class Upstream(Protocol):
    """The provider; a response is whole or an error."""

    def send(self, request: Request) -> Response:
        """One request, one answer; NotSent or AnswerLost otherwise."""
