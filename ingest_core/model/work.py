"""What a worker holds: the partition it serves, the lease it has, the task it works."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from ingest_core.model.canonical import hash_of
from ingest_core.model.codes import ControlState, CursorType, Direction, EndSignal, NamespaceScope, Operation
from ingest_core.model.id_range import IdRange
from ingest_core.model.slice_codes import ResliceReason
from ingest_core.model.slice_spec import BudgetPayload
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.window import Window, window_or_none


@dataclass(frozen=True, order=True)
class Partition:
    """Work that shares a cap: one endpoint of one source for one operation."""

    provenance_code: str
    endpoint_name: str
    operation_code: Operation

    def __str__(self) -> str:
        return f"{self.provenance_code}.{self.endpoint_name}.{self.operation_code.lower()}"


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


@dataclass(frozen=True)
class Namespace:
    """Whose watermark it is."""

    partition: Partition
    cursor_key: str
    scope: NamespaceScope
    key: str
    direction: Direction = Direction.FORWARD
    cursor_type: CursorType = CursorType.TIME


CursorValue = datetime | int | str
"""Where a cursor stands: an instant, the last id that was read, or a token."""

ID_FIELD = "provider_id"
"""What a slice of ids asks for in its expression."""

REFRESH_KEY = "refresh_checked_at"
"""The cursor key of refreshing, which is nobody's update time."""


def partition_of(spec: SpecSnapshot) -> Partition:
    """Whose cap the snapshot's work shares."""
    return Partition(spec.provenance_code, spec.endpoint_name, spec.operation_code)


def harvest_namespace(spec: SpecSnapshot) -> Namespace:
    """The namespace of a harvest: one watermark per endpoint and query."""
    return namespace_of(spec, hash_of(spec.endpoint_name, spec.expr_proto_hash))


def campaign_namespace(spec: SpecSnapshot, campaign: str | None, *, newest_first: bool = False) -> Namespace:
    """The namespace of a campaign: of a backfill in one direction, or of a refresh."""
    if spec.operation_code == Operation.BACKFILL:
        direction = "newest_first" if newest_first else "oldest_first"
        return namespace_of(spec, hash_of(campaign, spec.endpoint_name, spec.expr_proto_hash, direction))
    by_id = ["ids"] if spec.window is None else []
    return namespace_of(spec, hash_of(campaign, spec.endpoint_name, spec.expr_proto_hash, *by_id))


def namespace_of(spec: SpecSnapshot, key: str) -> Namespace:
    """The namespace of that key, for the snapshot's operation."""
    partition = partition_of(spec)
    if spec.operation_code == Operation.HARVEST:
        return Namespace(partition, spec.time.watermark_key, NamespaceScope.EXPR, key)
    if spec.operation_code == Operation.BACKFILL:
        return Namespace(partition, spec.time.watermark_key, NamespaceScope.CUSTOM, key, Direction.BACKFILL)
    return Namespace(partition, REFRESH_KEY, NamespaceScope.CUSTOM, key)


@dataclass(frozen=True)
class Lineage:
    """Where a row comes from, all the way up."""

    schedule_instance_id: int
    plan_id: int
    slice_id: int
    task_id: int
    run_id: int | None = None


@dataclass(frozen=True)
class Lease:
    """The right to work a task until it is lost: owner and fence say whose."""

    task_id: int
    owner: str
    fence_no: int
    ttl_seconds: int


def flow_owner(flow_run_id: str, worker: str) -> str:
    """Who leases what a process of a flow run works: all that such a run holds can be found."""
    return f"flow:{flow_run_id}:{worker}"


