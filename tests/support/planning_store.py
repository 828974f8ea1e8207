"""What tests of planning on a store share: a source read in every way, a desk to plan and work at, and laws."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import sqlalchemy as sa

from ingest_core.cursor.frontier import whole_coverage
from ingest_core.execution.ports import Run, RunOutcome
from ingest_core.model.canonical import hash_of
from ingest_core.model.codes import LIVE_TASKS, EventType, Operation, ResliceStatus, SchedulerCode, TaskStatus
from ingest_core.model.cursor import Coverage, CursorState
from ingest_core.model.id_range import IdRange, range_of
from ingest_core.model.namespace import Namespace, campaign_namespace, harvest_namespace
from ingest_core.model.partition import Partition
from ingest_core.model.record import Arrivals
from ingest_core.model.slice_codes import ResliceReason
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.task import FlowRun
from ingest_core.model.window import Window, subtract_windows
from ingest_core.planning.estimate import Probe, WindowPart
from ingest_core.planning.plan import PlanSettings
from ingest_core.planning.report import PlanReport
from ingest_core.planning.request import PlanRequest, Trigger
from ingest_core.registry.rows import Rows, rows_of
from ingest_core.registry.source_file import SourceFile
from ingest_core.store.engine.database import Database
from ingest_core.store.registry.sources import SqlRegistryStore
from ingest_core.store.schema.columns import in_namespace, namespace_values
from ingest_core.store.schema.tables import ing_cursor_event, ing_reslice_request, ing_task
from tests.support.books import at
from tests.support.tables import rows
from tests.support.wiring import Stores, wire

SHELF = "shelf"
HARVEST, BACKFILL, UPDATE = Operation.HARVEST, Operation.BACKFILL, Operation.UPDATE
HARVESTING = Partition(SHELF, "list", HARVEST)
BACKFILLING = Partition(SHELF, "list", BACKFILL)
REFRESHING = Partition(SHELF, "volumes", UPDATE)
LEASE_SECONDS = 600
HOUR = timedelta(hours=1)

_fired = itertools.count(1)

_RESPONSE = {"items": "$.items", "id": "$.id", "updated_at": "$.at", "total": "$.total"}
_DOCUMENT: dict[str, Any] = {
    "source": {"code": SHELF, "name": "Shelf"},
    "endpoints": [
        {"name": "list", "path": "/list", "operations": ["HARVEST", "BACKFILL", "UPDATE"], "response": _RESPONSE},
        {"name": "volumes", "role": "DETAIL", "path": "/volumes", "operations": ["UPDATE"], "response": _RESPONSE},
    ],
    "http": {"base_url": "https://shelf.example"},
    "pagination": {"type": "TOKEN", "max_page_size": 100, "initial_token": "*", "next_token": "$.next"},
    "window": {
        "field": "changed_at",
        "watermark_key": "changed_at",
        "step": "PT1H",
        "unit": "MINUTE",
        "format": "%Y-%m-%dT%H:%M",
        "upper_inclusive": False,
    },
    "batching": {"id_batch_size": 1},
    "params": [
        {"name": "rows", "value": "page_size", "for": {"endpoint": "list"}},
        {"name": "cursor", "value": "page_token", "for": {"endpoint": "list"}},
        {"name": "ids", "value": "ids", "for": {"endpoint": "volumes"}},
    ],
    "fields": [{"name": "changed_at", "type": "DATETIME"}, {"name": "number", "type": "NUMBER"}],
    "render_rules": [
        {"field": "changed_at", "op": "RANGE", "param": "range", "template": "{from}..{to}"},
        {
            "field": "number",
            "op": "RANGE",
            "param": "numbers",
            "template": "{from}:{to}",
            "open_start": "0",
            "open_end": "9",
        },
    ],
    "mapping": {"title": "$.title"},
}


def shelf_rows(**blocks: Any) -> Rows:
    """A source in hourly slices that is harvested, backfilled, and refreshed by time or by id.

    A block given is laid over the usual one; `endpoints` replaces them.
    """
    document = dict(_DOCUMENT)
    for name, block in blocks.items():
        document[name] = {**document.get(name, {}), **block} if isinstance(block, dict) else block
    return rows_of(SourceFile.model_validate(document))


def fired(key: str | None = None) -> Trigger:
    """A trigger; without a key, one that never fired before."""
    return Trigger(SchedulerCode.CLI, key if key is not None else f"tick-{next(_fired)}")


def hours(start: float, end: float) -> Window:
    """From so many hours after midnight to so many."""
    return Window(at(start), at(end))


def in_hours(windows: Iterable[Window]) -> list[tuple[float, float]]:
    """Windows as hours after midnight, in order."""
    return sorted(((window.start - at(0)) / HOUR, (window.end - at(0)) / HOUR) for window in windows)


@dataclass(frozen=True)
class Desk(Stores):
    """One process at work on the database: it plans, cuts again, and works tasks without a provider."""

    def plan(self, start: float | None = None, end: float | None = None, **how: Any) -> PlanReport:
        """Plan what is asked for, in hours after midnight; `key` and `now` are the trigger's."""
        trigger, now = fired(how.pop("key", None)), how.pop("now", None)
        return self.planner.plan(request(start, end, **how), trigger, at(now) if now is not None else None)

    def spec(self, **how: Any) -> SpecSnapshot:
        """What such a request runs on."""
        return self.planner.compile(request(**how)).spec

    def namespace(self, campaign: str | None = None, **how: Any) -> Namespace:
        """Whose watermark such a request moves."""
        spec = self.spec(campaign=campaign, **how)
        if spec.operation_code == HARVEST:
            return harvest_namespace(spec)
        return campaign_namespace(spec, campaign, newest_first=how.get("newest_first", False))

    def cursor(self, namespace: Namespace) -> CursorState | None:
        """The namespace's cursor."""
        with self.plans.look() as transaction:
            return transaction.lock_cursor(namespace)

    def begin(self) -> Run:
        """Claim the next task and begin an attempt."""
        task = self.queue.claim("ann", LEASE_SECONDS)
        assert task is not None, "nothing is claimable"
        return self.ledger.begin_run(task, FlowRun())

    def begin_all(self) -> list[Run]:
        """Claim every task that waits."""
        claimed = iter(lambda: self.queue.claim("ann", LEASE_SECONDS), None)
        return [self.ledger.begin_run(task, FlowRun()) for task in claimed if task]

    def finish(
        self,
        run: Run,
        status: TaskStatus = TaskStatus.SUCCEEDED,
        *,
        as_of: datetime | None = None,
        reslice: ResliceReason | None = None,
        records: int | None = None,
        arrivals: Arrivals | None = None,
    ) -> None:
        """End the attempt; the watermark stays where it is. If not said, an hour holds a thousand records."""
        held = 1000 * run.task.window.length // HOUR if records is None else records
        stats = {"retCount": held, "distinctCount": held}
        outcome = RunOutcome(
            status, stats, as_of or self.database.now(), reslice=reslice, arrivals=arrivals or Arrivals()
        )
        self.ledger.finish(run, outcome)

    def end(self, run: Run, status: TaskStatus = TaskStatus.SUCCEEDED, **how: Any) -> None:
        """End the attempt; on success the watermark follows."""
        self.finish(run, status, **how)
        if status == TaskStatus.SUCCEEDED:
            self.cursors.advance(run.task.namespace)

    def work(self, *, as_of: datetime | None = None) -> int:
        """Work everything that waits, with success; how many tasks."""
        runs = self.begin_all()
        for run in runs:
            self.end(run, as_of=as_of)
        return len(runs)


