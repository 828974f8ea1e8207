"""What executing needs from stores and providers, and what they promise."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from ingest_core.model.checkpoint import Checkpoint
from ingest_core.model.codes import TaskStatus
from ingest_core.model.lease import Lease
from ingest_core.model.partition import Due, Partition, Resting, SlotCaps
from ingest_core.model.record import Arrivals, BadId, Counts, PageOutcome, Rejected, Witnesses
from ingest_core.model.scope import WorkScope
from ingest_core.model.slice_codes import ResliceReason
from ingest_core.model.spec import AuthSpec, HttpSpec
from ingest_core.model.task import FlowRun, Task
from ingest_core.model.window import Window


class TaskQueue(Protocol):
    """A durable queue: at most one unexpired lease per task."""

    def claim(
        self, owner: str, ttl_seconds: int, source: str | None = None, excluding: Collection[str] = ()
    ) -> Task | None:
        """The most urgent due task of a source not in `excluding`, leased to `owner`; None when there is none."""

    def claim_many(
        self, owner: str, ttl_seconds: int, most: int, source: str | None = None, excluding: Collection[str] = ()
    ) -> list[Task]:
        """Up to `most` tasks that are due, the most urgent first, all leased to `owner`."""

    def due(self, source: str | None = None, excluding: Collection[str] = ()) -> list[Due]:
        """Which partitions have due tasks, in the order in which to serve them; nothing is leased.

        Every eighth look begins at the least urgent end, so that nothing starves.
        """

    def claim_due(self, owner: str, ttl_seconds: int, due: Due, caps: SlotCaps | None = None) -> Task | None:
        """One of these tasks, leased to `owner`; None when others were quicker, or the cap is reached.

        There is none while as many tasks are leased as these `caps` allow, or the Registry does.
        """

    def renew(self, lease: Lease) -> None:
        """Keep the lease; LeaseLost when it is another's."""

    def release(self, lease: Lease) -> None:
        """Give a task back that was not begun; LeaseLost when it is another's."""

    def give_back_expired(self) -> int:
        """Queue again what dead workers held; how many."""

    def repair_clock(self) -> int:
        """Let the delays of tasks that a clock ahead of now has leased or put off begin now; how many."""

    def give_back_held(self, flow_run_id: str) -> list[Due]:
        """Queue again what the processes of a flow run still hold, now that they are gone; which."""

    def left_by(self, flow_run_id: str) -> list[Due]:
        """Tasks that a flow run has begun and that are due to be worked again, the most urgent first."""

    def resting(self, source: str | None = None) -> list[Resting]:
        """The partitions with tasks that an operator paused or a fuse stopped."""

    def waiting(self, source: str | None = None, excluding: Collection[str] = ()) -> timedelta | None:
        """How long until a lease or a scheduled task may come free; none when nothing is under way."""


class Slot(Protocol):
    """The right to work one task of a partition at a time."""

    @property
    def caps(self) -> SlotCaps:
        """How many such rights there are."""

    @property
    def lasts(self) -> bool:
        """Whether it may serve another task: it cannot have been given to another worker meanwhile."""

    def release(self) -> None:
        """Give it back; others may have it."""


class PartitionSlots(Protocol):
    """How many tasks of a partition, and of all, may be worked at a time by all workers together."""

    def take(self, partition: Partition) -> Slot | None:
        """A slot of the partition, or None when none is free; it never waits."""


class WorkControl(Protocol):
    """What people and fuses do to work; a worker in the midst of it notices by its fence."""

    def cancel(self, scope: WorkScope) -> int:
        """End what is live of it; how many tasks it was."""

    def retry(self, scope: WorkScope, accepted: str | None = None) -> int:
        """Queue FAILED tasks again, and PARTIAL ones without a pending re-slice request; how many tasks.

        `accepted` says why records that the provider states and does not give may be missing.
        """

    def accept_drift(self, partitions: Iterable[Partition], reason: str) -> int:
        """Queue the tasks again that FAILED by schema drift, each accepting the page it failed at; how many tasks.

        The page's unusable records go to quarantine; `reason` is kept with the page. Later pages are judged as before.
        """

    def tasks_of(self, scope: WorkScope) -> dict[str, int]:
        """How many tasks of it are in which state."""

    def pause(self, partitions: Iterable[Partition], reason: str) -> list[Partition]:
        """Let these rest until they are resumed; those it was news to."""

    def resume(self, partitions: Iterable[Partition], reason: str) -> list[Partition]:
        """Let these work again; those it was news to."""

    def fuse(self, partition: Partition, version: int, reason: str) -> bool:
        """Stop a partition that cannot go on, unless its control was changed since the claim."""


