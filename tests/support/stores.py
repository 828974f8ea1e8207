"""What tests of stores share: a small source, records and pages, the stores without HTTP, and ways to break them."""

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Barrier, Event, Lock
from typing import Any, TypeVar

import sqlalchemy as sa

from ingest_core.execution.ports import Batch, Run, RunOutcome
from ingest_core.model.canonical import hash_of, hash_text
from ingest_core.model.checkpoint import Checkpoint
from ingest_core.model.codes import GoneReason, Operation, QuarantineReason, SchedulerCode, TaskStatus
from ingest_core.model.namespace import harvest_namespace
from ingest_core.model.partition import Partition
from ingest_core.model.record import Counts, Gone, PageOutcome, Record, Rejected
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.task import FlowRun, Task
from ingest_core.planning.plan import Planner
from ingest_core.planning.report import PlanReport
from ingest_core.planning.request import PlanRequest, Trigger
from ingest_core.planning.strategies.id_slices import IdStrategy
from ingest_core.planning.strategies.strategy import StrategyRegistry
from ingest_core.planning.strategies.time_slices import TimeStrategy
from ingest_core.registry.compile import Compiled, compile_spec
from ingest_core.registry.rows import Rows, rows_of
from ingest_core.registry.source_file import SourceFile
from ingest_core.store.cursors.adoption import SqlCursorAdoption
from ingest_core.store.cursors.compaction import SqlCursorCompaction
from ingest_core.store.cursors.store import SqlCursorStore
from ingest_core.store.engine.database import Database
from ingest_core.store.gate.rate_gate import SqlRateGate
from ingest_core.store.ledger.run_ledger import SqlRunLedger
from ingest_core.store.plans.store import SqlPlanStore
from ingest_core.store.queue.claims import ClaimTurn
from ingest_core.store.queue.task_queue import SqlTaskQueue
from ingest_core.store.registry.sources import SqlRegistryStore
from ingest_core.store.reports.cursors import SqlCursorReports
from ingest_core.store.reports.work import SqlReadside
from ingest_core.store.schema.tables import metadata

A = TypeVar("A")
B = TypeVar("B")

SOURCE = "books"
PARTITION = Partition(SOURCE, "list", Operation.HARVEST)
MIDNIGHT = datetime(2020, 1, 1, tzinfo=UTC)
TTL_SECONDS = 60
KEPT_TABLES = ("sys_dict_type", "sys_dict_item", "sys_dict_item_alias", "ing_schema_info")
PATIENCE_SECONDS = 0.1
DEADLINE_SECONDS = 120
MOST_STEPS = 400

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Stores:
    """One worker: every store on its own connections."""

    database: Database
    registry: SqlRegistryStore
    plans: SqlPlanStore
    planner: Planner
    queue: SqlTaskQueue
    ledger: SqlRunLedger
    cursors: SqlCursorStore
    cursor_reports: SqlCursorReports
    cursor_adoption: SqlCursorAdoption
    cursor_compaction: SqlCursorCompaction
    gate: SqlRateGate
    readside: SqlReadside


def wire(database: Database) -> Stores:
    """The stores as bootstrap wires them, without an upstream."""
    registry, plans = SqlRegistryStore(database), SqlPlanStore(database)
    return Stores(
        database=database,
        registry=registry,
        plans=plans,
        planner=Planner(registry, plans, database, StrategyRegistry([TimeStrategy(), IdStrategy()])),
        queue=SqlTaskQueue(database, ClaimTurn()),
        ledger=SqlRunLedger(database),
        cursors=SqlCursorStore(database),
        cursor_reports=SqlCursorReports(database),
        cursor_adoption=SqlCursorAdoption(database, SqlCursorStore(database)),
        cursor_compaction=SqlCursorCompaction(database),
        gate=SqlRateGate(database),
        readside=SqlReadside(database),
    )


def at(hours: float) -> datetime:
    """So many hours after midnight."""
    return MIDNIGHT + timedelta(hours=hours)


