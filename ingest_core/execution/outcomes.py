"""How an attempt ends, and what becomes of its task."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from ingest_core.execution.early_end import Progress, can_halve
from ingest_core.execution.fetch import FetchTally
from ingest_core.execution.paging import Step, paginator_of
from ingest_core.execution.ports import RunOutcome
from ingest_core.execution.walk import SliceRestart, Walk
from ingest_core.gate.state import CloseReason
from ingest_core.gate.taxonomy import UpstreamError, level_of
from ingest_core.model.checkpoint import Checkpoint
from ingest_core.model.codes import ErrorLevel, PagePosition, TaskStatus
from ingest_core.model.errors import EndUncertain
from ingest_core.model.record import Arrivals, Counts
from ingest_core.model.redaction import storable
from ingest_core.model.slice_codes import ResliceReason
from ingest_core.model.visible import visible

MAX_RESTARTS = 5
RESTARTS_OF_A_SCROLL = 2
"""Restarts of a slice whose position the provider keeps; after that it is cut smaller."""

MAX_ATTEMPTS = 8
FIRST_RETRY = timedelta(seconds=15)
LONGEST_RETRY = timedelta(minutes=15)
LEAST_LATER, MOST_LATER = 0.05, 0.15
"""Waits that a provider or its limiter states are lengthened by a share between these, so that tasks do not all come
back at once."""

LATEST = timedelta(seconds=60)
"""They are lengthened by at most this."""
INCOMPLETE = (ResliceReason.SHORTFALL, ResliceReason.UNSTABLE)
"""Reasons to cut a slice that was read to its end, and not completely."""

BUDGET_PAUSE = timedelta(seconds=30)
"""Delay of a task that has spent its budget."""


@dataclass(frozen=True)
class RunSummary:
    """What one attempt came to, small enough to be passed around."""

    task_id: int
    status: TaskStatus | None
    counts: Counts = field(default_factory=Counts)
    batches: int = 0
    requests: int = 0
    retries: int = 0
    waited: timedelta = timedelta(0)
    error: str | None = None
    unreachable: bool = False
    fused: bool = False
    weak_end: bool = False
    """Whether no total confirms the end of the slice."""

    @property
    def lost(self) -> bool:
        """Whether the lease went to another worker, which will do it all."""
        return self.status is None


Ending = tuple[RunOutcome, RunSummary]


def succeeded(walk: Walk) -> Ending:
    """Every page is in: the window is covered as of the moment its first page was asked for."""
    outcome = RunOutcome(
        TaskStatus.SUCCEEDED,
        _stats(walk),
        as_of=walk.checkpoint.read_from,
        observed_max=walk.observed_max,
        arrivals=_arrivals(walk),
    )
    return outcome, _summary(walk, TaskStatus.SUCCEEDED)


def ended_early(walk: Walk, step: Step) -> Ending:
    """Our own limit came before the provider's end: the slice goes on later, or what is left of it is cut smaller."""
    if step.requeues:
        message = f"{step.limit}: the task goes on later"
        error = {"level": ErrorLevel.L1.value, "code": "BUDGET_SPENT", "message": message}
        forgiven = walk.checkpoint.forgiven(walk.run.attempt_no)
        outcome = RunOutcome(TaskStatus.QUEUED, _stats(walk), error=error, checkpoint=forgiven, retry_in=BUDGET_PAUSE)
        return outcome, _summary(walk, TaskStatus.QUEUED, error)
    if step.reslice == ResliceReason.END_UNCERTAIN and not can_halve(walk.task):
        return failed(walk, error_json(EndUncertain(f"{step.limit}, or see `patra retry --accept-shortfall`")))
    if step.reslice in INCOMPLETE:  # what is missing may be anywhere in the window: nothing of it is covered
        return _to_be_cut(replace(walk, progress=Progress()), step.reslice, f"{step.limit}", step.reslice.value)
    return _to_be_cut(walk, step.reslice, f"{step.limit}", "LIMIT_REACHED")


def _to_be_cut(walk: Walk, reason: ResliceReason | None, why: str, code: str) -> Ending:
    """PARTIAL: what was read in order of time is covered, the rest is asked to be cut smaller."""
    message = f"{why}: housekeeping or the next plan cuts the slice smaller, and the watermark waits"
    error = {"level": ErrorLevel.L2.value, "code": code, "message": message}
    covered = walk.progress.covered(walk.task)
    weak = covered is not None  # the order of time alone says that the part is complete: a total is of the whole window
    outcome = RunOutcome(
        TaskStatus.PARTIAL,
        {**_stats(walk), "weakEnd": weak},
        as_of=walk.checkpoint.as_of,
        error=error,
        observed_max=walk.observed_max,
        reslice=reason,
        covered=covered,
        arrivals=_arrivals(walk),
    )
    return outcome, _summary(walk, TaskStatus.PARTIAL, error)


def given_back(walk: Walk) -> Ending:
    """Stopped: another attempt continues from the checkpoint."""
    error = {"level": ErrorLevel.L1.value, "code": "INTERRUPTED", "message": "interrupted; the task is queued again"}
    forgiven = walk.checkpoint.forgiven(walk.run.attempt_no)
    outcome = RunOutcome(TaskStatus.QUEUED, _stats(walk), error=error, checkpoint=forgiven)
    return outcome, _summary(walk, TaskStatus.QUEUED, error)


