"""Ways to break work on a database: a crash at any step, and work that overlaps other work."""

import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Barrier, Event, Lock
from typing import Any, TypeVar

import sqlalchemy as sa

from ingest_core.store.engine.database import Database

A = TypeVar("A")
B = TypeVar("B")

PATIENCE_SECONDS = 0.1
DEADLINE_SECONDS = 120
MOST_STEPS = 800


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
