"""Working one leased task to its end: the next page is fetched while the last is written."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from threading import Event

from ingest_core.cursor.ports import CursorStore
from ingest_core.execution.collecting import rare_collections
from ingest_core.execution.details import fetch_listed, fetch_whole
from ingest_core.execution.early_end import Progress, decide_early_end
from ingest_core.execution.evidence import http_stats, request_digest, response_digest
from ingest_core.execution.fetch import FetchedPage, Fetcher
from ingest_core.execution.lateness import seconds_behind
from ingest_core.execution.lease_keeper import LeaseKeeper
from ingest_core.execution.outcomes import (
    Ending,
    RunSummary,
    ended_early,
    error_json,
    failed,
    given_back,
    restarted,
    succeeded,
    upstream_failed,
)
from ingest_core.execution.paging import Step, before_hash, first_token, next_step, offset_of, resume_point
from ingest_core.execution.ports import (
    Batch,
    Request,
    Run,
    RunLedger,
    RunOutcome,
    TaskQueue,
    Upstream,
    WorkControl,
)
from ingest_core.execution.request import Caller, render_detail, render_request
from ingest_core.execution.routing import ID_HASH_BYTES, Routed, Router, too_many_unusable
from ingest_core.execution.unset import UnsetCheck, readable
from ingest_core.execution.walk import (
    SliceRestart,
    Walk,
    complete_or_restart,
    place_of,
    raise_restart,
    spent,
    warn_of_budget,
)
from ingest_core.gate.ports import RateGate
from ingest_core.gate.taxonomy import UpstreamError
from ingest_core.model.clock import Clock
from ingest_core.model.codes import ErrorLevel, PagePosition, TaskStatus
from ingest_core.model.errors import LeaseLost, SchemaDrift, Unreachable
from ingest_core.model.naming import resume_command
from ingest_core.model.record import PageOutcome, Rejected
from ingest_core.model.spec import RateSpec
from ingest_core.model.work import Checkpoint, FlowRun, Task

log = logging.getLogger(__name__)

STOP_POLL_SECONDS = 0.2
FINISH_SECONDS = 10.0
"""So long is a page that was asked for awaited by a worker that is to end: it would have to be asked for again."""

TURN_SECONDS = 1.0
"""So long may the next page's turn be awaited: a database of one writer would keep it until this page is written."""


class _Stopped(Exception):
    """Somebody wants this worker to end."""


@dataclass(frozen=True)
class Arrived:
    """A page that came, its records routed."""

    fetched: FetchedPage
    routed: Routed


@dataclass(frozen=True)
class Asked:
    """A page that has been asked for."""

    batch: Batch
    request: Request
    token: str | None
    answer: "Future[Arrived]"


