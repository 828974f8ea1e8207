"""Working one leased task to its end: the next page is fetched while the last is written."""

import logging
import time
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from threading import Event
from typing import Any

from ingest_core.cursor.ports import CursorStore
from ingest_core.execution.fetch import FetchedPage, Fetcher, FetchTally
from ingest_core.execution.paging import Step, before_hash, next_step, resume_point
from ingest_core.execution.ports import Batch, Request, Response, Run, RunLedger, RunOutcome, TaskQueue, Upstream
from ingest_core.execution.request import render_request
from ingest_core.execution.routing import ID_HASH_BYTES, Router
from ingest_core.gate.ports import RateGate
from ingest_core.gate.taxonomy import UpstreamError
from ingest_core.model.canonical import canonical_json, hash_text
from ingest_core.model.clock import Clock
from ingest_core.model.codes import ErrorLevel, PagePosition, QuarantineReason, TaskStatus
from ingest_core.model.errors import LeaseLost, PatraError, Unreachable
from ingest_core.model.record import Counts, PageOutcome, Rejected
from ingest_core.model.redaction import excerpt
from ingest_core.model.work import Checkpoint, FlowRun, Task

log = logging.getLogger(__name__)

MAX_RESTARTS = 5
MAX_ATTEMPTS = 8
FIRST_RETRY = timedelta(seconds=15)
LONGEST_RETRY = timedelta(minutes=15)
DRIFT_SHARE = 0.2
DRIFT_RECORDS = 10
SAMPLE_CHARS = 500
STOP_POLL_SECONDS = 0.2
_TOKEN_REFUSED = {400, 404, 410}
_TOKEN_PERHAPS_REFUSED = 500


@dataclass(frozen=True)
class RunSummary:
    """What one attempt came to, small enough to be passed around."""

    task_id: int
    status: TaskStatus | None
    counts: Counts = field(default_factory=Counts)
    batches: int = 0
    requests: int = 0
    error: str | None = None
    unreachable: bool = False

    @property
    def lost(self) -> bool:
        """Whether the lease went to another worker, which will do it all."""
        return self.status is None


