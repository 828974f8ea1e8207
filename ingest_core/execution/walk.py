"""One attempt at a slice, page after page: where it stands, and when it must begin again."""

import hashlib
import logging
import time
from dataclasses import dataclass, field, replace
from datetime import datetime

from ingest_core.execution.completeness import (
    USUAL_RECORDS,
    USUAL_REQUESTS,
    Judgement,
    PassVerdict,
    endless_reason,
    judge_end,
)
from ingest_core.execution.early_end import Progress, Spent, can_halve
from ingest_core.execution.fetch import FetchedPage, Fetcher
from ingest_core.execution.lease_keeper import LeaseKeeper
from ingest_core.execution.page import DecodedPage
from ingest_core.execution.paging import Edge, Place, Repetition, Step, paginator_of
from ingest_core.execution.ports import Batch, Run
from ingest_core.execution.request import bounds_to_ask
from ingest_core.execution.routing import ID_HASH_BYTES, Routed, Router
from ingest_core.gate.taxonomy import UpstreamError
from ingest_core.model.canonical import canonical_json, hash_text
from ingest_core.model.checkpoint import Checkpoint
from ingest_core.model.codes import ErrorLevel, PagePosition, TotalKind
from ingest_core.model.errors import EndlessPages
from ingest_core.model.instant import unit_grid
from ingest_core.model.record import Counts, Rejected
from ingest_core.model.slice_codes import ResliceReason
from ingest_core.model.task import Task

log = logging.getLogger(__name__)

_TOKEN_REFUSED = {400, 404, 410}
_TOKEN_PERHAPS_REFUSED = 500
_SAME_AGAIN = frozenset({"NEXT_TOKEN_INVALID", "TOO_MANY_VALUES", "TOO_DEEP", "TOO_LARGE"})
"""Answers that a slice read from its start would meet again: each attempt would cost as much."""