class TaskRunner:
    """Runs leased tasks; whatever happens, the task ends in a state somebody can go on from."""

    def __init__(
        self,
        queue: TaskQueue,
        ledger: RunLedger,
        cursors: CursorStore,
        control: WorkControl,
        gate: RateGate,
        upstream: Upstream,
        clock: Clock,
        stop: Event,
        contact: str | None = None,
    ) -> None:
        self._queue = queue
        self._ledger = ledger
        self._cursors = cursors
        self._control = control
        self._gate = gate
        self._upstream = upstream
        self._clock = clock
        self._stop = stop
        self._contact = contact

    def run(self, task: Task, flow: FlowRun | None = None) -> RunSummary:
        """Work the task to its end, and let the watermark follow."""
        try:
            with LeaseKeeper(self._queue, task.lease) as keeper:
                run = self._ledger.begin_run(task, flow or FlowRun())
                with rare_collections():
                    outcome, summary = self._attempt(self._prepare(run, keeper))
                self._ledger.finish(run, outcome)
        except LeaseLost as lost:
            return RunSummary(task.lease.task_id, None, error=str(lost))
        if outcome.task_status == TaskStatus.SUCCEEDED or outcome.covered:
            self._cursors.advance(task.namespace)
        return self._fuse(task, outcome, summary)

    def _fuse(self, task: Task, outcome: RunOutcome, summary: RunSummary) -> RunSummary:
        """Stop the partition where an error says that nothing of it can go on."""
        error = outcome.error or {}
        if outcome.task_status != TaskStatus.FAILED or error.get("level") != ErrorLevel.L4.value:
            return summary
        reason = f"task {task.lease.task_id}: {error['message']}"
        if not self._control.fuse(task.partition, task.control_version, reason):
            return summary
        log.error("%s is fused: %s", task.partition, reason)
        stopped = f"{task.partition} is FUSED until {resume_command(task.partition)}"
        return replace(summary, fused=True, error=f"{stopped}: {summary.error}")

    def _prepare(self, run: Run, keeper: LeaseKeeper) -> Walk:
        task = run.task
        rate = self._gate.live_rate(task.partition, task.spec.rate)
        checkpoint = resume_point(task.spec.paging, task.checkpoint, self._clock.now())
        hashes = self._ledger.seen_ids(task) if checkpoint.started else b""
        seen = {hashes[at : at + ID_HASH_BYTES] for at in range(0, len(hashes), ID_HASH_BYTES)}
        detail_rate = self._detail_rate(task)
        fetcher = Fetcher(task.spec, rate, self._gate, self._upstream, detail_rate=detail_rate, sleep=self._nap)
        # What came before this attempt may have been out of order.
        progress = Progress(in_order=not checkpoint.started)
        return Walk(run, fetcher, Router(task.spec), checkpoint, seen, keeper, progress=progress)

    def _detail_rate(self, task: Task) -> RateSpec | None:
        """What details cost today."""
        detail = task.spec.detail
        if detail is None:
            return None
        partition = replace(task.partition, endpoint_name=detail.endpoint_name)
        return self._gate.live_rate(partition, detail.rate or task.spec.rate)

    def _nap(self, seconds: float) -> None:
        """Wait for a turn, but not longer than somebody wants this worker to live."""
        if self._stop.wait(seconds):
            raise _Stopped

    def _attempt(self, walk: Walk) -> Ending:
        """Walk the pages; every way out is an outcome."""
        try:
            self._walk_pages(walk)
            return ended_early(walk, walk.step) if walk.step and walk.step.limit else succeeded(walk)
        except SliceRestart as restart:
            return restarted(walk, restart)
        except _Stopped:
            return given_back(walk)
        except UpstreamError as error:
            return upstream_failed(walk, error)
        except (LeaseLost, Unreachable):
            raise  # not this task's fault: whoever leases it next goes on
        except Exception as error:
            log.exception("run %s of task %s failed", walk.run.run_id, walk.task.lease.task_id)
            return failed(walk, error_json(error))

    def _walk_pages(self, walk: Walk) -> None:
        if walk.checkpoint.ended:
            return  # a crash came between the last page and the end of the task
        if walk.checkpoint.limit is not None:
            walk.step = Step(walk.checkpoint.token, limit=walk.checkpoint.limit, reslice=walk.checkpoint.reslice)
            return  # or between the page that met a limit and the end of the task
        if self._stop.is_set():
            raise _Stopped
        pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="fetch")
        try:
            token = walk.checkpoint.token if walk.checkpoint.started else first_token(walk.task.spec.paging)
            asked: Asked | None = self._ask(walk, pool, walk.checkpoint.page_no + 1, 1, token, walk.checkpoint.rewinds)
            while asked:
                page, step, total = self._receive(walk, asked, self._answer(walk, asked))
                batch, asked = asked.batch, None
                checkpoint = _after(walk.checkpoint, batch, step, total)
                stopped = self._stop.is_set()
                if not step.ends and not stopped:
                    asked = self._ask(walk, pool, batch.page_no + 1, batch.batch_no + 1, step.token, checkpoint.rewinds)
                    walk.fetcher.turn_taken.wait(TURN_SECONDS)
                self._commit(walk, batch, page, checkpoint)
                walk.step = step
                if stopped and not step.ends:
                    raise _Stopped
        finally:
            walk.fetcher.abandoned.set()
            pool.shutdown(wait=False, cancel_futures=True)

    def _ask(
        self, walk: Walk, pool: ThreadPoolExecutor, page_no: int, batch_no: int, token: str | None, rewinds: int
    ) -> Asked:
        """Write the page down as asked for, then ask in the background."""
        spec = walk.task.spec
        walk.fetcher.turn_taken.clear()
        digest = before_hash(spec.paging, token, batch_no, rewinds)
        batch = self._ledger.open_batch(walk.run, page_no, batch_no, token, digest)
        caller = Caller(f"ing-{walk.run.run_id}-{batch_no}", self._contact)
        if walk.task.ids:
            return self._ask_listed(walk, pool, batch, int(token or 0), caller)
        task = walk.task
        request = render_request(spec, task.window, token, caller, readable(spec, task.range))
        opens = token == first_token(spec.paging)
        repeatable = opens or spec.paging.position == PagePosition.CLIENT
        work = partial(
            fetch_whole,
            walk.fetcher,
            walk.router,
            request,
            caller,
            repeatable=repeatable,
            offset=offset_of(spec.paging, token),
            bad_ids=partial(self._ledger.bad_ids, walk.task),
        )
        if opens and task.range and task.range.is_unset:
            work = partial(UnsetCheck(walk.fetcher, task.window, task.range, caller).first_page, work)
        return Asked(batch, request, token, pool.submit(copy_context().run, _arrive, walk, batch, work))

    def _ask_listed(self, walk: Walk, pool: ThreadPoolExecutor, batch: Batch, offset: int, caller: Caller) -> Asked:
        """Ask for the next ids of a list."""
        task = walk.task
        request = render_detail(task.spec, list(task.ids[offset : offset + task.spec.paging.page_size]), caller)
        bad_ids = partial(self._ledger.bad_ids, task)
        work = partial(fetch_listed, walk.fetcher, task.ids, offset, caller, bad_ids)
        return Asked(batch, request, str(offset), pool.submit(copy_context().run, _arrive, walk, batch, work))

    def _answer(self, walk: Walk, asked: Asked) -> Arrived:
        """Wait for the page, as long as it is ours, and not for long once somebody wants this worker to end."""
        patience = FINISH_SECONDS
        while patience > 0:
            walk.keeper.check()
            patience -= STOP_POLL_SECONDS if self._stop.is_set() else 0
            try:
                return asked.answer.result(timeout=STOP_POLL_SECONDS)
            except FutureTimeout:
                continue
            except UpstreamError as error:
                self._ledger.fail_batch(walk.run, asked.batch, error.json())
                raise_restart(walk, asked.batch, error)
                raise
        raise _Stopped

    def _receive(self, walk: Walk, asked: Asked, arrived: Arrived) -> tuple[PageOutcome, Step, int | None]:
        """Take the page's records and see what comes next."""
        task, batch = walk.task, asked.batch
        fetched, routed = arrived.fetched, arrived.routed
        if batch.batch_no == 1:
            since_asked = fetched.response.elapsed_seconds + time.monotonic() - fetched.answered
            walk.provider_late_seconds = seconds_behind(fetched.response.headers, self._clock.now(), since_asked)
        records, rejected, hashes = routed.records, routed.rejected, routed.id_hashes
        if self._drifted(task, rejected, fetched.page.count):
            message = f"{len(rejected)} of {fetched.page.count} records are unusable ({rejected[0].reason})"
            self._ledger.fail_batch(walk.run, batch, {"code": "SCHEMA_DRIFT", "message": message})
            raise SchemaDrift(message)
        walk.seen.update(hashes[at : at + ID_HASH_BYTES] for at in range(0, len(hashes), ID_HASH_BYTES))
        walk.repetition = walk.repetition.after(hashes, walk.checkpoint.rewinds)
        walk.progress = walk.progress.after(records, task.window)
        step = next_step(task.spec.paging, fetched.page, place_of(walk, batch, asked.token))
        step = decide_early_end(task, step, walk.progress, spent(walk, fetched), len(fetched.response.body))
        warn_of_budget(walk, step, spent(walk, fetched))
        notes = [*fetched.notes, *(complete_or_restart(walk, fetched) if step.completes else [])]
        newest = max((record.updated_at for record in records), default=None)
        walk.observed_max = max(filter(None, (walk.observed_max, newest)), default=None)
        page = PageOutcome(
            records=records,
            rejected=rejected,
            notes=notes,
            id_hashes=hashes,
            request_digest=request_digest(asked.request, fetched.response),
            response_digest=response_digest(fetched),
            http_stats=http_stats(fetched),
            after_token=step.token,
            has_next=not step.completes,
            outside=routed.outside,
        )
        return page, step, fetched.page.total

    def _drifted(self, task: Task, rejected: list[Rejected], received: int) -> bool:
        """Whether too many records are unusable; those that were so before, and are asked for again, are no news."""
        if not too_many_unusable(len(rejected), received):
            return False
        return too_many_unusable(len(rejected) - self._ledger.known_bad(task, rejected), received)

    def _commit(self, walk: Walk, batch: Batch, page: PageOutcome, checkpoint: Checkpoint) -> None:
        walk.counts += self._ledger.commit_page(walk.run, batch, page, checkpoint)
        walk.checkpoint = checkpoint
        walk.batches += 1


def _arrive(walk: Walk, batch: Batch, fetch: Callable[[], FetchedPage]) -> Arrived:
    """Fetch a page and route its records: both happen in the background, while the last page is written."""
    try:
        fetched, task = walk.fetcher.measured(fetch), walk.task
    finally:
        walk.fetcher.turn_taken.set()
    filters_here = task.spec.window is not None and not task.spec.window.supports_updated_since
    return Arrived(fetched, walk.router.route(fetched.page, batch.asked_at, task.window if filters_here else None))


def _after(checkpoint: Checkpoint, batch: Batch, step: Step, total: int | None) -> Checkpoint:
    """The checkpoint once the page is in."""
    return replace(
        checkpoint,
        page_no=batch.page_no,
        token=step.token,
        token_at=batch.asked_at,
        as_of=checkpoint.as_of or batch.asked_at,
        ended=step.completes,
        limit=None if step.requeues else step.limit,
        reslice=step.reslice,
        total=checkpoint.total if total is None else total,
        rewinds=checkpoint.rewinds + step.rewound,
    )
