"""The safety lag, as late arrivals teach it: up soon, down slowly."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ingest_core.model.cursor import CursorState
from ingest_core.model.record import Arrivals

EVIDENCE = timedelta(days=7)
MANY_LATE = 0.005
FEW_LATE = 0.001
STEP_UP = 300
STEP_DOWN = 60
LEAST_SECONDS = 300
MOST_SECONDS = 3600


@dataclass(frozen=True)
class LagDecision:
    """The lag in force, what of it was learned, and why."""

    seconds: int
    learned_seconds: int
    changed: bool
    why: str


def evidence_since(cursor: CursorState | None, now: datetime) -> datetime:
    """From when on arrivals count: seven days, but only under the lag in force."""
    changed = cursor.lag_changed_at if cursor else None
    return max(now - EVIDENCE, changed) if changed else now - EVIDENCE


def decide_lag(
    configured: int, cursor: CursorState | None, arrivals: Arrivals, now: datetime, *, by_default: bool
) -> LagDecision:
    """The lag a harvest keeps; never below a configured lag."""
    least = min(LEAST_SECONDS, configured) if by_default else configured
    most = max(MOST_SECONDS, configured)
    known = cursor.lag_seconds if cursor and cursor.lag_seconds is not None else configured
    current = min(max(known, least), most)
    learned = current
    if arrivals.received and _due(cursor, now):
        if arrivals.late_share > MANY_LATE:
            learned = min(current + STEP_UP, most)
        elif arrivals.late_share < FEW_LATE and current > max(least, LEAST_SECONDS):
            learned = max(current - STEP_DOWN, least, LEAST_SECONDS)
    behind = min(arrivals.provider_late_seconds, MOST_SECONDS)
    return LagDecision(learned + behind, learned, learned != current, _why(configured, learned, arrivals, behind))


def _due(cursor: CursorState | None, now: datetime) -> bool:
    """Once a day is enough: what a change brings shows only afterwards."""
    changed = cursor.lag_changed_at if cursor else None
    return changed is None or now - changed >= timedelta(days=1)


def _why(configured: int, learned: int, arrivals: Arrivals, behind: int) -> str:
    said = [f"configured {configured} s"]
    if learned != configured:
        share = f"{arrivals.late_share:.2%} of {arrivals.received} records came late"
        said.append(f"now {learned} s: {share if arrivals.received else 'late arrivals have taught it'}")
    if behind:
        said.append(f"{behind} s more: the provider's clock is behind")
    return "; ".join(said)
