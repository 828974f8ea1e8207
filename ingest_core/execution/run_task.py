"""Working one leased task to its end: the next page is fetched while the last is written."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from contextvars import copy_context
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from threading import Event

from ingest_core.cursor.ports import CursorStore
from ingest_core.execution.collecting import relaxed_gc
from ingest_core.execution.completeness import Judgement, PassVerdict
from ingest_core.execution.details import fetch_listed, fetch_whole
from ingest_core.execution.drift import judge_drift
from ingest_core.execution.early_end import Progress, decide_early_end
from ingest_core.execution.evidence import http_stats, request_digest, response_digest
from ingest_core.execution.fetch import FetchedPage, Fetcher, Spot
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
from ingest_core.execution.paging import Step, before_hash, paginator_of, resume_point
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
from ingest_core.execution.routing import Routed, Router
from ingest_core.execution.unset import UnsetCheck, readable
from ingest_core.execution.walk import (
    Listing,
    SliceRestart,
    Walk,
    accepted_end,
    after_page,
    first_step,
    judge_pass,
    page_in_slice,
    place_of,
    raise_restart,
    refuse_endless,
    settled,
    shortfall_note,
    spent,
    warn_of_budget,
)
from ingest_core.gate.ports import Asker, RateGate
from ingest_core.gate.taxonomy import UpstreamError
from ingest_core.model.checkpoint import Checkpoint
from ingest_core.model.clock import Clock
from ingest_core.model.codes import ErrorLevel, PagePosition, TaskStatus
from ingest_core.model.errors import DataRefused, LeaseLost, ShortfallTooLarge, SliceFailed, Unreachable
from ingest_core.model.naming import resume_command
from ingest_core.model.record import PageOutcome
from ingest_core.model.task import FlowRun, Task

log = logging.getLogger(__name__)

STOP_POLL_SECONDS = 0.2
FINISH_SECONDS = 10.0
"""How long a stopping worker waits for a requested page, which would otherwise be requested again."""

SHORTFALL_REMEDY = (
    "set pagination.total_kind: ESTIMATE if the total counts other things than records, or pagination.max_shortfall, or"
    " accept it with `patra retry --task ID --accept-shortfall --reason TEXT`"
)

PERMIT_SECONDS = 1.0
"""How long the next permit is waited for before a page is written: SQLite's only writer would block both."""