@dataclass(frozen=True)
class Run:
    """One attempt at a task."""

    run_id: int
    """Row in `ing_task_run`."""
    attempt_no: int
    """Number of the attempt, from 1."""
    task: Task
    """The leased task."""


@dataclass(frozen=True)
class Batch:
    """One page of a run that is about to be asked for."""

    batch_id: int
    """Row in `ing_task_run_batch`."""
    batch_no: int
    """Number of the page in this run, from 1."""
    page_no: int
    """Number of the page in this pass over the slice, over all attempts."""
    asked_at: datetime
    """When the page was opened, by the database's clock."""


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

    def seen_ids(self, task: Task, since: datetime, until: datetime | None = None) -> bytes:
        """The id hashes of every page of the task that is committed and was asked for in that time."""

    def bad_ids(self, task: Task, ids: list[str]) -> dict[str, BadId]:
        """Which of these ids' details failed before; those that were released are forgotten."""

    def witnesses(self, task: Task, ids: list[str]) -> Witnesses:
        """How many of these ids' records are stored and not GONE, and some others that are."""

    def known_bad(self, task: Task, rejected: list[Rejected]) -> int:
        """How many of these are in quarantine already, by their id or as they are."""

    def finish(self, run: Run, outcome: "RunOutcome") -> None:
        """End the attempt and settle the task, its slice, its plan and, on success, its coverage."""


@dataclass(frozen=True)
class RunOutcome:
    """How an attempt ended and what becomes of its task."""

    task_status: TaskStatus
    """State of the task after the attempt."""
    stats: dict[str, Any]
    """The attempt's counts and timings, as stored."""
    as_of: datetime | None = None
    """When the reading that counts began; coverage is dated by it."""
    error: dict[str, Any] | None = None
    """Code, level and message of a failure."""
    checkpoint: Checkpoint | None = None
    """Where a later attempt continues; None where it did not change."""
    retry_in: timedelta = timedelta(0)
    """Delay before the task is due again."""
    observed_max: datetime | None = None
    """Newest update time among the records."""
    reslice: ResliceReason | None = None
    """Why the rest of the window is to be cut smaller."""
    covered: Window | None = None
    """The part of the window that was read whole, of a task that did not succeed."""
    arrivals: Arrivals = field(default_factory=Arrivals)
    """Records received and late, for the learned lag."""


@dataclass(frozen=True)
class Request:
    """A request without its host, which a setting may replace, and its credential, which transport adds."""

    source: str
    http: HttpSpec
    auth: AuthSpec
    path: str
    query: list[tuple[str, str]]
    headers: dict[str, str]
    body: dict[str, Any] | None = None
    next_url: str | None = None
    next_hosts: tuple[str, ...] = ()
    contact: str | None = field(default=None, repr=False)

    @property
    def method(self) -> str:
        """How it is asked."""
        return self.http.method.value


@dataclass(frozen=True)
class Response:
    """What came back, whole, and from where."""

    url: str
    status: int
    headers: dict[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    elapsed_seconds: float
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def clean(self, text: str) -> str:
        """The text without the credential, should the provider repeat it."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text

    def clean_body(self) -> bytes:
        """The body as errors may quote it."""
        if not any(secret.encode() in self.body for secret in self.secrets):
            return self.body
        return self.clean(self.body.decode("utf-8", "replace")).encode()

    def clean_place(self, url: str | None) -> str | None:
        """Where the next page is, without parameters that repeat the credential: it is written down."""
        if url is None or not any(secret in url for secret in self.secrets):
            return url
        path, mark, query = url.partition("?")
        kept = [part for part in query.split("&") if not any(secret in part for secret in self.secrets)]
        return self.clean(path) + mark + "&".join(kept)


class NotSent(Exception):
    """The provider could not be reached: it has not seen the request."""


class AnswerLost(Exception):
    """The request was sent but its answer did not arrive whole."""


class CredentialMissing(Exception):
    """A configured secret is missing; without it the request would be sent as another user."""

    code = "CREDENTIAL_MISSING"


class CredentialRefused(CredentialMissing):
    """A reference to a secret that the operator has not allowed for sources."""

    code = "CREDENTIAL_REFUSED"


class Upstream(Protocol):
    """The provider; a response is whole or an error."""

    def send(self, request: Request) -> Response:
        """One request, one answer; NotSent, AnswerLost, CredentialMissing or, led astray, UpstreamError otherwise."""

    def knows(self, auth: AuthSpec) -> bool:
        """Whether requests will carry this credential."""
