"""Ending a slice before the provider does: budgets and large pages, and what becomes of the rest."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ingest_core.execution.paging import Step, paginator_of
from ingest_core.model.codes import PagePosition
from ingest_core.model.instant import unit_grid
from ingest_core.model.record import Record
from ingest_core.model.slice_codes import ResliceReason
from ingest_core.model.slice_spec import BudgetPayload
from ingest_core.model.task import Task
from ingest_core.model.window import Window


@dataclass(frozen=True)
class Spent:
    """What an attempt has cost so far."""

    requests: int
    records: int
    seconds: float

    def beyond(self, budget: BudgetPayload) -> str | None:
        """Which part of a budget is spent, in words."""
        if self.requests >= budget.max_requests:
            return f"{budget.max_requests} requests"
        if self.records >= budget.max_records:
            return f"{budget.max_records} records"
        return f"{budget.max_duration_sec} seconds" if self.seconds >= budget.max_duration_sec else None


@dataclass(frozen=True)
class Progress:
    """How far in time an attempt has read, as long as the records come in order."""

    reached: datetime | None = None
    in_order: bool = True

    def after(self, records: Iterable[Record], window: Window) -> "Progress":
        """The same with one more page; a time that was corrected, or is another slice's, tells nothing."""
        times = [one.updated_at for one in records if "flags" not in one.fields]
        mine = [time for time in times if window.start <= time < window.end]
        in_order = self.in_order and mine == sorted(mine) and not (self.reached and mine and mine[0] < self.reached)
        return Progress(max([*mine, *([self.reached] if self.reached else [])], default=None), in_order)

    def covered(self, task: Task) -> Window | None:
        """The part of a window that is read whole, where pages come in ascending time: up to the last unit seen.

        A place that we count says nothing of what moved past it meanwhile: only the end of the result does.
        """
        paging = task.spec.paging
        if not (paging.ascending and self.in_order and self.reached) or paginator_of(paging).counted or task.range:
            return None
        grid = unit_grid(task.spec.time.unit, task.spec.time.time_zone)
        whole_until = min(grid.floor(self.reached), task.window.end)
        return Window(task.window.start, whole_until) if whole_until > task.window.start else None


def can_halve(task: Task) -> bool:
    """Whether the slice's time can be cut in two."""
    if task.spec.window is None or not task.spec.window.supports_updated_since:
        return False
    shortest = timedelta(seconds=task.spec.window.min_window_seconds or 0)
    grid = unit_grid(task.spec.window.unit, task.spec.window.time_zone)
    return grid.after(task.window.start) < task.window.end and task.window.length > shortest


def decide_early_end(task: Task, step: Step, progress: Progress, spent: Spent, page_bytes: int) -> Step:
    """The step, unless a large page or a spent budget ends the attempt here."""
    if step.ends or step.rewound:
        return step
    cut = bool(progress.covered(task)) or can_halve(task)
    most = task.spec.paging.max_page_bytes
    if most is not None and page_bytes > most and cut:
        message = f"a page of {page_bytes} bytes is above max_page_bytes {most}"
        return replace(step, limit=message, reslice=ResliceReason.PAGE_BYTES)
    part = spent.beyond(task.budget) if task.budget else None
    return _budget_step(task, step, progress, part, cut=cut) if part else step


def _budget_step(task: Task, step: Step, progress: Progress, part: str, *, cut: bool) -> Step:
    """Keep what is read in order of time and cut the rest; else go on later, or where that loses all, cut it whole."""
    message = f"its budget of {part} is spent"
    paging = task.spec.paging
    kept = paging.position == PagePosition.CLIENT and paging.token_ttl_seconds is None
    if cut and (progress.covered(task) or not kept):
        return replace(step, limit=message, reslice=ResliceReason.BUDGET)
    return replace(step, limit=message, requeues=True) if kept else step