class _SliceRestart(Exception):
    """The slice must be read from its start again."""

    def __init__(self, code: str, message: str, shortfall: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.shortfall = shortfall


class _Stopped(Exception):
    """Somebody wants this worker to end."""


class SchemaDrift(Exception):
    """Too many records of a page are unusable: the provider's answers have changed."""


@dataclass
class _Walk:
    """The state of one attempt, page after page."""

    run: Run
    fetcher: Fetcher
    router: Router
    checkpoint: Checkpoint
    seen: set[bytes]
    counts: Counts = field(default_factory=Counts)
    batches: int = 0
    observed_max: datetime | None = None
    limited: bool = False

    @property
    def task(self) -> Task:
        return self.run.task


@dataclass(frozen=True)
class _Asked:
    """A page that has been asked for."""

    batch: Batch
    request: Request
    answer: "Future[FetchedPage]"


class TaskRunner:
    """Runs leased tasks; whatever happens, the task ends in a state somebody can go on from."""

    def __init__(
        self,
        queue: TaskQueue,
        ledger: RunLedger,
        cursors: CursorStore,
        gate: RateGate,
        upstream: Upstream,
        clock: Clock,
        stop: Event,
    ) -> None:
        self._queue = queue
        self._ledger = ledger
        self._cursors = cursors
        self._gate = gate
        self._upstream = upstream
        self._clock = clock
        self._stop = stop

    def run(self, task: Task, flow: FlowRun | None = None) -> RunSummary:
        """Work the task to its end, and let the watermark follow."""
        try:
            run = self._ledger.begin_run(task, flow or FlowRun())
            walk = self._prepare(run)
            outcome, summary = self._attempt(walk)
            self._ledger.finish(run, outcome)
        except LeaseLost as lost:
            return RunSummary(task.lease.task_id, None, error=str(lost))
        if outcome.task_status == TaskStatus.SUCCEEDED:
            self._cursors.advance(task.namespace)
        return summary

    def _prepare(self, run: Run) -> _Walk:
        task = run.task
        rate = self._gate.live_rate(task.partition, task.spec.rate)
        checkpoint = resume_point(task.spec.pagination, task.checkpoint, self._clock.now())
        hashes = self._ledger.seen_ids(task) if checkpoint.started else b""
        seen = {hashes[at : at + ID_HASH_BYTES] for at in range(0, len(hashes), ID_HASH_BYTES)}
        fetcher = Fetcher(task.spec, rate, self._gate, self._upstream)
        return _Walk(run, fetcher, Router(task.spec), checkpoint, seen)

    def _attempt(self, walk: _Walk) -> tuple[RunOutcome, RunSummary]:
        """Walk the pages; every way out is an outcome."""
        try:
            self._walk_pages(walk)
            if walk.limited:
                return _ended_partial(walk)
            outcome = RunOutcome(
                TaskStatus.SUCCEEDED, _stats(walk), as_of=walk.checkpoint.as_of, observed_max=walk.observed_max
            )
            return outcome, _summary(walk, TaskStatus.SUCCEEDED)
        except _SliceRestart as restart:
            return _restart(walk, restart)
        except _Stopped:
            return _given_back(walk)
        except UpstreamError as error:
            return _upstream_failed(walk, error)
        except (LeaseLost, Unreachable):
            raise  # not this task's fault: whoever leases it next goes on
        except Exception as error:
            log.exception("run %s of task %s failed", walk.run.run_id, walk.task.lease.task_id)
            return _failed(walk, _error_json(error))

    def _walk_pages(self, walk: _Walk) -> None:
        if walk.checkpoint.ended:
            return  # a crash came between the last page and the end of the task
        pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="fetch")
        try:
            token = walk.checkpoint.token if walk.checkpoint.started else walk.task.spec.pagination.initial_token
            asked: _Asked | None = self._ask(walk, pool, walk.checkpoint.page_no + 1, 1, token)
            while asked:
                page, step = self._receive(walk, asked, self._answer(walk, asked))
                batch, asked = asked.batch, None
                if not step.ends:
                    asked = self._ask(walk, pool, batch.page_no + 1, batch.batch_no + 1, step.token)
                self._commit(walk, batch, page, step)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _ask(self, walk: _Walk, pool: ThreadPoolExecutor, page_no: int, batch_no: int, token: str | None) -> "_Asked":
        """Write the page down as asked for, then ask in the background."""
        spec = walk.task.spec
        digest = before_hash(spec.pagination, token, batch_no)
        batch = self._ledger.open_batch(walk.run, page_no, batch_no, token, digest)
        request = render_request(spec, walk.task.window, token, f"ing-{walk.run.run_id}-{batch_no}")
        opens = token == spec.pagination.initial_token
        repeatable = opens or spec.pagination.position == PagePosition.CLIENT
        return _Asked(batch, request, pool.submit(walk.fetcher.fetch, request, repeatable=repeatable))

    def _answer(self, walk: _Walk, asked: "_Asked") -> FetchedPage:
        """Wait for the page, keeping the lease meanwhile."""
        renewed = time.monotonic()
        while not self._stop.is_set():
            try:
                return asked.answer.result(timeout=STOP_POLL_SECONDS)
            except FutureTimeout:
                if time.monotonic() - renewed > walk.task.lease.ttl_seconds / 3:
                    self._queue.renew(walk.task.lease)
                    renewed = time.monotonic()
            except UpstreamError as error:
                self._ledger.fail_batch(walk.run, asked.batch, error.json())
                _raise_restart(walk, asked.batch, error)
                raise
        raise _Stopped

    def _receive(self, walk: _Walk, asked: "_Asked", fetched: FetchedPage) -> tuple[PageOutcome, Step]:
        """Route the page's records and see what comes next."""
        task, batch = walk.task, asked.batch
        records, rejected, hashes = walk.router.route(fetched.page, batch.asked_at)
        if len(rejected) >= DRIFT_RECORDS and len(rejected) > DRIFT_SHARE * len(fetched.page.items):
            message = f"{len(rejected)} of {len(fetched.page.items)} records are unusable ({rejected[0].reason})"
            self._ledger.fail_batch(walk.run, batch, {"code": "SCHEMA_DRIFT", "message": message})
            raise SchemaDrift(message)
        walk.seen.update(hashes[at : at + ID_HASH_BYTES] for at in range(0, len(hashes), ID_HASH_BYTES))
        step = next_step(task.spec.pagination, fetched.page, batch.page_no, len(walk.seen))
        notes = _complete_or_restart(walk, fetched) if step.completes else []
        newest = max((record.updated_at for record in records), default=None)
        walk.observed_max = max(filter(None, (walk.observed_max, newest)), default=None)
        page = PageOutcome(
            records=records,
            rejected=rejected,
            notes=notes,
            id_hashes=hashes,
            request_digest=_request_digest(asked.request, fetched.response),
            response_digest=_response_digest(fetched),
            http_stats={"latencyMs": round(fetched.response.elapsed_seconds * 1000)},
            after_token=fetched.page.next_token,
            has_next=not step.completes,
        )
        return page, step

    def _commit(self, walk: _Walk, batch: Batch, page: PageOutcome, step: Step) -> None:
        checkpoint = replace(
            walk.checkpoint,
            page_no=batch.page_no,
            token=step.token,
            token_at=batch.asked_at,
            as_of=walk.checkpoint.as_of or batch.asked_at,
            ended=step.completes,
        )
        walk.counts += self._ledger.commit_page(walk.run, batch, page, checkpoint)
        walk.checkpoint = checkpoint
        walk.batches += 1
        walk.limited = step.limit