def request(
    start: float | None = None,
    end: float | None = None,
    *,
    operation: Operation = HARVEST,
    endpoint: str | None = None,
    max_queued: int | None = None,
    **more: Any,
) -> PlanRequest:
    """A request, in hours after midnight."""
    overrides = {**more.pop("overrides", {}), **({} if max_queued is None else {"slicing.max_queued": str(max_queued)})}
    wanted = endpoint or ("volumes" if operation == UPDATE else "list")
    low, high = (None if bound is None else at(bound) for bound in (start, end))
    return PlanRequest(SHELF, operation, wanted, low, high, overrides=overrides, **more)


class RememberedRegistry(SqlRegistryStore):
    """Reads a source once, however often it is planned for: it does not change meanwhile."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._known: dict[str, Rows] = {}

    def rows(self, source: str) -> Rows:
        """The rows as they were when first asked for."""
        if source not in self._known:
            self._known[source] = super().rows(source)
        return self._known[source]


def open_desk(database: Database, *, limit_in_all: int = 0, probe: Probe | None = None) -> Desk:
    """A desk as bootstrap wires it, without an upstream; the source must not change."""
    settings = PlanSettings(limit_in_all)
    return Desk(**vars(wire(database, registry=RememberedRegistry(database), probe=probe, settings=settings)))


def set_up(database: Database, *, limit_in_all: int = 0, probe: Probe | None = None, **blocks: Any) -> Desk:
    """A desk with the source in the Registry, with these blocks' settings."""
    desk = open_desk(database, limit_in_all=limit_in_all, probe=probe)
    desk.registry.apply([shelf_rows(**blocks)])
    return desk


