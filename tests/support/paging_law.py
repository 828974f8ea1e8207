"""A slice harvested from a provider with habits, until nothing is left to do; then what is stored against the truth."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from threading import Event
from typing import Any

import sqlalchemy as sa

from ingest_core.execution.ports import Run, RunOutcome
from ingest_core.execution.run_task import TaskRunner
from ingest_core.gate.feedback import Feedback
from ingest_core.gate.ports import Permit
from ingest_core.model.spec import RateSpec, SpecSnapshot
from ingest_core.model.work import Partition
from ingest_core.planning.reslice import Reslicer
from ingest_core.planning.strategies.strategy import StrategyRegistry
from ingest_core.planning.strategies.time_slices import TimeStrategy
from ingest_core.store.database import Database
from ingest_core.store.run_ledger import SqlRunLedger
from ingest_core.store.tables import (
    ing_cursor,
    ing_cursor_event,
    ing_item,
    ing_quarantine,
    ing_task,
    ing_task_run,
    ing_task_run_batch,
)
from ingest_core.store.work_control import SqlWorkControl
from tests.support.habit_excuses import Case, Excuse, excuse_of
from tests.support.habit_provider import BEGIN, Asked, Bounds, Endless, HabitProvider, Killed, stops
from tests.support.habits import Habits, Source, Stop, blocks_of, unit_seconds
from tests.support.stores import Stores, clear, compiled, plan_harvest, rows, wire

LEASE_SECONDS = 600
MOST_ATTEMPTS = 120
"""Attempts at all tasks of a plan; more is endless."""

DEFAULT_LIMIT = (2, 20, 0.01)
"""Missing records that are accepted: at least, at most, and as a share of the total."""


class Broken(AssertionError):
    """The law does not hold."""


class OpenGate:
    """A RateGate that lets everything pass."""

    def acquire(self, key: str, rate: RateSpec, deadline: timedelta) -> Permit:
        """At once."""
        return Permit.after(timedelta(0))

    def feedback(self, key: str, said: Feedback) -> None:
        """Nothing follows from it."""

    def closed(self, key: str) -> bool:
        """Never."""
        return False

    def live_rate(self, partition: Partition, planned: RateSpec) -> RateSpec:
        """The planned one."""
        return planned


class MortalLedger(SqlRunLedger):
    """A RunLedger whose worker may die before it ends a task, once."""

    dies = False

    def finish(self, run: Run, outcome: RunOutcome) -> None:
        """End the attempt, unless the worker dies first."""
        if self.dies:
            self.dies = False
            raise Killed
        super().finish(run, outcome)


@dataclass(frozen=True)
class Desk:
    """What every example is worked with."""

    stores: Stores
    ledger: MortalLedger
    reslicer: Reslicer
    control: SqlWorkControl

    @property
    def database(self) -> Database:
        """Where everything is stored."""
        return self.stores.database


def open_desk(database: Database) -> Desk:
    """A desk on a migrated database."""
    stores = wire(database)
    reslicer = Reslicer(stores.plans, StrategyRegistry([TimeStrategy()]))
    return Desk(stores, MortalLedger(database), reslicer, SqlWorkControl(database))


@lru_cache(maxsize=4096)
def spec_of(habits: Habits, source: Source) -> SpecSnapshot:
    """What the plan runs on."""
    return compiled(**blocks_of(habits, source))


@dataclass
class Ended:
    """What a harvest left behind."""

    provider: HabitProvider
    tasks: list[dict[str, Any]] = field(default_factory=list)
    runs: list[dict[str, Any]] = field(default_factory=list)
    batches: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    items: dict[str, str] = field(default_factory=dict)
    quarantine: list[dict[str, Any]] = field(default_factory=list)
    watermark: datetime = BEGIN
    reslices: list[str] = field(default_factory=list)
    endless: str | None = None


def harvest(desk: Desk, habits: Habits, source: Source) -> Ended:
    """Plan the window and work whatever is due, until nothing is."""
    desk.database.clock_shift = timedelta(0)
    desk.ledger.dies = habits.stop is not None and habits.stop[1] == Stop.KILLED_AT_END
    clear(desk.database)
    until = BEGIN + timedelta(seconds=habits.units * unit_seconds(habits))
    plan_harvest(desk.stores, BEGIN, until, spec=spec_of(habits, source))
    stop = Event()
    provider = HabitProvider(habits, stops(habits.stop, stop.set))
    ended = Ended(provider)
    try:
        for _ in range(MOST_ATTEMPTS):
            if not _work_one(desk, provider, stop, ended):
                break
        else:
            ended.endless = f"{MOST_ATTEMPTS} attempts"
    except Endless as endless:
        ended.endless = str(endless)
    return _read(desk, ended)


def _work_one(desk: Desk, provider: HabitProvider, stop: Event, ended: Ended) -> bool:
    """Work the next task; whether there was one, or may be one now."""
    stop.clear()
    task = desk.stores.queue.claim("ann", LEASE_SECONDS)
    if task is None:
        report = desk.reslicer.serve()
        ended.reslices += report.refused
        return bool(report.children) or _hurry(desk.database)
    runner = TaskRunner(
        desk.stores.queue, desk.ledger, desk.stores.cursors, desk.control, OpenGate(), provider, desk.database, stop
    )
    try:
        runner.run(task)
    except Killed:
        desk.database.clock_shift += timedelta(seconds=2 * LEASE_SECONDS)
        desk.stores.queue.give_back_expired()
    return True


def _hurry(database: Database) -> bool:
    """Make tasks due that wait for a later time; whether there are any."""
    waiting = sa.update(ing_task).where(
        ing_task.c.status_code == "QUEUED", ing_task.c.scheduled_at > database.now_sql()
    )
    with database.write() as connection:
        return connection.execute(waiting.values(scheduled_at=database.now_sql())).rowcount > 0


def _read(desk: Desk, ended: Ended) -> Ended:
    database = desk.database
    ended.tasks, ended.runs = rows(database, ing_task), rows(database, ing_task_run)
    ended.batches = rows(database, ing_task_run_batch)
    ended.events = rows(database, ing_cursor_event, ing_cursor_event.c.event_type == "COVERAGE")
    ended.items = {row["provider_id"]: row["state_code"] for row in rows(database, ing_item)}
    ended.quarantine = rows(database, ing_quarantine)
    ended.watermark = rows(database, ing_cursor)[0]["normalized_instant"]
    return ended


@dataclass(frozen=True)
class Difference:
    """Records that should be stored and are not, in a window that counts as covered."""

    task_id: int
    window: Bounds
    missing: frozenset[str]
    truth: int
    total: int | None
    """The largest that the provider stated."""
    asked: list[Asked]
    recorded: bool
    """Whether a SHORTFALL row of the task says so."""
    weak: bool
    """Whether the run that ended the task says that its end is weak."""


def differences(ended: Ended) -> Iterator[Difference]:
    """For each window that counts as covered: what was there from its first page to its last, and is not stored."""
    tasks = {row["id"]: row["task_id"] for row in ended.runs}
    asked_at = {f"ing-{row['run_id']}-{row['batch_no']}": row["asked_at"] for row in ended.batches}
    owner = {f"ing-{row['run_id']}-{row['batch_no']}": tasks[row["run_id"]] for row in ended.batches}
    for event in ended.events:
        mine = [one for one in ended.provider.log if owner.get(one.correlation) == event["task_id"]]
        since = [one.number for one in mine if asked_at[one.correlation] >= event["as_of"]]
        if not since:
            raise Broken(f"task {event['task_id']} covers {event['window_from']} without a request")
        bounds = Bounds(event["window_from"], event["window_to"])
        truth = ended.provider.present(bounds, since[0], since[-1])
        missing = truth - set(ended.items) - {row["provider_id"] for row in ended.quarantine}
        if missing:
            yield _difference(ended, event, mine, frozenset(missing), len(truth))


def _difference(
    ended: Ended, event: dict[str, Any], mine: list[Asked], missing: frozenset[str], truth: int
) -> Difference:
    last = [row for row in ended.runs if row["task_id"] == event["task_id"]][-1]
    notes = [
        row for row in ended.quarantine if row["reason_code"] == "SHORTFALL" and row["task_id"] == event["task_id"]
    ]
    totals = [one.page.total for one in mine if one.page.total is not None]
    return Difference(
        event["task_id"],
        Bounds(event["window_from"], event["window_to"]),
        missing,
        truth,
        max(totals, default=None),
        mine,
        recorded=bool(notes),
        weak=bool((last["stats"] or {}).get("weakEnd")),
    )


def limit_of(source: Source, total: int | None) -> int:
    """How many missing records the documentation lets a source accept."""
    if source.max_shortfall is not None:
        return source.max_shortfall
    least, most, share = DEFAULT_LIMIT
    return max(least, min(most, int((total or 0) * share)))


def check(habits: Habits, source: Source, ended: Ended) -> str:
    """Raise Broken unless the law holds; how the harvest ended, in a word."""
    if ended.endless:
        raise Broken(f"endless: {ended.endless}")
    _check_books(ended)
    _check_watermark(ended)
    _check_items(habits, ended)
    word = "complete"
    for one in differences(ended):
        excuse = excuse_of(Case(habits, source, one.asked))
        if one.recorded and len(one.missing) <= limit_of(source, one.total):
            word = "shortfall"
        elif excuse and (one.weak or not excuse.weak):
            word = f"undetectable: {excuse.name}"
        else:
            raise Broken(_words(one, excuse))
    return word if all(row["status_code"] == "SUCCEEDED" for row in _leaves(ended)) else f"{word}, unfinished"


def _words(one: Difference, excuse: Excuse | None) -> str:
    named = ", ".join(sorted(one.missing)[:8])
    says = "a SHORTFALL row says so" if one.recorded else "nothing says so"
    weak = "its end is marked weak" if one.weak else "its end is not marked weak"
    known = f"documented as undetectable: {excuse.name}" if excuse else "not documented as undetectable"
    return (
        f"silent loss: task {one.task_id} covers {one.window.start:%H:%M:%S}..{one.window.end:%H:%M:%S} "
        f"without {len(one.missing)} of {one.truth} records ({named}); {says}; {weak}; {known}"
    )


def _leaves(ended: Ended) -> list[dict[str, Any]]:
    """Tasks that nothing has replaced by smaller ones."""
    return [
        row
        for row in ended.tasks
        if not any(
            other["id"] > row["id"]
            and row["window_from"] <= other["window_from"]
            and other["window_to"] <= row["window_to"]
            for other in ended.tasks
        )
    ]


def _check_books(ended: Ended) -> None:
    """Every end has its reason, and every record received is counted once."""
    for row in ended.tasks:
        if row["status_code"] != "SUCCEEDED" and not (row["last_error"] or {}).get("message"):
            raise Broken(f"task {row['id']} is {row['status_code']} and does not say why")
        if row["status_code"] in ("EXECUTING", "DISPATCHED"):
            raise Broken(f"task {row['id']} is still {row['status_code']}")
    for row in ended.runs:
        stats = row["stats"] or {}
        ways = [stats.get(name, 0) for name in ("inserted", "updated", "skipped", "gone", "failed")]
        if stats and stats["retCount"] != sum(ways):
            raise Broken(f"run {row['id']} received {stats['retCount']} records and counts {sum(ways)}: {stats}")


def _check_watermark(ended: Ended) -> None:
    """The watermark passes no instant that no succeeded task, and no covered part of another, has read."""
    read = [(row["window_from"], row["window_to"]) for row in ended.tasks if row["status_code"] == "SUCCEEDED"]
    read += [(row["window_from"], row["window_to"]) for row in ended.events]
    reached = BEGIN
    for start, end in sorted(read):
        reached = max(reached, end) if start <= reached else reached
    if ended.watermark > reached:
        raise Broken(f"the watermark {ended.watermark} is past {reached}")


def _check_items(habits: Habits, ended: Ended) -> None:
    """Nothing is stored that was not shown, and nothing that the provider deleted counts as present."""
    unknown = set(ended.items) - ended.provider.shown
    if unknown:
        raise Broken(f"stored and never shown: {sorted(unknown)}")
    deleted = {f"b{number:03}" for number in habits.deleted}
    alive = sorted(name for name in deleted if ended.items.get(name) == "PRESENT")
    if alive:
        raise Broken(f"deleted by the provider and stored as PRESENT: {alive}")


def describe(habits: Habits, source: Source, ended: Ended, most: int = 60) -> str:
    """All that is needed to see what happened."""
    lines = [f"{habits!r}", f"{source!r}", "requests:"]
    log = ended.provider.log
    lines += [
        f"  {one.number:3} {one.correlation} [{one.bounds.start:%H:%M:%S}, {one.bounds.end:%H:%M:%S}) "
        f"at {one.place}: {one.said}"
        for one in log[:most]
    ]
    lines += [f"  ... {len(log) - most} more"] if len(log) > most else []
    lines += [
        f"task {row['id']} [{row['window_from']:%H:%M:%S}, {row['window_to']:%H:%M:%S}) {row['status_code']}: "
        f"{(row['last_error'] or {}).get('message')}"
        for row in ended.tasks[:20]
    ]
    ends = {
        name: row["stats"].get(name) for row in ended.runs[-1:] if row["stats"] for name in ("endSignal", "weakEnd")
    }
    lines += [f"runs: {len(ended.runs)}, the last one: {ends}", f"watermark: {ended.watermark}"]
    return "\n".join(lines)
