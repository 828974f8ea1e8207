"""What a rate limiter promises."""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol

from ingest_core.gate.chain import Gate, Limits
from ingest_core.gate.feedback import Feedback
from ingest_core.gate.state import CloseReason
from ingest_core.model.partition import Partition
from ingest_core.model.spec import RateSpec


class GateDecision(StrEnum):
    """What a rate limiter answers: send now, send after the wait, ask again after the wait, or give up for now."""

    ALLOW = "ALLOW"
    WAIT = "WAIT"
    LATER = "LATER"
    REJECT = "REJECT"

    @property
    def granted(self) -> bool:
        """Whether a permit was given."""
        return self in (GateDecision.ALLOW, GateDecision.WAIT)


@dataclass(frozen=True)
class Asker:
    """Who asks for a permit."""

    task: str = ""
    """The task whose request it is; empty for a probe of the planner."""
    plan_id: int | None = None
    """The plan whose reservation of a quota it uses."""
    partition: Partition | None = None
    """The partition that is closed together with the limiter."""
    priority: int = 5
    """The task's; smaller is more urgent."""
    lapse: timedelta = timedelta(minutes=5)
    """How long the request may take."""


@dataclass(frozen=True)
class Permit:
    """Leave to send one request after `wait`, or the refusal of it."""

    decision: GateDecision
    wait: timedelta = timedelta(0)
    """Until the request may be sent; for a refusal, until the limiter may give a permit."""
    closed: CloseReason | None = None
    """Why the limiter is closed, for a refusal by a closed one."""
    closed_until: datetime | None = None
    rate_now: float | None = None
    burst: int | None = None
    decreases: int = 0
    """How often the rate was decreased so far: the answer's feedback says it again."""
    failures: int = 0
    """Requests that failed in a row until now: in an outage, nothing is repeated at once."""
    probes: bool = False
    """Whether the request tries an open circuit: it is not repeated."""


@dataclass(frozen=True)
class Horizon:
    """What a rate limiter can be expected to give."""

    permits: int
    """Requests until the horizon."""
    rate_now: float
    """Requests a second in force."""
    opens_in: timedelta
    """Zero when it is open."""
    concurrency: int | None = None
    """Requests at a time that the provider's headers allow."""
    quota_left: int | None = None
    """Units of the quota that the asker's priority may still use; none without a quota."""
    holds_planning: bool = False
    """Whether the rate was low for minutes: nothing more should be planned."""


class RateGate(Protocol):
    """All workers together stay within a provider's rate and quota."""

    def limits(self, partition: Partition, planned: RateSpec) -> Limits:
        """The rates that hold today for a partition's requests, whatever they were when its plan was made."""

    def acquire(self, gate: Gate, asker: Asker, deadline: timedelta) -> Permit:
        """A permit within the deadline; refused, and nothing taken, if it would come later or the limiter is closed."""

    def feedback(self, gate: Gate, asker: Asker, said: Feedback) -> None:
        """What the provider said about the rate: the limiter adapts, closes or opens for all workers."""

    def closed(self, gate: Gate) -> timedelta:
        """How long the limiter stays closed; zero when it is open."""

    def succeeded_since(self, gate: Gate, moment: datetime) -> bool:
        """Whether the provider has answered well since then, to anybody."""

    def estimate(self, gate: Gate, horizon: timedelta, priority: int = 5) -> Horizon:
        """What the limiter can be expected to give until the horizon."""


@dataclass(frozen=True)
class QuotaShown:
    """How much of a quota's window is used; None throughout where there is no quota."""

    limit: int | None = None
    used: int | None = None
    reserved: int | None = None
    """Units that plans have reserved and not used yet."""
    resets_at: datetime | None = None


@dataclass(frozen=True)
class RateLimiter:
    """A rate limiter as operators see it; None where something is not known."""

    key: str
    rate_now: float | None
    """Requests per second at which permits are granted now."""
    rate_configured: float | None
    """Requests per second that the Registry allows."""
    rate_stated: float | None
    """Requests per second that the provider's headers allow."""
    rate_set: float | None
    """Requests per second that an operator allows, until the limiter is cleared."""
    concurrency_stated: int | None
    """Requests at a time that the provider's headers allow."""
    open_at: datetime | None
    """When the next permit can be used; None when it can be used at once."""
    closed_reason: str | None
    """Why no permit is given until then; None for the pace of the rate alone."""
    circuit: str
    failures: int
    """Requests that failed in a row until now."""
    quota: QuotaShown
    partitions: list[str]
    """The partitions whose requests stand under it."""
    last_changes: list[dict[str, Any]]
    """What changed it, oldest first, as it is stored."""

    def json(self) -> dict[str, Any]:
        """As scripts read it."""
        return asdict(self)


class RateControl(Protocol):
    """The rate limiters as operators see, set and clear them."""

    def entries(self) -> list[RateLimiter]:
        """Every rate limiter that was ever used, in order of its key."""

    def entry(self, key: str) -> RateLimiter:
        """One rate limiter; BadInput when there is none of that key."""

    def set_rate(self, key: str, rate: float, reason: str, by: str) -> RateLimiter:
        """Allow at most this many requests a second until the limiter is cleared."""

    def clear(self, key: str, reason: str, by: str) -> RateLimiter:
        """Open it now, at its configured rate; the tasks that wait for it are due."""