def cover(desk: Desk, namespace: Namespace, windows: Iterable[Window], as_of: datetime | None = None) -> None:
    """Write coverage past the stores."""
    now = desk.database.now()
    common = {
        **namespace_values(namespace),
        "cursor_type_code": namespace.cursor_type.value,
        "direction_code": namespace.direction.value,
        "event_type": EventType.COVERAGE.value,
        "as_of": as_of or now,
        "plan_id": 0,
        "created_at": now,
        "updated_at": now,
    }
    events = [
        {**common, "window_from": one.start, "window_to": one.end, "idempotent_key": hash_of("covered", one.json())}
        for one in windows
    ]
    with desk.database.write() as connection:
        connection.execute(sa.insert(ing_cursor_event), events)


def task_windows(database: Database, *where: sa.ColumnElement[bool]) -> list[tuple[float, float]]:
    """The windows of tasks in hours after midnight, in order."""
    return in_hours(Window(row["window_from"], row["window_to"]) for row in rows(database, ing_task, *where))


def live_places(database: Database) -> dict[str, list[WindowPart]]:
    """What live tasks and open re-slice requests own, by namespace."""
    task, asked = ing_task, ing_reslice_request
    live = sa.select(task.c.namespace_key, task.c.window_from, task.c.window_to, task.c.params).where(
        task.c.status_code.in_([status.value for status in LIVE_TASKS])
    )
    waiting = (
        sa.select(task.c.namespace_key, asked.c.remaining_from, asked.c.remaining_to, asked.c.range)
        .join(task, task.c.id == asked.c.task_id)
        .where(asked.c.status_code == ResliceStatus.OPEN.value)
    )
    places: dict[str, list[WindowPart]] = {}
    with database.read() as connection:
        for key, start, end, params in connection.execute(live):
            places.setdefault(key, []).append((Window(start, end), range_of(params.get("range"))))
        for key, start, end, part in connection.execute(waiting):
            places.setdefault(key, []).append((Window(start, end), range_of(part)))
    return places


def assert_owned_once(database: Database) -> None:
    """No instant of a namespace, and where a window is cut by a second field no number of it, has two owners."""
    for key, places in live_places(database).items():
        whole = [window for window, part in places if part is None]
        cut: dict[Window, list[IdRange]] = {}
        for window, part in places:
            if part is not None:
                cut.setdefault(window, []).append(part)
        windows = sorted([*whole, *cut])
        assert all(one.end <= other.start for one, other in pairwise(windows)), f"{key}: {in_hours(windows)}"
        for window, parts in cut.items():
            assert sum(part.answers_for_unset for part in parts) <= 1, f"{key}: {window}: {parts}"
            numbered = [part for part in parts if not part.is_unset]
            ordered = sorted(numbered, key=lambda part: -1 if part.start is None else part.start)
            apart = (
                one.end is not None and other.start is not None and one.end < other.start
                for one, other in pairwise(ordered)
            )
            assert all(apart), f"{key}: {window}: {ordered}"


def readings(database: Database, namespace: Namespace) -> list[Coverage]:
    """What was ever read of a namespace, and of which windows only ranges."""
    event = ing_cursor_event
    found = rows(database, event, in_namespace(event, namespace), event.c.event_type == EventType.COVERAGE.value)
    return [
        Coverage(Window(row["window_from"], row["window_to"]), row["as_of"], range_of(row["range"])) for row in found
    ]


def holes(database: Database, namespace: Namespace, within: Window) -> list[Window]:
    """What of a window was never read and nobody is about to read.

    A window that is cut by numbers was read when all of them were; it waits as a whole while any of them is live.
    """
    taken = [window for window, _ in live_places(database).get(namespace.key, [])]
    return subtract_windows(within, [*taken, *(one.window for one in whole_coverage(readings(database, namespace)))])