def source_rows(code: str = SOURCE, **blocks: Any) -> Rows:
    """The rows of a source with hourly slices; a block given replaces the usual one."""
    document: dict[str, Any] = {
        "source": {"code": code, "name": code.title()},
        "endpoints": [
            {
                "name": "list",
                "path": "/list",
                "operations": ["HARVEST"],
                "response": {"items": "$.items", "id": "$.id", "updated_at": "$.at", "total": "$.total"},
            }
        ],
        "http": {"base_url": "https://books.example"},
        "pagination": {"type": "TOKEN", "max_page_size": 100, "initial_token": "*", "next_token": "$.next"},
        "window": {
            "field": "changed_at",
            "watermark_key": "changed_at",
            "step": "PT1H",
            "unit": "SECOND",
            "format": "%Y-%m-%dT%H:%M:%S",
            "upper_inclusive": False,
        },
        "rate_limit": {"requests_per_second": 5, "burst": 1},
        "params": [{"name": "rows", "value": "page_size"}, {"name": "cursor", "value": "page_token"}],
        "fields": [{"name": "changed_at", "type": "DATETIME"}],
        "render_rules": [{"field": "changed_at", "op": "RANGE", "param": "range", "template": "{from}..{to}"}],
        "mapping": {"title": "$.title"},
    }
    return rows_of(SourceFile.model_validate({**document, **blocks}))


def source_block(code: str = SOURCE, **changes: Any) -> dict[str, Any]:
    """The `source` block, changed."""
    return {"code": code, "name": code.title(), **changes}


def compiled(code: str = SOURCE, **blocks: Any) -> SpecSnapshot:
    """What a plan of the source runs on."""
    return compile_spec(source_rows(code, **blocks), code, "list", Operation.HARVEST, MIDNIGHT)


def as_compiled(spec: SpecSnapshot) -> Compiled:
    """The snapshot as the planner takes it, with nothing to say about how it came about."""
    return Compiled(spec, settings=[], warnings=[], degradations=[])


SPEC = compiled()
NAMESPACE = harvest_namespace(SPEC)


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


def record(provider_id: str, updated_at: datetime | None = None, payload: str | None = None) -> Record:
    """A usable record."""
    stamp = updated_at or MIDNIGHT
    text = payload if payload is not None else f'{{"id": {hash_of(provider_id, stamp)[:8]!r}}}'.replace("'", '"')
    return Record(provider_id, stamp, text, hash_text(text), {"title": provider_id})


def rejected(name: str, reason: QuarantineReason = QuarantineReason.ID_MISSING) -> Rejected:
    """A record that cannot be used."""
    return Rejected(reason, "$.id", f'{{"name": "{name}"}}', hash_text(name))


def deleted(provider_id: str, when: datetime | None = None, merged_into: str | None = None) -> Gone:
    """A record that the provider reports as deleted, or as merged into another one."""
    return Gone(provider_id, when, GoneReason.MERGED if merged_into else GoneReason.DELETED, merged_into)


def page(
    *records: Record, rejected: Sequence[Rejected] = (), notes: Sequence[Rejected] = (), gone: Sequence[Gone] = ()
) -> PageOutcome:
    """A page ready to be committed."""
    ids = [one.provider_id for one in records] + [one.provider_id for one in gone]
    hashes = b"".join(bytes.fromhex(hash_text(one))[:8] for one in ids)
    return PageOutcome(
        records=list(records),
        rejected=list(rejected),
        notes=list(notes),
        gone=list(gone),
        id_hashes=hashes,
        after_token="next",
        has_next=True,
    )


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


def rows(database: Database, table: sa.Table, *where: sa.ColumnElement[bool]) -> list[dict[str, Any]]:
    """Rows in the order they were written."""
    query = sa.select(table).where(*where).order_by(*table.primary_key.columns)
    with database.read() as connection:
        return [dict(row) for row in connection.execute(query).mappings()]


def column(database: Database, table: sa.Table, name: str) -> list[Any]:
    """One column of every row, in the order they were written."""
    return [row[name] for row in rows(database, table)]


def change(database: Database, table: sa.Table, *where: sa.ColumnElement[bool], **values: Any) -> None:
    """Write past the stores."""
    with database.write() as connection:
        connection.execute(sa.update(table).where(*where).values(**values))


_EVERYTHING = {table.name: sa.select(table).order_by(*table.primary_key.columns) for table in metadata.sorted_tables}


def contents(database: Database, prefix: str = "ing_") -> dict[str, list[dict[str, Any]]]:
    """All that is stored, table by table: what was ingested, or the Registry (`reg_`)."""
    with database.read() as connection:
        return {
            name: [dict(row) for row in connection.execute(query).mappings()]
            for name, query in _EVERYTHING.items()
            if name.startswith(prefix)
        }