class SliceRestart(Exception):
    """The slice must be read from its start again."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass
class Listing:
    """The records that one pass over a slice listed, as short hashes of their ids."""

    ids: set[bytes] = field(default_factory=set)
    length: int = 0
    """Records listed, repeated ones included."""
    order: "hashlib._Hash" = field(default_factory=hashlib.sha256)
    """Digest of the hashes in the order in which they came: it tells two orders apart in 32 bytes."""

    @classmethod
    def of(cls, hashes: bytes) -> "Listing":
        """The listing of short hashes that are stored one after the other."""
        listing = cls()
        listing.add(hashes)
        return listing

    def add(self, hashes: bytes) -> None:
        """List the records of the next page."""
        one_by_one = range(0, len(hashes), ID_HASH_BYTES)
        self.ids.update(hashes[at : at + ID_HASH_BYTES] for at in one_by_one)
        self.length += len(one_by_one)
        self.order.update(hashes)

    def agrees_with(self, other: "Listing", *, counted: bool) -> bool:
        """Whether both list the same records, and no repeated record hints at another that was skipped.

        A record that comes twice may have moved, and another then moved up to a position that was already read. A total
        (`counted`) shows that, and going back after it fell repeats records on purpose. Without one, a listing with
        repetitions agrees only with one that is the same record by record.
        """
        once = self.length == len(self.ids) and other.length == len(other.ids)
        return self.ids == other.ids and (counted or once or self.order.digest() == other.order.digest())


@dataclass
class Walk:
    """The state of one attempt, page after page."""

    run: Run
    fetcher: Fetcher
    router: Router
    checkpoint: Checkpoint
    seen: Listing
    """The records of this pass."""
    keeper: LeaseKeeper
    known: Listing = field(default_factory=Listing)
    """The records of the pass before."""
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
        """The task being executed."""
        return self.run.task

    def begin_pass(self) -> None:
        """Forget the pages of the last pass, but for the records it brought."""
        self.known, self.seen = self.seen, Listing()
        self.repetition, self.progress, self.step = Repetition(), Progress(), None


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
    """Restart the slice where its place is gone, or may have moved on without us."""
    paging = walk.task.spec.paging
    if batch.page_no == 1 or error.code in _SAME_AGAIN:
        return
    if not error.in_detail and (error.restarts or error.status in paging.restart_statuses):
        raise SliceRestart("TOKEN_REFUSED", f"page {batch.page_no}: the token was refused: {error}") from error
    if paging.position == PagePosition.CLIENT and (paginator_of(paging).counted or error.in_detail):
        return
    again_in_vain = error.status == _TOKEN_PERHAPS_REFUSED and walk.run.attempt_no > 1
    refused = again_in_vain or (error.status in _TOKEN_REFUSED and error.level != ErrorLevel.L1)
    if refused and not error.in_detail:
        raise SliceRestart("TOKEN_REFUSED", f"page {batch.page_no}: the token was refused: {error}") from error
    if (error.moved or error.in_detail) and paging.position == PagePosition.SERVER:
        raise SliceRestart(
            "POSITION_LOST", f"page {batch.page_no}: the provider's position is lost: {error}"
        ) from error


def first_step(walk: Walk) -> Step:
    """Where an attempt begins: at the start, or where the last one stopped, as if it had gone on itself."""
    at, paginator = walk.checkpoint, paginator_of(walk.task.spec.paging)
    if not at.started or walk.task.ids:
        return Step(at.token if at.started else paginator.first())
    skipped = paginator.offset(at.token)
    if skipped is None or at.total is None:
        return Step(at.token)
    return Step(at.token, beyond=at.total <= min(len(walk.seen.ids), paginator.before(at.token) + skipped))


def page_in_slice(task: Task, page: DecodedPage, token: str | None) -> DecodedPage:
    """The page with the total of the whole slice, as far as a total is stated that can be relied on."""
    paging = task.spec.paging
    if page.total is None or paging.total_kind == TotalKind.ESTIMATE:
        return replace(page, total=None)
    return replace(page, total=page.total + paginator_of(paging).before(token))


def place_of(walk: Walk, batch: Batch, token: str | None, routed: Routed) -> Place:
    """Where a page was in the walk."""
    at = walk.checkpoint
    return Place(
        token,
        batch.page_no,
        distinct=len(walk.seen.ids),
        total_before=at.total,
        rewinds=at.rewinds,
        repeats=walk.repetition.times,
        empties=at.empties,
        edge=edge_of(walk.task, routed),
    )


def edge_of(task: Task, routed: Routed) -> Edge | None:
    """The unit of time a page ends in, if its source pages in ascending time and the page shows nothing else."""
    spec = task.spec
    timed = spec.window is not None and spec.window.supports_updated_since and spec.detail is None
    others = routed.rejected or routed.gone or not routed.records
    if not (timed and spec.paging.ascending and paginator_of(spec.paging).counted) or others:
        return None
    grid = unit_grid(spec.time.unit, spec.time.time_zone)
    units = [grid.floor(record.updated_at) for record in routed.records]
    whole = len(routed.records) * ID_HASH_BYTES == len(routed.id_hashes)
    flagged = any("flags" in record.fields for record in routed.records)
    # A time outside what was asked for shows that the filter is by another time than the order.
    start, end = bounds_to_ask(task.window, spec.time)
    asked_for = grid.floor(start) <= units[0] and units[-1] <= end
    if not (whole and asked_for) or flagged or units != sorted(units) or units[-1] <= task.window.start:
        return None
    last = {record.provider_id for record, unit in zip(routed.records, units, strict=True) if unit == units[-1]}
    return Edge(units[-1], len(last))


def after_page(walk: Walk, batch: Batch, step: Step, page: DecodedPage, new_records: int) -> Checkpoint:
    """The checkpoint once the page is committed."""
    before, task = walk.checkpoint, walk.task
    # One answer that holds exactly what its own total states, and could hold more, leaves nothing to shift.
    confirmed = page.total == len(walk.seen.ids) and page.count < task.spec.paging.page_size
    counts = (step.counts or step.rewound) and not task.ids  # a list of ids of ours does not shift
    shifted = (before.counting and page.count > 0) or (counts and not confirmed) or step.rewound
    certain = confirmed and not before.started
    total = before.total if page.total is None else page.total
    waits = before.accepted_page is not None and before.accepted_page.page_no > batch.page_no
    # A page that brings nothing new may stand for another one, and without a total nothing else would show it.
    in_vain = not (new_records or task.ids or total is not None) and (page.count > 0 or not step.completes)
    return replace(
        before,
        page_no=batch.page_no,
        token=step.token,
        token_at=batch.asked_at,
        as_of=before.as_of or batch.asked_at,
        ended=step.completes,
        limit=None if step.requeues else step.limit,
        reslice=step.reslice,
        total=total,
        first_total=page.total if before.first_total is None else before.first_total,
        most_total=max(filter(None, (before.most_total, page.total)), default=before.most_total),
        rewinds=before.rewinds + step.rewound,
        counting=counts,
        unsure=(before.unsure and not certain) or shifted or in_vain,
        empties=0 if page.count else before.empties + 1,
        # Going back repeats records on purpose, at most MAX_REWINDS times.
        fruitless=0 if new_records or not page.count or step.rewound else before.fruitless + 1,
        received=before.received + page.count,
        accepted_page=before.accepted_page if waits else None,
        end_signal=step.signal if step.completes else None,
    )


def refuse_endless(walk: Walk, checkpoint: Checkpoint, step: Step) -> None:
    """End a slice whose pages do not come to an end, however many attempts they are spread over."""
    budget = walk.task.budget
    most = (budget.max_requests, budget.max_records) if budget else (USUAL_REQUESTS, USUAL_RECORDS)
    # A spent budget is no end: an attempt that has time for one page only must not go on for ever.
    goes_on = step.requeues or not step.ends
    why = endless_reason(checkpoint, *most) if goes_on else None
    if why:
        raise EndlessPages(f"page {checkpoint.page_no}: {why}; a retry reads the slice from its start again")


def judge_pass(walk: Walk, checkpoint: Checkpoint) -> PassVerdict:
    """What becomes of a pass that came to the provider's end."""
    task = walk.task
    return judge_end(
        checkpoint,
        len(walk.seen.ids),
        agrees=checkpoint.passes > 0 and walk.seen.agrees_with(walk.known, counted=checkpoint.total is not None),
        max_shortfall=task.spec.paging.max_shortfall,
        can_cut=can_halve(task),
    )