def restarted(walk: Walk, restart: SliceRestart) -> Ending:
    """The slice begins again at once, but not for ever."""
    error = {"level": ErrorLevel.L1.value, "code": restart.code, "message": str(restart)}
    checkpoint = replace(walk.checkpoint.anew(), restarts=walk.checkpoint.restarts + 1)
    at_provider = walk.task.spec.paging.position == PagePosition.SERVER
    if at_provider and checkpoint.restarts > RESTARTS_OF_A_SCROLL and can_halve(walk.task):
        return _to_be_cut(replace(walk, progress=Progress()), ResliceReason.RESTARTED, str(restart), restart.code)
    if checkpoint.restarts > MAX_RESTARTS:
        error["message"] = f"restarted {MAX_RESTARTS} times in vain: {restart}"
        return failed(walk, error)
    outcome = RunOutcome(TaskStatus.QUEUED, _stats(walk), error=error, checkpoint=checkpoint)
    return outcome, _summary(walk, TaskStatus.QUEUED, error)


def upstream_failed(walk: Walk, error: UpstreamError, now: datetime, *, counts: bool) -> Ending:
    """A passing fault gives the task back for later; anything else ends it.

    `counts` says whether the fault may be the task's: others were answered since its last one.
    """
    progressed = walk.batches > 0 and walk.task.spec.paging.position == PagePosition.CLIENT
    forgiven = progressed or error.unreachable or error.code == "RATE_WAIT" or not counts
    attempts = walk.run.attempt_no - walk.checkpoint.since_attempt
    if error.level != ErrorLevel.L1 or (attempts >= MAX_ATTEMPTS and not forgiven):
        # The token may be what was refused: a retry starts over instead of sending it again.
        refused = walk.checkpoint.started and not (paginator_of(walk.task.spec.paging).counted or error.in_detail)
        return failed(walk, error.json(), walk.checkpoint.anew() if refused else None)
    checkpoint = replace(walk.checkpoint, failed_at=None if error.code == "RATE_WAIT" else now)
    checkpoint = checkpoint.forgiven(walk.run.attempt_no) if forgiven else checkpoint
    wait = _pause(walk, error, attempts)
    outcome = RunOutcome(TaskStatus.QUEUED, _stats(walk), error=error.json(), checkpoint=checkpoint, retry_in=wait)
    gone = error.unreachable or error.closed == CloseReason.CIRCUIT
    return outcome, _summary(walk, TaskStatus.QUEUED, error.json(), unreachable=gone)


def _pause(walk: Walk, error: UpstreamError, attempts: int) -> timedelta:
    """How long the task waits: never less than the provider or its limiter says, and not all tasks as long."""
    stated = error.retry_after or timedelta(0)
    later: timedelta = min(stated * (LEAST_LATER + (MOST_LATER - LEAST_LATER) * walk.fetcher.chance()), LATEST)
    if error.unreachable or error.closed:
        return stated + later
    backoff: timedelta = min(FIRST_RETRY * 2 ** min(attempts - 1, MAX_ATTEMPTS), LONGEST_RETRY)
    return max(backoff * (1 + MOST_LATER * walk.fetcher.chance()), stated + later)


def error_json(error: Exception) -> dict[str, Any]:
    """An error that is no answer's, as the ledger keeps it."""
    code = getattr(error, "code", None) or type(error).__name__
    return {
        "level": level_of(code).value,
        "code": code,
        "message": visible(storable(str(error))) or type(error).__name__,
    }


def failed(walk: Walk, error: dict[str, Any], checkpoint: Checkpoint | None = None) -> Ending:
    """The task is over until it is retried or its window is planned again; a retry continues at the checkpoint."""
    outcome = RunOutcome(TaskStatus.FAILED, _stats(walk), error=error, checkpoint=checkpoint)
    return outcome, _summary(walk, TaskStatus.FAILED, error)


def _summary(
    walk: Walk, status: TaskStatus, error: dict[str, Any] | None = None, *, unreachable: bool = False
) -> RunSummary:
    return RunSummary(
        task_id=walk.task.lease.task_id,
        status=status,
        counts=walk.counts,
        batches=walk.batches,
        requests=walk.fetcher.tally.requests,
        retries=walk.fetcher.tally.retries,
        waited=walk.fetcher.tally.waited,
        error=str(error["message"]) if error else None,
        unreachable=unreachable,
        weak_end=status == TaskStatus.SUCCEEDED and walk.checkpoint.weak_end,
    )


def _arrivals(walk: Walk) -> Arrivals:
    again = walk.counts.received - walk.counts.inserted - walk.counts.updated
    received = walk.counts.received - (again if walk.checkpoint.passes else 0)  # a second pass brings no news
    return Arrivals(received, walk.counts.late, walk.provider_late_seconds)


def _stats(walk: Walk) -> dict[str, Any]:
    tally: FetchTally = walk.fetcher.tally
    return {
        "reqCount": tally.requests,
        "retCount": walk.counts.received,
        "inserted": walk.counts.inserted,
        "updated": walk.counts.updated,
        "skipped": walk.counts.skipped,
        "skippedOlder": walk.counts.older,
        "skippedEqual": walk.counts.equal,
        "gone": walk.counts.gone,
        "failed": walk.counts.quarantined,
        "late": walk.counts.late,
        "distinctCount": len(walk.seen.ids),
        "retryCount": tally.retries,
        "tailProbeCount": tally.tail_probes,
        "429Count": tally.too_many,
        "avgLatencyMs": round(tally.latency_total_ms / max(tally.answers, 1)),
        "maxLatencyMs": tally.latency_max_ms,
        "waitTotalMs": round(tally.waited.total_seconds() * 1000),
        "pagesVisited": walk.batches,
        "hasNextLast": walk.step is not None and not walk.step.completes,
        "passes": walk.checkpoint.passes + walk.checkpoint.ended,
        "endSignal": walk.checkpoint.end_signal.value if walk.checkpoint.end_signal else None,
        "weakEnd": walk.checkpoint.weak_end,
        "permitsTotal": tally.permits,
        "retryAfterHits": tally.retry_afters,
        "rejectedPermits": tally.rejected,
    }
