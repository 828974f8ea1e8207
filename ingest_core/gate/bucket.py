"""The arithmetic of permits: a token bucket stored as one instant."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ingest_core.model.spec import RateSpec

LONGEST_BACKLOG_SECONDS = 365 * 86_400.0
"""No change of rate makes anybody wait longer than a year."""


@dataclass(frozen=True)
class GateState:
    """When the bucket would be full again, and until when no permit is granted."""

    tat: datetime
    cooldown_until: datetime


def moved_back(state: GateState, span: timedelta) -> GateState:
    """The same state for a clock that has been set back: what has to be waited for is as long as it was."""
    return GateState(state.tat - span, state.cooldown_until - span)


def rescaled(state: GateState, before: float, after: float, now: datetime) -> GateState:
    """The same permits at another rate, in requests a second: as many are taken as were, each as long as it is now.

    Law: from the change on, the permits granted before and since are never more than the burst and the new rate
    allow, and the wait for the next one does not depend on the old rate.
    """
    seconds = max((state.tat - now).total_seconds(), 0) * (before / after)
    return GateState(now + timedelta(seconds=min(seconds, LONGEST_BACKLOG_SECONDS)), state.cooldown_until)


def reserve_permit(state: GateState, rate: RateSpec, now: datetime) -> tuple[GateState, timedelta]:
    """Reserve the next permit: the state after it, and how long to wait for it."""
    interval = timedelta(seconds=1 / rate.requests_per_second)
    ahead = max(rate.burst - rate.cost, 0)
    earliest = max(now, state.cooldown_until, state.tat - interval * ahead)
    after = max(state.tat, earliest) + interval * rate.cost
    return GateState(after, state.cooldown_until), earliest - now