def settled(walk: Walk, checkpoint: Checkpoint, verdict: PassVerdict) -> Checkpoint:
    """The checkpoint that a verdict on the last page leaves: a task that is retried must never find itself ended."""
    if verdict.judgement in (Judgement.COMPLETE, Judgement.ACCEPTED):
        confirmed = checkpoint.total is not None and len(walk.seen.ids) >= checkpoint.total
        return replace(checkpoint, weak_end=not (confirmed or walk.task.ids))
    again = checkpoint.next_pass(verdict.missing)
    if verdict.judgement == Judgement.CUT:
        return replace(again, limit=verdict.why, reslice=verdict.reslice)
    return again


def accepted_end(walk: Walk, step: Step) -> Step:
    """The step; an end that cannot be checked is the end where an operator has accepted it."""
    if step.reslice == ResliceReason.END_UNCERTAIN and walk.checkpoint.accepted is not None:
        return Step(None, signal=step.signal)
    return step


def shortfall_note(walk: Walk, checkpoint: Checkpoint, verdict: PassVerdict) -> Rejected:
    """What quarantine keeps of missing records that were accepted."""
    task = walk.task
    missing = {"window": task.window.json(), "total": checkpoint.total, "received": len(walk.seen.ids)}
    fragment = canonical_json({**missing, **({"accepted": checkpoint.accepted} if checkpoint.accepted else {})})
    assert verdict.note is not None
    return Rejected(verdict.note, task.spec.response.total_path or "$", fragment, hash_text(fragment))