@dataclass(frozen=True)
class Checkpoint:
    """How far a slice has been read, so that any later attempt continues from there.

    A pass reads the slice once from its start to its end. A second pass follows where the first one cannot be trusted.
    """

    page_no: int = 0
    """Pages of this pass that are committed, over all attempts."""
    token: str | None = None
    """The place of the next page."""
    token_at: datetime | None = None
    """When the page that named `token` was asked for."""
    as_of: datetime | None = None
    """When the first page of this pass was asked for."""
    ended: bool = False
    """Whether the last page of the last pass is committed."""
    restarts: int = 0
    """How often the slice was started again because a place in it was lost."""
    shortfall: int | None = None
    """Records that an earlier pass missed of the stated total."""
    total: int | None = None
    """The last total that was stated in this pass, unless it is an estimate."""
    first_total: int | None = None
    """The first total of the first pass: what a result that grows without end is measured by."""
    most_total: int | None = None
    """The largest total of this pass: where records leave, a later and smaller one may be reached without others."""
    rewinds: int = 0
    """How often this pass went back because records had left the result."""
    limit: str | None = None
    reslice: ResliceReason | None = None
    """What ended the walk before the provider did, should the task not have ended with it."""
    since_attempt: int = 0
    """Attempts up to this one no longer count: an operator retried the task, or they made progress."""
    passes: int = 0
    """Passes that were read to their end."""
    last_pass_from: datetime | None = None
    """`as_of` of the last complete pass: its pages are what this pass is compared with."""
    counting: bool = False
    """Whether `token` is a position, which records that leave or arrive meanwhile shift."""
    unsure: bool = False
    """Whether a shift may have hidden records from this pass, or from the one before: two passes must agree."""
    empties: int = 0
    """Empty pages in a row up to here."""
    fruitless: int = 0
    """Pages in a row up to here that brought no new record."""
    received: int = 0
    """Records received in this pass, over all attempts."""
    accepted: str | None = None
    """Why an operator accepts what the provider gives, although records are missing."""
    end_signal: EndSignal | None = None
    """By what the end was recognised."""
    weak_end: bool = False
    """Whether no total confirms the end."""

    @property
    def started(self) -> bool:
        """Whether a page has been committed since the pass started."""
        return self.page_no > 0

    @property
    def read_from(self) -> datetime | None:
        """When the reading that counts began: a pass and the one that confirms it are one reading.

        A record that arrived between the two may be hidden from the later one by a record that left, and both agree.
        """
        return self.last_pass_from or self.as_of

    def anew(self) -> "Checkpoint":
        """The checkpoint of the same pass from its start."""
        return Checkpoint(
            restarts=self.restarts,
            shortfall=self.shortfall,
            since_attempt=self.since_attempt,
            passes=self.passes,
            last_pass_from=self.last_pass_from,
            unsure=self.unsure and self.passes > 0,
            accepted=self.accepted,
        )

    def next_pass(self, shortfall: int | None) -> "Checkpoint":
        """The checkpoint of the pass after this one, which missed that many records."""
        again = replace(self.anew(), passes=self.passes + 1, last_pass_from=self.as_of)
        # A pass that ends early by mistake must not pass for certain only because it never came to a second page.
        doubted = replace(again, shortfall=shortfall or self.shortfall, unsure=self.unsure)
        # A result that grows faster than it is read must not raise its own bound with every pass.
        return replace(doubted, first_total=self.first_total)

    def retried(self, attempts: int, accepted: str | None = None) -> "Checkpoint":
        """The checkpoint of the same slice after an operator's retry, with a clean record."""
        nowhere = self.limit is not None and not self.token  # the provider named no place to continue at
        kept = replace(self.anew() if nowhere else self, restarts=0, limit=None, reslice=None, since_attempt=attempts)
        fresh = replace(kept, passes=0, shortfall=None, last_pass_from=None, empties=0, fruitless=0)
        return replace(fresh, unsure=kept.unsure and kept.started, accepted=accepted or self.accepted)

    def forgiven(self, attempts: int) -> "Checkpoint":
        """The same after attempts that were not in vain."""
        return replace(self, since_attempt=attempts)


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


@dataclass(frozen=True)
class FlowRun:
    """The Prefect run and task run an attempt belongs to, if any."""

    flow_run_id: str | None = None
    flow_task_run_id: str | None = None


@dataclass(frozen=True)
class Coverage:
    """A window that was read, or of a window a range, and when reading it began."""

    window: Window
    as_of: datetime
    """When the first page was asked for: what a provider learned later is not in this reading."""
    range: IdRange | None = None
    until: datetime | None = None
    """No later instant counts as read; `as_of` if not given. Events that sum up several readings have their own."""

    @property
    def counted(self) -> Window | None:
        """The part of the window that counts as read: no instant after the reading. None when that is nothing."""
        return window_or_none(self.window.start, min(self.window.end, self.until or self.as_of))


@dataclass(frozen=True)
class CursorState:
    """A watermark, the anchor it started from, and up to where from there late arrivals have had their time.

    A campaign also has the bounds it was first asked for; a lag that late arrivals have changed is kept with its date.
    """

    value: datetime
    anchor: datetime
    settled: datetime | None = None
    bound_from: datetime | None = None
    bound_to: datetime | None = None
    lag_seconds: int | None = None
    lag_changed_at: datetime | None = None
    ahead: datetime | None = None
    """The stored value, where that lies in the future: `value` is then computed from the events."""

    @property
    def unsettled_from(self) -> datetime:
        """Below this instant nothing needs reading any more."""
        return self.settled or self.anchor
