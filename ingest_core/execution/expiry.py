"""What a lease that expired says of its task: whether the task is to blame, and when it is tried again."""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from ingest_core.model.clock import CLOCK_SLACK

MAX_BLAMED = 5
"""Expiries a task is blamed for since its last page, before it is FAILED."""

MAX_EXPIRIES = 12
"""Expiries of any kind since the last page, before it is FAILED: with the delays between them, more than an hour."""

STORM_SPAN = timedelta(minutes=5)
"""How long the loss of a worker is evidence that something other than the task is wrong."""

FIRST_DELAY = timedelta(seconds=15)
LONGEST_DELAY = timedelta(minutes=15)


@dataclass(frozen=True)
class Expiry:
    """A lease that expired, and what is known of its task's earlier ones."""

    task_id: int
    owner: str
    """The worker whose lease it was."""
    count: int = 0
    """Earlier expiries since the last committed page."""
    blamed: int = 0
    """How many of them the task was blamed for."""
    last_at: datetime | None = None
    """When the task's last lease expired, however long ago."""
    last_owner: str | None = None
    """Whose lease that was."""


@dataclass(frozen=True)
class LostWorker:
    """A worker whose leases expired, and when the last of them was found."""

    owner: str
    at: datetime


@dataclass(frozen=True)
class ExpiryDecision:
    """What becomes of the task."""

    count: int
    blamed: int
    failed: bool
    delay: timedelta
    """How long it waits for its next attempt; the first one is not delayed."""


def decide_expiry(expiry: Expiry, lost: Iterable[LostWorker], now: datetime) -> ExpiryDecision:
    """Blame the task, unless a worker that did not have it was lost too since its last expiry.

    A task that ends its worker was leased by every worker that is lost. If a worker without the task was lost as well,
    the cause is the machine, the database or an operator, and the task only waits. Tasks leased by the same worker are
    blamed together: the innocent ones commit a page at their next attempt, which begins at another moment, and are
    forgiven. A task that no worker can finish is FAILED after MAX_EXPIRIES in any case, so that two tasks that end
    their workers do not excuse each other for ever.
    """
    count = expiry.count + 1
    blamed = expiry.blamed + (0 if _lost_without_it(expiry, lost, now) else 1)
    return ExpiryDecision(count, blamed, blamed >= MAX_BLAMED or count >= MAX_EXPIRIES, _delay(expiry.task_id, count))


def _lost_without_it(expiry: Expiry, lost: Iterable[LostWorker], now: datetime) -> bool:
    """Whether some other worker was lost lately, and since a lost worker last held this task."""
    since = max(now - STORM_SPAN, expiry.last_at or now - STORM_SPAN)
    # Leases of one worker expire one after the other: those of the last one may have been found after this task's.
    holders = (expiry.owner, expiry.last_owner)
    return any(one.owner not in holders and since < one.at <= now + CLOCK_SLACK for one in lost)


def _delay(task_id: int, count: int) -> timedelta:
    """Twice as long each time, and of another length for each task, so that those lost together do not meet again."""
    if count == 1:
        return timedelta(0)
    longest: timedelta = min(FIRST_DELAY * 2 ** (count - 2), LONGEST_DELAY)
    share = zlib.crc32(f"{task_id}:{count}".encode()) / 2**32
    return longest * (0.5 + share / 2)


def expiry_message(what: str, verdict: ExpiryDecision) -> str:
    """The expiry as the ledger and people read it."""
    text = f"{what}, {verdict.count} times since the last page"
    if not verdict.failed:
        return text
    if verdict.blamed >= MAX_BLAMED:
        return (
            f"{text}, {verdict.blamed} of them while no other worker was lost: the task seems to end its worker, "
            "perhaps for lack of memory; see the worker's log before you retry it"
        )
    return f"{text}: it is not tried again by itself; see why workers are lost before you retry it"