class _Stopped(Exception):
    """This worker was asked to stop."""


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
    """Runs leased tasks; every task ends in a state from which it can continue."""

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
                with relaxed_gc():
                    walk = self._prepare(run, keeper)
                    outcome, summary = self._attempt(walk)
                outcome, summary = self._finish(walk, outcome, summary)
        except LeaseLost as lost:
            return RunSummary(task.lease.task_id, None, error=str(lost))
        if outcome.task_status == TaskStatus.SUCCEEDED or outcome.covered:
            self._cursors.advance(task.namespace)
        return self._fuse(task, outcome, summary)

    def _finish(self, walk: Walk, outcome: RunOutcome, summary: RunSummary) -> Ending:
        """End the attempt; an outcome that the database refuses fails the task, not its worker."""
        try:
            self._ledger.finish(walk.run, outcome)
        except DataRefused as error:
            log.exception("run %s of task %s: its outcome was refused", walk.run.run_id, walk.task.lease.task_id)
            outcome, summary = failed(walk, error_json(error))
            self._ledger.finish(walk.run, outcome)
        return outcome, summary

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
        checkpoint = resume_point(task.spec.paging, task.checkpoint, self._clock.now())
        seen = Listing.of(self._ledger.seen_ids(task, checkpoint.as_of) if checkpoint.as_of else b"")
        earlier = checkpoint.last_pass_from
        known = Listing.of(self._ledger.seen_ids(task, earlier, checkpoint.as_of) if earlier else b"")
        asker = Asker(
            str(task.lease.task_id),
            task.lineage.plan_id,
            task.partition,
            task.priority,
            timedelta(seconds=task.spec.http.deadline_seconds),
        )
        fetcher = Fetcher(task.spec, self._gate, self._upstream, asker=asker, sleep=self._nap)
        # What came before this attempt may have been out of order.
        progress = Progress(in_order=not checkpoint.started)
        return Walk(run, fetcher, Router(task.spec), checkpoint, seen, keeper, known=known, progress=progress)

    def _nap(self, seconds: float) -> None:
        """Wait for a permit; _Stopped when this worker is asked to stop."""
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
            return upstream_failed(walk, error, self._clock.now(), counts=self._counts(walk))
        except SliceFailed as error:
            log.error("run %s of task %s failed: %s", walk.run.run_id, walk.task.lease.task_id, error)  # noqa: TRY400
            return failed(walk, error_json(error), walk.checkpoint.anew() if error.starts_over else None)
        except (LeaseLost, Unreachable):
            raise  # not this task's fault: whoever leases it next goes on
        except Exception as error:
            log.exception("run %s of task %s failed", walk.run.run_id, walk.task.lease.task_id)
            return failed(walk, error_json(error))

    def _counts(self, walk: Walk) -> bool:
        """Whether a failure is held against the task: not while its provider does not answer anybody."""
        since, gate = walk.checkpoint.failed_at, walk.fetcher.last_gate
        return since is None or gate is None or self._gate.succeeded_since(gate, since)

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
            batch_no = 0
            while self._walk_pass(walk, pool, batch_no):
                batch_no = walk.batches
        finally:
            walk.fetcher.abandoned.set()
            pool.shutdown(wait=False, cancel_futures=True)

    def _walk_pass(self, walk: Walk, pool: ThreadPoolExecutor, batch_no: int) -> bool:
        """Read the slice to its end, from its start or from where it stands; whether another pass must follow."""
        asked: Asked | None = self._ask(walk, pool, walk.checkpoint, batch_no + 1, first_step(walk))
        while asked:
            page, step, checkpoint = self._receive(walk, asked, self._answer(walk, asked))
            batch, asked = asked.batch, None
            verdict: PassVerdict | None = None
            if step.completes:
                verdict = judge_pass(walk, checkpoint)
                checkpoint, page = self._settle(walk, checkpoint, verdict, page)
            stopped = self._stop.is_set()
            if not step.ends and not stopped:
                asked = self._ask(walk, pool, checkpoint, batch.batch_no + 1, step)
                walk.fetcher.permit_answered.wait(PERMIT_SECONDS)
            self._commit(walk, batch, page, checkpoint)
            walk.step = step
            if verdict and verdict.judgement != Judgement.COMPLETE:
                return self._follow(walk, verdict)
            if stopped and not step.ends:
                raise _Stopped
        return False

    def _settle(
        self, walk: Walk, checkpoint: Checkpoint, verdict: PassVerdict, page: PageOutcome
    ) -> tuple[Checkpoint, PageOutcome]:
        """What the last page of a pass leaves behind; it commits with that page."""
        if verdict.judgement == Judgement.ACCEPTED:
            log.warning("task %s succeeds with a shortfall: %s", walk.task.lease.task_id, verdict.why)
            page = replace(page, notes=[*page.notes, shortfall_note(walk, checkpoint, verdict)])
        return settled(walk, checkpoint, verdict), page

    def _follow(self, walk: Walk, verdict: PassVerdict) -> bool:
        """Do what the verdict on a pass says; whether another pass must follow."""
        if verdict.judgement == Judgement.FAILED:
            raise ShortfallTooLarge(f"{verdict.why}: {SHORTFALL_REMEDY}")
        if verdict.judgement == Judgement.CUT:
            walk.step = Step("", limit=verdict.why, reslice=verdict.reslice)
            return False
        if verdict.judgement == Judgement.ACCEPTED:
            return False
        log.info("task %s: %s: the slice is read again", walk.task.lease.task_id, verdict.why)
        walk.begin_pass()
        if self._stop.is_set():
            raise _Stopped
        return True

    def _ask(self, walk: Walk, pool: ThreadPoolExecutor, checkpoint: Checkpoint, batch_no: int, step: Step) -> Asked:
        """Write the page down as asked for, then ask in the background."""
        spec, token = walk.task.spec, step.token
        walk.fetcher.permit_answered.clear()
        digest = before_hash(spec.paging, token, batch_no, checkpoint.rewinds, checkpoint.passes)
        batch = self._ledger.open_batch(walk.run, checkpoint.page_no + 1, batch_no, token, digest)
        caller = Caller(f"ing-{walk.run.run_id}-{batch_no}", self._contact)
        if walk.task.ids:
            return self._ask_listed(walk, pool, batch, int(token or 0), caller)
        task = walk.task
        request = render_request(spec, task.window, token, caller, readable(spec, task.range))
        paginator = paginator_of(spec.paging)
        opens = token == paginator.first()
        at = Spot(
            repeatable=opens or spec.paging.position == PagePosition.CLIENT,
            offset=paginator.offset(token),
            beyond=step.beyond,
            after_empty=checkpoint.empties > 0,
        )
        bad_ids = partial(self._ledger.bad_ids, task)
        work = partial(
            fetch_whole, walk.fetcher, walk.router, request, caller, at, bad_ids=bad_ids, known=walk.known.ids
        )
        if not (opens and task.range and task.range.is_unset):
            return Asked(batch, request, token, pool.submit(copy_context().run, _arrive, walk, batch, work))
        fetch, check = UnsetCheck(walk.fetcher, task.window, task.range, caller).steps(work)
        return Asked(batch, request, token, pool.submit(copy_context().run, _arrive, walk, batch, fetch, check))

    def _ask_listed(self, walk: Walk, pool: ThreadPoolExecutor, batch: Batch, offset: int, caller: Caller) -> Asked:
        """Ask for the next ids of a list."""
        task = walk.task
        request = render_detail(task.spec, list(task.ids[offset : offset + task.spec.paging.page_size]), caller)
        bad_ids = partial(self._ledger.bad_ids, task)
        witnesses = partial(self._ledger.witnesses, task)
        work = partial(fetch_listed, walk.fetcher, task.ids, offset, caller, bad_ids, witnesses)
        return Asked(batch, request, str(offset), pool.submit(copy_context().run, _arrive, walk, batch, work))

    def _answer(self, walk: Walk, asked: Asked) -> Arrived:
        """Wait for the page while the lease holds; for a short time only once this worker was asked to stop."""
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

    def _receive(self, walk: Walk, asked: Asked, arrived: Arrived) -> tuple[PageOutcome, Step, Checkpoint]:
        """Take the page's records and see what comes next."""
        task, batch = walk.task, asked.batch
        fetched, routed = arrived.fetched, arrived.routed
        if batch.batch_no == 1:
            since_asked = fetched.response.elapsed_seconds + time.monotonic() - fetched.answered
            walk.provider_late_seconds = seconds_behind(fetched.response.headers, self._clock.now(), since_asked)
        records, rejected, hashes = routed.records, routed.rejected, routed.id_hashes
        live = fetched.page.count - len(routed.gone)  # a deleted record is neither usable nor drift
        accepted = judge_drift(self._ledger, walk, batch, rejected, live)
        seen_before = len(walk.seen.ids)
        walk.seen.add(hashes)
        walk.repetition = walk.repetition.after(hashes, walk.checkpoint.rewinds)
        new_records = len(walk.seen.ids) - seen_before
        walk.progress = walk.progress.after(records, task.window) if new_records else Progress(in_order=False)
        decoded = page_in_slice(task, fetched.page, asked.token)
        place = place_of(walk, batch, asked.token, routed)
        step = accepted_end(walk, paginator_of(task.spec.paging).step(decoded, place))
        step = decide_early_end(task, step, walk.progress, spent(walk, fetched), len(fetched.response.body))
        warn_of_budget(walk, step, spent(walk, fetched))
        checkpoint = after_page(walk, batch, step, decoded, new_records)
        refuse_endless(walk, checkpoint, step)
        newest = max((record.updated_at for record in records), default=None)
        walk.observed_max = max(filter(None, (walk.observed_max, newest)), default=None)
        page = PageOutcome(
            records=records,
            rejected=rejected,
            notes=fetched.notes,
            id_hashes=hashes,
            request_digest=request_digest(asked.request, fetched.response),
            response_digest=response_digest(fetched),
            http_stats={**http_stats(fetched), **({"driftAccepted": accepted} if accepted else {})},
            after_token=step.token,
            has_next=not step.completes,
            outside=routed.outside,
            gone=routed.gone,
        )
        return page, step, checkpoint

    def _commit(self, walk: Walk, batch: Batch, page: PageOutcome, checkpoint: Checkpoint) -> None:
        walk.counts += self._ledger.commit_page(walk.run, batch, page, checkpoint)
        walk.checkpoint = checkpoint
        walk.batches += 1


def _arrive(
    walk: Walk,
    batch: Batch,
    fetch: Callable[[], FetchedPage],
    check: Callable[[FetchedPage], FetchedPage] | None = None,
) -> Arrived:
    """Fetch a page and route its records: both happen in the background, while the last page is written."""
    tally, task = walk.fetcher.tally, walk.task
    retries, too_many = tally.retries, tally.too_many
    try:
        fetched = fetch()
        if check is not None:
            fetched = check(fetched)
    finally:
        walk.fetcher.permit_answered.set()
    fetched = replace(fetched, retries=tally.retries - retries, too_many=tally.too_many - too_many)
    filters_here = task.spec.window is not None and not task.spec.window.supports_updated_since
    owns = task.window if filters_here else None
    return Arrived(fetched, walk.router.route(fetched.page, batch.asked_at, owns, walk.fetcher.abandoned))
