"""What commands and flows read of stored work and records."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any, Protocol

from ingest_core.model.clock import Clock
from ingest_core.model.codes import QuarantineReason, QuarantineState
from ingest_core.model.partition import Partition
from ingest_core.model.progress import PartitionStatus, PlanOutcome, PlanProgress, TaskProgress
from ingest_core.model.quarantine import QuarantineCount, Quarantined, QuarantineEntry, QuarantineReport, Settled
from ingest_core.model.stored_item import ItemChoice, StoredItem


class DatabaseClock(Clock, Protocol):
    """The database as commands see it: its time and its name."""

    @property
    def shown_url(self) -> str:
        """The database's URL without its password."""


class WorkReports(Protocol):
    """Counts of tasks, leases, pages and records."""

    def status(self, source: str | None = None) -> list[PartitionStatus]:
        """Tasks by state for every partition."""

    def live_leases(self) -> dict[Partition, int]:
        """Number of unexpired leases of each partition."""

    def plan_outcomes(self, plan_ids: Collection[int]) -> list[PlanOutcome]:
        """What has become of those of these plans that Prefect flow runs made."""

    def settled_plans(self, plan_ids: Collection[int]) -> set[int]:
        """Those of these plans of which nothing is under way any more."""

    def partitions_with_work(self) -> set[Partition]:
        """The partitions that have tasks which are queued or leased."""

    def queued(self, source: str | None = None) -> int:
        """Number of queued tasks."""

    def attempts_of(self, flow_run_id: str) -> int:
        """Number of attempts that a flow run has made."""

    def plan_progress(self, plan_id: int) -> PlanProgress:
        """How far a plan is."""

    def task_progress(self, task_id: int) -> TaskProgress:
        """How far a task is."""

    def item_versions(self, source: str, start: datetime, end: datetime) -> dict[str, datetime]:
        """The ids updated in `[start, end)`, each with the update time of its stored version."""


class ItemReader(Protocol):
    """Stored records as of one moment."""

    def count(self, choice: ItemChoice) -> int:
        """Number of records."""

    def pages(self, choice: ItemChoice) -> Iterator[list[StoredItem]]:
        """The records by endpoint and update time, each once, as they were when reading began."""


class QuarantineStore(Protocol):
    """Quarantine as people see and settle it."""

    def entries(
        self,
        source: str | None = None,
        limit: int = ...,
        reason: QuarantineReason | None = None,
        state: QuarantineState | None = None,
    ) -> list[QuarantineEntry]:
        """Rejected records in short, newest first."""

    def count(
        self, source: str | None, reason: QuarantineReason | None = None, state: QuarantineState | None = None
    ) -> int:
        """Number of rejected records."""

    def tally(
        self,
        source: str | None = None,
        reason: QuarantineReason | None = None,
        state: QuarantineState | None = None,
    ) -> list[QuarantineCount]:
        """Number of rejected records by source, reason and state, the largest first."""

    def stream(
        self, source: str | None, reason: QuarantineReason | None = None, state: QuarantineState | None = None
    ) -> Iterator[list[dict[str, Any]]]:
        """Rejected records whole, oldest first, as of one moment; only one page is held in memory."""

    def entry(self, row_id: int) -> QuarantineReport:
        """Everything about one rejected record; BadInput when there is none."""

    def named(self, row_ids: Sequence[int]) -> list[Quarantined]:
        """These rows, whatever their state; BadInput when one is unknown."""

    def open_entries(self, source: str, reason: QuarantineReason | None, limit: int) -> list[Quarantined]:
        """A source's open rows, oldest first."""

    def settle(self, row_ids: Sequence[int], state: QuarantineState, reason: str) -> list[Settled]:
        """Set the state of these rows; what changed. BadInput, and nothing changes, when one is unknown."""
