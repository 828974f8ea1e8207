"""A slice harvested from a provider with habits, until nothing is left to do; then what is stored against the truth."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from threading import Event
from typing import Any, Protocol

from tests.models.habit_excuses import Case, Excuse, excuse_of, replaced
from tests.models.habit_pages import BEGIN, Asked, Bounds, Endless
from tests.models.habit_provider import HabitProvider, stops
from tests.models.habits import Habits, Source, Total

MOST_ATTEMPTS, MOST_HURRIED = 120, 600
"""Attempts at all tasks of a plan, of a page each in a hurry; more is endless."""

TITLE = re.compile(r"Book (\d+)")

DEFAULT_LIMIT = (2, 20, 0.01)
"""Missing records that are accepted: at least, at most, and as a share of the total."""


class Broken(AssertionError):
    """The law does not hold."""


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
    endless: str | None = None


class Bench(Protocol):
    """Where a harvest is worked: with the product's stores, or in memory."""

    def plan(self, habits: Habits, source: Source) -> None:
        """Begin anew with a plan of the whole window."""

    def work(self, provider: HabitProvider, stop: Event) -> bool:
        """Work the next task, or cut what waits to be cut; whether there was anything to do."""

    def read(self, ended: Ended) -> None:
        """What is stored."""


def harvest(bench: Bench, habits: Habits, source: Source) -> Ended:
    """Plan the window and work whatever is due, until nothing is."""
    stop = Event()
    provider = HabitProvider(habits, stops(habits.stop, stop.set))
    ended, most = Ended(provider), MOST_HURRIED if source.hurried else MOST_ATTEMPTS
    bench.plan(habits, source)
    try:
        for _ in range(most):
            stop.clear()
            if not bench.work(provider, stop):
                break
        else:
            ended.endless = f"{most} attempts"
    except Endless as endless:
        ended.endless = str(endless)
    bench.read(ended)
    return ended


@dataclass(frozen=True)
class Difference:
    """Records that should be stored and are not, in a window that counts as covered."""

    task_id: int
    window: Bounds
    part: bool
    """Whether the task's window is longer."""
    missing: frozenset[str]
    truth: int
    total: int | None
    """The largest that the provider stated."""
    asked: list[Asked]
    strangers: int
    """Records shown that were not there from the first page to the last: they stand in for missing ones."""
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
        missing = truth - set(ended.items) - set_aside(ended)
        if missing:
            yield _difference(ended, event, mine, frozenset(missing), truth)


def set_aside(ended: Ended) -> set[str]:
    """The records in quarantine; of one without an id its title says which it is, a search result has no title."""
    found: set[str] = set()
    for row in ended.quarantine:
        title = TITLE.search(row.get("fragment") or "")
        found |= {row["provider_id"]} if row["provider_id"] else {f"b{int(title[1]):03}"} if title else set()
        if row["reason_code"] == "ID_MISSING" and not title:
            found |= {f"b{number:03}" for number in ended.provider.habits.nameless}
    return found


def _difference(
    ended: Ended, event: dict[str, Any], mine: list[Asked], missing: frozenset[str], truth: set[str]
) -> Difference:
    last = [row for row in ended.runs if row["task_id"] == event["task_id"]][-1]
    notes = [
        row for row in ended.quarantine if row["reason_code"] == "SHORTFALL" and row["task_id"] == event["task_id"]
    ]
    totals = [one.page.total for one in mine if one.page.total is not None]
    return Difference(
        event["task_id"],
        Bounds(event["window_from"], event["window_to"]),
        any(row["id"] == event["task_id"] and row["window_to"] > event["window_to"] for row in ended.tasks),
        missing,
        len(truth),
        max(totals, default=None),
        mine,
        strangers=len({book.id for one in mine for book in one.page.books} - truth),
        recorded=bool(notes),
        weak=bool((last["stats"] or {}).get("weakEnd")),
    )


def limit_of(habits: Habits, source: Source, total: int | None) -> int:
    """How many missing records the documentation lets a source accept; those that a small total leaves out besides."""
    unseen = max(0, -habits.total_off) if habits.total == Total.OFF else 0
    if source.max_shortfall is not None:
        return source.max_shortfall + unseen
    least, most, share = DEFAULT_LIMIT
    return max(least, min(most, int((total or 0) * share))) + unseen


def check(habits: Habits, source: Source, ended: Ended) -> str:
    """Raise Broken unless the law holds; how the harvest ended, in a word."""
    if ended.endless:
        raise Broken(f"endless: {ended.endless}")
    word = "complete"
    for one in differences(ended):
        limit = limit_of(habits, source, one.total)
        excuse = excuse_of(Case(habits, source, one.asked, limit, one.part, one.truth))
        stand_ins = one.strangers if replaced(habits) else 0  # no total tells of them
        if one.recorded and len(one.missing) <= limit + stand_ins:
            word = "shortfall"
        elif excuse and (one.weak or not excuse.weak):
            word = f"undetectable: {excuse.name}"
        else:
            raise Broken(_words(one, excuse))
    _check_books(ended)
    _check_watermark(ended)
    _check_items(habits, ended)
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