def _raise_restart(walk: _Walk, batch: Batch, error: UpstreamError) -> None:
    """A place that is gone, or that may have moved on without us, is asked for anew from the slice's start."""
    if batch.page_no == 1:
        return
    again_in_vain = error.status == _TOKEN_PERHAPS_REFUSED and walk.run.attempt_no > 1
    if again_in_vain or (error.status in _TOKEN_REFUSED and error.level != ErrorLevel.L1):
        raise _SliceRestart("TOKEN_REFUSED", f"page {batch.page_no}: the token was refused: {error}") from error
    if error.moved and walk.task.spec.pagination.position == PagePosition.SERVER:
        raise _SliceRestart(
            "POSITION_LOST", f"page {batch.page_no}: the provider's position is lost: {error}"
        ) from error


def _complete_or_restart(walk: _Walk, fetched: FetchedPage) -> list[Rejected]:
    """All that the provider stated must have come; the same shortfall twice is noted and accepted."""
    total = fetched.page.total
    missing = total - len(walk.seen) if total is not None else 0
    if missing <= 0:
        return []
    message = f"{len(walk.seen)} of {total} records came"
    if walk.checkpoint.shortfall != missing:
        raise _SliceRestart("SHORTFALL", message, shortfall=missing)
    task = walk.task
    fragment = canonical_json({"window": task.window.json(), "total": total, "received": len(walk.seen)})
    return [Rejected(QuarantineReason.SHORTFALL, task.spec.response.total_path or "$", fragment, hash_text(fragment))]


def _ended_partial(walk: _Walk) -> tuple[RunOutcome, RunSummary]:
    limit = walk.task.spec.pagination.max_page
    message = f"stopped at max_page {limit}: the rest of the window is not read, and the watermark waits"
    error = {"level": ErrorLevel.L2.value, "code": "MAX_PAGE", "message": message}
    return RunOutcome(TaskStatus.PARTIAL, _stats(walk), error=error), _summary(walk, TaskStatus.PARTIAL, error)


def _given_back(walk: _Walk) -> tuple[RunOutcome, RunSummary]:
    error = {"level": ErrorLevel.L1.value, "code": "INTERRUPTED", "message": "interrupted; the task is queued again"}
    return RunOutcome(TaskStatus.QUEUED, _stats(walk), error=error), _summary(walk, TaskStatus.QUEUED, error)


