"""The steps of planning and of work, one call each, on the stores of one worker."""

import itertools
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from ingest_core.execution.ports import Batch, Run, RunOutcome
from ingest_core.model.canonical import hash_of
from ingest_core.model.checkpoint import Checkpoint
from ingest_core.model.codes import SchedulerCode, TaskStatus
from ingest_core.model.namespace import harvest_namespace
from ingest_core.model.record import Counts, PageOutcome
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.task import FlowRun, Task
from ingest_core.planning.report import PlanReport
from ingest_core.planning.request import PlanRequest, Trigger
from tests.support.books import SOURCE, SPEC, as_compiled
from tests.support.wiring import Stores

A = TypeVar("A")
B = TypeVar("B")

TTL_SECONDS = 60

_numbers = itertools.count(1)


def trigger(key: str | None = None) -> Trigger:
    """A trigger; without a key, one that was never fired before."""
    return Trigger(SchedulerCode.CLI, key if key is not None else f"trigger-{next(_numbers)}")


def request(start: datetime | None, end: datetime | None, source: str = SOURCE) -> PlanRequest:
    """A harvest, of the test source if no other is named."""
    return PlanRequest(source, user_from=start, user_to=end)


def derivation(
    stores: Stores, start: datetime | None, end: datetime | None, key: str | None = None, spec: SpecSnapshot = SPEC
) -> Callable[[], PlanReport]:
    """Planning up to its last step, and that step still to be done: one transaction."""
    wanted, fired = request(start, end, spec.provenance_code), trigger(key)
    instance_id = stores.plans.record_trigger(fired, wanted, harvest_namespace(spec).partition)
    return lambda: stores.planner.derive(wanted, fired, instance_id, as_compiled(spec))


def plan_harvest(
    stores: Stores, start: datetime | None, end: datetime | None, key: str | None = None, spec: SpecSnapshot = SPEC
) -> PlanReport:
    """Plan a harvest, of the test source if no other is given."""
    return derivation(stores, start, end, key, spec)()


def claim(stores: Stores, owner: str = "ann", ttl_seconds: int = TTL_SECONDS, source: str | None = None) -> Task:
    """The next task; there must be one."""
    task = stores.queue.claim(owner, ttl_seconds, source)
    assert task is not None, "nothing is claimable"
    return task


def begin(stores: Stores, owner: str = "ann") -> Run:
    """Claim the next task and begin an attempt."""
    return stores.ledger.begin_run(claim(stores, owner), FlowRun())


def open_page(stores: Stores, run: Run, batch_no: int = 1) -> Batch:
    """Write down that a page is about to be asked for."""
    return stores.ledger.open_batch(run, batch_no, batch_no, f"token {batch_no}", hash_of("before", batch_no))


def checkpoint(batch: Batch) -> Checkpoint:
    """Where reading goes on after the page."""
    return Checkpoint(page_no=batch.page_no, token="next", token_at=batch.asked_at, as_of=batch.asked_at)


def commit(stores: Stores, run: Run, batch: Batch, outcome: PageOutcome) -> Counts:
    """Commit a page that was asked for."""
    return stores.ledger.commit_page(run, batch, outcome, checkpoint(batch))


def read_page(stores: Stores, run: Run, outcome: PageOutcome, batch_no: int = 1) -> Counts:
    """Ask for a page and commit it."""
    return commit(stores, run, open_page(stores, run, batch_no), outcome)


def finish(
    stores: Stores, run: Run, status: TaskStatus = TaskStatus.SUCCEEDED, observed_max: datetime | None = None
) -> None:
    """End the attempt; the watermark stays where it is."""
    outcome = RunOutcome(status, {"reqCount": 1}, as_of=stores.database.now(), observed_max=observed_max)
    stores.ledger.finish(run, outcome)
