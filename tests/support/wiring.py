"""The stores and use cases as bootstrap wires them, without a provider: the one place where tests wire them."""

from dataclasses import dataclass
from threading import Event

from ingest_core.execution.ports import Upstream
from ingest_core.execution.run_task import TaskRunner
from ingest_core.gate.ports import RateGate
from ingest_core.planning.estimate import Probe
from ingest_core.planning.plan import Planner, PlanSettings
from ingest_core.planning.reslice import Reslicer
from ingest_core.planning.strategies.id_slices import IdStrategy
from ingest_core.planning.strategies.strategy import StrategyRegistry
from ingest_core.planning.strategies.time_slices import TimeStrategy
from ingest_core.store.cursors.adoption import SqlCursorAdoption
from ingest_core.store.cursors.compaction import SqlCursorCompaction
from ingest_core.store.cursors.store import SqlCursorStore
from ingest_core.store.engine.database import Database
from ingest_core.store.gate.rate_gate import SqlRateGate
from ingest_core.store.ledger.run_ledger import SqlRunLedger
from ingest_core.store.plans.store import SqlPlanStore
from ingest_core.store.queue.claims import ClaimTurn
from ingest_core.store.queue.task_queue import SqlTaskQueue
from ingest_core.store.queue.work_control import SqlWorkControl
from ingest_core.store.registry.sources import SqlRegistryStore
from ingest_core.store.reports.cursors import SqlCursorReports
from ingest_core.store.reports.work import SqlWorkReports

STRATEGIES = StrategyRegistry([TimeStrategy(), IdStrategy()])


@dataclass(frozen=True)
class Stores:
    """One worker: every store on its own connections, and what plans with them."""

    database: Database
    registry: SqlRegistryStore
    plans: SqlPlanStore
    planner: Planner
    reslicer: Reslicer
    queue: SqlTaskQueue
    ledger: SqlRunLedger
    cursors: SqlCursorStore
    cursor_reports: SqlCursorReports
    cursor_adoption: SqlCursorAdoption
    cursor_compaction: SqlCursorCompaction
    control: SqlWorkControl
    gate: SqlRateGate
    readside: SqlWorkReports


def wire(
    database: Database,
    *,
    registry: SqlRegistryStore | None = None,
    probe: Probe | None = None,
    settings: PlanSettings | None = None,
) -> Stores:
    """One worker at this database; sizes are asked of `probe`, if there is one."""
    registry, plans, cursors = registry or SqlRegistryStore(database), SqlPlanStore(database), SqlCursorStore(database)
    reslicer = Reslicer(plans, STRATEGIES, probe)
    return Stores(
        database=database,
        registry=registry,
        plans=plans,
        planner=Planner(registry, plans, reslicer, database, STRATEGIES, probe, settings),
        reslicer=reslicer,
        queue=SqlTaskQueue(database, ClaimTurn()),
        ledger=SqlRunLedger(database),
        cursors=cursors,
        cursor_reports=SqlCursorReports(database),
        cursor_adoption=SqlCursorAdoption(database, cursors),
        cursor_compaction=SqlCursorCompaction(database),
        control=SqlWorkControl(database),
        gate=SqlRateGate(database),
        readside=SqlWorkReports(database),
    )


def runner_of(
    stores: Stores, upstream: Upstream, stop: Event | None = None, gate: RateGate | None = None
) -> TaskRunner:
    """Runs tasks of these stores against that upstream, through their gate if no other is given."""
    return TaskRunner(
        stores.queue,
        stores.ledger,
        stores.cursors,
        stores.control,
        gate or stores.gate,
        upstream,
        stores.database,
        stop or Event(),
    )