def _restart(walk: _Walk, restart: _SliceRestart) -> tuple[RunOutcome, RunSummary]:
    error = {"level": ErrorLevel.L1.value, "code": restart.code, "message": str(restart)}
    shortfall = restart.shortfall or walk.checkpoint.shortfall
    checkpoint = Checkpoint(restarts=walk.checkpoint.restarts + 1, shortfall=shortfall)
    if checkpoint.restarts > MAX_RESTARTS:
        error["message"] = f"restarted {MAX_RESTARTS} times in vain: {restart}"
        return _failed(walk, error)
    outcome = RunOutcome(TaskStatus.QUEUED, _stats(walk), error=error, checkpoint=checkpoint)
    return outcome, _summary(walk, TaskStatus.QUEUED, error)


def _upstream_failed(walk: _Walk, error: UpstreamError) -> tuple[RunOutcome, RunSummary]:
    """A passing fault gives the task back for later; anything else ends it."""
    progressed = walk.batches > 0 and walk.task.spec.pagination.position == PagePosition.CLIENT
    in_vain = walk.run.attempt_no >= MAX_ATTEMPTS and not (error.unreachable or progressed)
    if error.level != ErrorLevel.L1 or in_vain:
        return _failed(walk, error.json())
    wait = min(FIRST_RETRY * 2 ** min(walk.run.attempt_no - 1, MAX_ATTEMPTS), LONGEST_RETRY)
    wait = timedelta(0) if error.unreachable else max(wait, error.retry_after or timedelta(0))
    outcome = RunOutcome(TaskStatus.QUEUED, _stats(walk), error=error.json(), retry_in=wait)
    return outcome, _summary(walk, TaskStatus.QUEUED, error.json(), unreachable=error.unreachable)


def _error_json(error: Exception) -> dict[str, Any]:
    code = error.code if isinstance(error, PatraError) else type(error).__name__
    return {"level": ErrorLevel.L4.value, "code": code, "message": str(error) or type(error).__name__}


def _failed(walk: _Walk, error: dict[str, Any]) -> tuple[RunOutcome, RunSummary]:
    outcome = RunOutcome(TaskStatus.FAILED, _stats(walk), error=error)
    return outcome, _summary(walk, TaskStatus.FAILED, error)


def _summary(
    walk: _Walk, status: TaskStatus, error: dict[str, Any] | None = None, *, unreachable: bool = False
) -> RunSummary:
    return RunSummary(
        task_id=walk.task.lease.task_id,
        status=status,
        counts=walk.counts,
        batches=walk.batches,
        requests=walk.fetcher.tally.requests,
        error=str(error["message"]) if error else None,
        unreachable=unreachable,
    )


def _stats(walk: _Walk) -> dict[str, Any]:
    tally: FetchTally = walk.fetcher.tally
    latencies = tally.latencies_ms or [0]
    return {
        "reqCount": tally.requests,
        "retCount": walk.counts.received,
        "inserted": walk.counts.inserted,
        "updated": walk.counts.updated,
        "skipped": walk.counts.skipped,
        "failed": walk.counts.quarantined,
        "retryCount": tally.retries,
        "429Count": tally.too_many,
        "avgLatencyMs": round(sum(latencies) / len(latencies)),
        "maxLatencyMs": max(latencies),
        "waitTotalMs": round(tally.waited.total_seconds() * 1000),
        "pagesVisited": walk.batches,
    }


def _request_digest(request: Request, response: Response) -> dict[str, Any]:
    return {
        "method": request.method,
        "url": response.url,
        "query": [[name, value] for name, value in request.query],
        "headers": sorted(request.headers),
    }


def _response_digest(fetched: FetchedPage) -> dict[str, Any]:
    response = fetched.response
    return {
        "status": response.status,
        "bytes": len(response.body),
        "bodyHash": hash_text(response.body.decode("utf-8", "replace")),
        "sample": excerpt(response.body[: SAMPLE_CHARS * 3].decode("utf-8", "replace"), SAMPLE_CHARS),
        "total": fetched.page.total,
        "rate": {"waitMs": round(fetched.waited.total_seconds() * 1000)},
    }
