"""Claims and commits in a queue and a ledger that have grown."""

import time
from collections.abc import Callable
from datetime import timedelta
from statistics import mean, quantiles
from typing import TypeVar

from ingest_core.bootstrap import App, open_core_app, upgrade_database
from ingest_core.execution.ports import Run, RunOutcome
from ingest_core.model.canonical import hash_of, hash_text
from ingest_core.model.checkpoint import Checkpoint
from ingest_core.model.codes import Operation, SchedulerCode, TaskStatus
from ingest_core.model.record import PageOutcome, Record
from ingest_core.model.task import FlowRun
from ingest_core.planning.request import PlanRequest, Trigger
from ingest_core.settings import Settings
from ingest_core.store.ledger.run_ledger import SqlRunLedger
from ingest_core.store.queue.task_queue import SqlTaskQueue
from tests.bench.crowd import crowd_ledger, crowd_queue
from tests.bench.databases import Servers
from tests.bench.upstream import UNTIL
from tests.support.app_database import database_of

T = TypeVar("T")
SOURCES = ("crossref", "datacite", "openalex", "europepmc")
OVERRIDES = {"slicing.probe_budget": "0", "slicing.max_queued": "0", "window.step": "P1D"}
TURNS = 300
RECORDS = 100
PAYLOAD_CHARS = 3000
COMMIT = f"commit {RECORDS}"
WANTED = {"give back": None, "claim": (10, 30), COMMIT: (20, 80)}
OTHERS = 10
"""The other databases get a part of the tasks: the limits are PostgreSQL's, and filling them takes minutes."""


def measure_queue(servers: Servers, tasks: int, ledger_rows: int) -> None:
    """Print how long a claim and the commit of a page take."""
    print(f"claims and commits of {RECORDS} records, {TURNS} of each, ms")
    print(f"{'database':<12}{'tasks':>9}{'ledger':>9}  {'what':<12}{'average':>8}{'P95':>8}  wanted")
    for dialect in servers.dialects:
        part = 1 if dialect == "postgresql" else OTHERS
        sizes = (tasks // part, ledger_rows // part)
        with servers.new_database(dialect) as url:
            times = _measured(Settings(database_url=url, max_queued=0), *sizes)
        for what, taken in times.items():
            figures = f"{mean(taken):>8.1f}{quantiles(taken, n=20)[-1]:>8.1f}"
            limits = WANTED[what]
            wanted = "below {} and {}".format(*limits) if limits else ""
            print(f"{dialect:<12}{sizes[0]:>9}{sizes[1]:>9}  {what:<12}{figures}  {wanted}", flush=True)


def _measured(settings: Settings, tasks: int, ledger_rows: int) -> dict[str, list[float]]:
    upgrade_database(settings)
    times: dict[str, list[float]] = {what: [] for what in WANTED}
    with open_core_app(settings) as app:
        for source in SOURCES:
            request = PlanRequest(
                source, Operation.BACKFILL, user_from=UNTIL - timedelta(days=1), user_to=UNTIL, overrides=OVERRIDES
            )
            app.planner.plan(request, Trigger(SchedulerCode.CLI, f"bench-{source}"))
        crowd_queue(database_of(app), tasks)
        queue = SqlTaskQueue(database_of(app))
        _work_one(app, queue, 0, times)
        crowd_ledger(database_of(app), ledger_rows)
        for taken in times.values():
            taken.clear()
        for turn in range(1, TURNS + 1):
            _work_one(app, queue, turn, times)
    return times


def _work_one(app: App, queue: SqlTaskQueue, turn: int, times: dict[str, list[float]]) -> None:
    """Give back and claim as an executor does, commit a page of the task, and end it."""
    _timed(times["give back"], queue.give_back_expired)
    task = _timed(times["claim"], lambda: queue.claim("bench", app.settings.lease_ttl_seconds))
    assert task is not None
    ledger = SqlRunLedger(database_of(app))
    run = ledger.begin_run(task, FlowRun())
    batch = ledger.open_batch(run, 1, 1, "*", hash_of(turn))
    page = _page(run, turn)
    _timed(times[COMMIT], lambda: ledger.commit_page(run, batch, page, Checkpoint(page_no=1)))
    ledger.finish(run, RunOutcome(TaskStatus.FAILED, {}, error={"code": "BENCH", "message": "measured"}))


def _timed(times: list[float], work: Callable[[], T]) -> T:
    started = time.perf_counter()
    result = work()
    times.append((time.perf_counter() - started) * 1000)
    return result


def _page(run: Run, turn: int) -> PageOutcome:
    records = []
    for number in range(RECORDS):
        payload = f'{{"id": "{turn}-{number}", "text": "{hash_text(str(number)) * (PAYLOAD_CHARS // 64)}"}}'
        fields = {"title": f"Work {number}", "authors": [{"name": "Ann"}], "identifiers": {"doi": f"10.1/{number}"}}
        records.append(Record(f"10.1/{turn}-{number}", run.task.window.start, payload, hash_text(payload), fields))
    return PageOutcome(records=records)
