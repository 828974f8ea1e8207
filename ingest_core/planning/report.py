"""What planning did or would do, as people and scripts read it."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ingest_core.model.codes import SliceStrategy
from ingest_core.model.instant import format_instant
from ingest_core.model.naming import counted
from ingest_core.model.partition import Partition
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.window import Window
from ingest_core.planning.estimate import GUESSES, SizesAsked
from ingest_core.planning.ports import StoredPlan
from ingest_core.planning.reslice import ResliceReport
from ingest_core.planning.sizing import sizing_of
from ingest_core.planning.slicing import SliceDraft

TIMELINE_BINS = 48
FIRST_SHOWN, LAST_SHOWN = 20, 5
"""Number of slices named one by one at either end."""


@dataclass
class Tally:
    """What a plan's slices come to, counted as they pass by; its size does not grow with them."""

    spec: SpecSnapshot
    window: Window | None
    slices: int = 0
    records: int = 0
    requests: int = 0
    above_cap: int = 0
    smallest: dict[str, Any] | None = None
    largest: dict[str, Any] | None = None
    methods: Counter[str] = field(default_factory=Counter)
    bins: list[int] = field(default_factory=lambda: [0] * TIMELINE_BINS)
    first: list[dict[str, Any]] = field(default_factory=list)
    last: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=LAST_SHOWN))

    def watch(self, drafts: Iterable[SliceDraft]) -> Iterator[SliceDraft]:
        """The drafts, counted."""
        cap = sizing_of(self.spec).cap if self.spec.pagination else None
        for draft in drafts:
            self.slices += 1
            self.records += draft.records
            self.requests += draft.requests
            self.above_cap += cap is not None and draft.records > cap
            self.methods[draft.method] += 1
            if self.smallest is None or draft.records < self.smallest["records"]:
                self.smallest = _sized(draft)
            if self.largest is None or draft.records > self.largest["records"]:
                self.largest = _sized(draft)
            self._place(draft)
            (self.first if self.slices <= FIRST_SHOWN else self.last).append(_named(self.slices, draft))
            yield draft

    def _place(self, draft: SliceDraft) -> None:
        """Spread the slice's records over the bins it reaches into."""
        if self.window is None:
            return
        width = self.window.length / TIMELINE_BINS
        first = max(0, int((draft.window.start - self.window.start) / width))
        last = min(TIMELINE_BINS - 1, max(first, -int(-(draft.window.end - self.window.start) // width) - 1))
        for number in range(first, last + 1):
            self.bins[number] += -(-draft.records // (last - first + 1))

    @property
    def seconds(self) -> int:
        """How long the requests take at the configured rate."""
        return round(self.requests / self.spec.rate.requests_per_second)

    def warnings(self) -> list[str]:
        """What the sizes give reason to say."""
        if not self.above_cap:
            return []
        said = f"{counted(self.above_cap, 'slice')} may hold more records than one query gives"
        subject, them = ("it", "it") if self.above_cap == 1 else ("they", "them")
        left = f"cannot be cut smaller: {subject} will end PARTIAL (slicing.split_field can split {them})"
        return [f"{said}, and {left}"]

    def json(self, asked: SizesAsked) -> dict[str, Any]:
        """The sizes as plans and reports keep them; a timeline only of sizes that a provider gave."""
        return {
            "estimated_records": self.records,
            "expected_requests": self.requests,
            "expected_seconds": self.seconds,
            "smallest": self.smallest,
            "largest": self.largest,
            "methods": dict(self.methods),
            "failure": asked.json(),
            "timeline": self.bins if any(self.bins) and not any(self.methods[one] for one in GUESSES) else [],
            "shown": [*self.first, *self.last],
        }


def _named(number: int, draft: SliceDraft) -> dict[str, Any]:
    part = {"range": draft.params["range"]} if "range" in draft.params else {}
    ids = {"ids": len(draft.ids)} if draft.ids else {}
    return {"no": number, **_sized(draft), "method": draft.method, **part, **ids}


def _sized(draft: SliceDraft) -> dict[str, Any]:
    return {**draft.window.json(), "records": draft.records}


@dataclass(frozen=True)
class PlanReport:
    """What planning did, as people and scripts read it."""

    plan: StoredPlan
    partition: Partition
    created: bool
    dry_run: bool = False
    resliced: ResliceReport = field(default_factory=ResliceReport)

    def json(self) -> dict[str, Any]:
        """The report under its interface's names."""
        plan, remarks = self.plan, self.plan.remarks
        sizes = remarks.get("sizes", {})
        return {
            "plan_id": plan.plan_id or None,
            "plan_key": plan.plan_key,
            "operation": self.partition.operation_code.value,
            "status": str(plan.status),
            "reason": remarks.get("reason"),
            "window": {"from": format_instant(plan.start), "to": format_instant(plan.end)},
            "slices": plan.slices,
            "slices_existing": 0 if self.created else plan.slices,
            "tasks_created": plan.tasks if self.created else 0,
            "tasks_existing": 0 if self.created else plan.tasks,
            "expected_requests": sizes.get("expected_requests", plan.slices),
            "warnings": remarks.get("warnings", []),
            "notes": remarks.get("degradations", []),
            "campaign": remarks.get("campaign"),
            "strategy": remarks.get("strategy"),
            "sizes": sizes,
            "stock": remarks.get("stock"),
            "ids": _ids(remarks, sizes),
            "weak_ends": remarks.get("weak_ends", 0),
            "dry_run": self.dry_run,
            "resliced": self.resliced.json(),
        }


def _ids(remarks: dict[str, Any], sizes: dict[str, Any]) -> int | None:
    """How many ids a refresh by id asks for; None where a window is read."""
    return int(sizes.get("estimated_records", 0)) if remarks.get("strategy") == SliceStrategy.ID_RANGE else None
