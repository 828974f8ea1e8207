"""One attempt at a slice, page after page: where it stands, and when it must begin again."""

import logging
import time
from dataclasses import dataclass, field
from datetime import datetime

from ingest_core.execution.early_end import Progress, Spent
from ingest_core.execution.fetch import FetchedPage, Fetcher
from ingest_core.execution.lease_keeper import LeaseKeeper
from ingest_core.execution.paging import COUNTED, Place, Repetition, Step
from ingest_core.execution.ports import Batch, Run
from ingest_core.execution.routing import Router
from ingest_core.gate.taxonomy import UpstreamError
from ingest_core.model.canonical import canonical_json, hash_text
from ingest_core.model.codes import ErrorLevel, PagePosition, QuarantineReason
from ingest_core.model.record import Counts, Rejected
from ingest_core.model.work import Checkpoint, Task

log = logging.getLogger(__name__)

_TOKEN_REFUSED = {400, 404, 410}
_TOKEN_PERHAPS_REFUSED = 500


class SliceRestart(Exception):
    """The slice must be read from its start again."""

    def __init__(self, code: str, message: str, shortfall: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.shortfall = shortfall


@dataclass
class Walk:
    """The state of one attempt, page after page."""

    run: Run
    fetcher: Fetcher
    router: Router
    checkpoint: Checkpoint
    seen: set[bytes]
    keeper: LeaseKeeper
    counts: Counts = field(default_factory=Counts)
    batches: int = 0
    observed_max: datetime | None = None
    step: Step | None = None
    progress: Progress = field(default_factory=Progress)
    provider_late_seconds: int = 0
    repetition: Repetition = field(default_factory=Repetition)
    began: float = field(default_factory=time.monotonic)
    over_budget: bool = False

    @property
    def task(self) -> Task:
        """What is being worked."""
        return self.run.task


def spent(walk: Walk, fetched: FetchedPage) -> Spent:
    """What the attempt has cost, with the page that has just come."""
    records = walk.counts.received + fetched.page.count
    return Spent(walk.fetcher.tally.requests, records, time.monotonic() - walk.began)


def warn_of_budget(walk: Walk, step: Step, cost: Spent) -> None:
    """Say once that an attempt goes on past its budget, because stopping would lose all it has read."""
    part = cost.beyond(walk.task.budget) if walk.task.budget else None
    if part and not step.ends and not walk.over_budget:
        walk.over_budget = True
        log.warning("task %s goes on past its budget of %s: it cannot be cut", walk.task.lease.task_id, part)


def raise_restart(walk: Walk, batch: Batch, error: UpstreamError) -> None:
    """A place that is gone, or that may have moved on without us, is asked for anew from the slice's start."""
    paging = walk.task.spec.paging
    if batch.page_no == 1 or (paging.position == PagePosition.CLIENT and (paging.type in COUNTED or error.in_detail)):
        return
    again_in_vain = error.status == _TOKEN_PERHAPS_REFUSED and walk.run.attempt_no > 1
    refused = again_in_vain or (error.status in _TOKEN_REFUSED and error.level != ErrorLevel.L1)
    if refused and not error.in_detail:
        raise SliceRestart("TOKEN_REFUSED", f"page {batch.page_no}: the token was refused: {error}") from error
    if (error.moved or error.in_detail) and paging.position == PagePosition.SERVER:
        raise SliceRestart(
            "POSITION_LOST", f"page {batch.page_no}: the provider's position is lost: {error}"
        ) from error


def place_of(walk: Walk, batch: Batch, token: str | None) -> Place:
    """Where a page was in the walk."""
    at, repeats = walk.checkpoint, walk.repetition.times
    return Place(token, batch.page_no, len(walk.seen), at.total, at.rewinds, repeats)


def complete_or_restart(walk: Walk, fetched: FetchedPage) -> list[Rejected]:
    """All that the provider stated must have come; the same shortfall twice is noted and accepted."""
    total = walk.checkpoint.total if fetched.page.total is None else fetched.page.total
    missing = total - len(walk.seen) if total is not None else 0
    if missing <= 0:
        return []
    message = f"{len(walk.seen)} of {total} records came"
    if walk.checkpoint.shortfall != missing:
        raise SliceRestart("SHORTFALL", message, shortfall=missing)
    task = walk.task
    fragment = canonical_json({"window": task.window.json(), "total": total, "received": len(walk.seen)})
    return [Rejected(QuarantineReason.SHORTFALL, task.spec.response.total_path or "$", fragment, hash_text(fragment))]