_FILLED = " UNION ALL ".join(
    f"SELECT '{name}' FROM (SELECT 1 AS one) AS here WHERE EXISTS (SELECT 1 FROM {name})"
    for name in _EVERYTHING
    if name not in KEPT_TABLES
)


def clear(database: Database) -> None:
    """Empty every table but the dictionary and the schema's level."""
    with database.write() as connection:
        for name in connection.exec_driver_sql(_FILLED).scalars().all():
            connection.exec_driver_sql(f"DELETE FROM {name}")


class Crash(Exception):
    """The process died here."""


@contextmanager
def crash_at(database: Database, step: int) -> Iterator[Callable[[], bool]]:
    """Crash at the n-th statement or commit of this database; the value says whether it came to that."""
    steps = itertools.count(1)
    crashed: list[int] = []

    def count(*given: Any) -> None:
        number = next(steps)
        if number == step:
            crashed.append(number)
            if len(given) > 1:  # the statement's cursor, which dies with the process
                given[1].close()
            raise Crash(f"at step {number}")

    hooks = ("before_cursor_execute", "commit")
    for hook in hooks:
        sa.event.listen(database.engine, hook, count)
    try:
        yield lambda: bool(crashed)
    finally:
        for hook in hooks:
            sa.event.remove(database.engine, hook, count)


def crash_at_every_step(database: Database, work: Callable[[], A], check: Callable[[], None], stride: int = 1) -> A:
    """Let `work` crash at its first step, at the next, and so on, with a check after each; what it gives uncrashed."""
    for step in range(1, MOST_STEPS, stride):
        with crash_at(database, step) as crashed:
            try:
                result = work()
            except Crash:
                check()
                continue
        assert not crashed(), f"the crash at step {step} went unnoticed"
        assert step > 1, "nothing was done on this database"
        return result
    raise AssertionError(f"{MOST_STEPS} steps and no end")


def while_uncommitted(
    database: Database, first: Callable[[], A], second: Callable[[], B], patience_seconds: float = PATIENCE_SECONDS
) -> tuple[A, B]:
    """Run `second`, on other connections, while `first` is about to commit on this database."""
    reached, release, only = Event(), Event(), Lock()

    def pause(_connection: sa.Connection) -> None:
        if only.acquire(blocking=False):
            reached.set()
            release.wait(DEADLINE_SECONDS)

    sa.event.listen(database.engine, "commit", pause)
    try:
        with ThreadPoolExecutor(2) as pool:
            one = pool.submit(first)
            wait_for(reached, one)
            two = pool.submit(second)
            wait([two], timeout=patience_seconds)
            release.set()
            return one.result(DEADLINE_SECONDS), two.result(DEADLINE_SECONDS)
    finally:
        release.set()
        sa.event.remove(database.engine, "commit", pause)


def wait_for(event: Event, work: "Future[Any]") -> None:
    """Wait until the work gets there; its error if it ends before."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not event.wait(0.01):
        if work.done():
            work.result()
            raise AssertionError("it ended without getting there")
        assert time.monotonic() < deadline, "it never got there"


def together(*works: Callable[[], A]) -> list[A]:
    """Run all at the same time, each in a thread of its own; what they gave, in order."""
    start = Barrier(len(works))

    def run(work: Callable[[], A]) -> A:
        start.wait(DEADLINE_SECONDS)
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result(DEADLINE_SECONDS) for future in [pool.submit(run, work) for work in works]]


EXPLAIN = {"sqlite": "EXPLAIN QUERY PLAN", "postgresql": "EXPLAIN", "mysql": "EXPLAIN"}


def explain(database: Database, work: Callable[[], object], mentioning: str) -> list[str]:
    """How the database finds the rows for each SELECT of `work` that mentions a word, in the server's words."""
    seen: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_more: Any) -> None:
        if statement.startswith("SELECT") and mentioning in statement:
            seen.append((statement, parameters))

    sa.event.listen(database.engine, "before_cursor_execute", note)
    try:
        work()
    finally:
        sa.event.remove(database.engine, "before_cursor_execute", note)
    assert seen, f"no SELECT mentions {mentioning}"
    with database.write() as connection:
        answers = [
            connection.exec_driver_sql(f"{EXPLAIN[database.dialect_name]} {statement}", parameters).all()
            for statement, parameters in seen
        ]
    return ["\n".join(" | ".join(str(value) for value in row) for row in answer) for answer in answers]
