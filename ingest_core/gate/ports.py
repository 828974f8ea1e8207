"""What the gate promises."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol

from ingest_core.gate.feedback import Feedback
from ingest_core.model.partition import Partition
from ingest_core.model.spec import RateSpec


class GateDecision(StrEnum):
    """What the gate answers."""

    ALLOW = "ALLOW"
    WAIT = "WAIT"
    REJECT = "REJECT"


@dataclass(frozen=True)
class Permit:
    """A permit and the wait before it may be used; a refused one is not reserved."""

    decision: GateDecision
    wait: timedelta = timedelta(0)

    @classmethod
    def after(cls, wait: timedelta) -> "Permit":
        """A permit that may be used after a wait, or at once."""
        return cls(GateDecision.WAIT if wait else GateDecision.ALLOW, wait)


class RateGate(Protocol):
    """All workers together stay within a provider's rate."""

    def acquire(self, key: str, rate: RateSpec, deadline: timedelta) -> Permit:
        """Reserve a permit; refused, and nothing reserved, if it could be used only after the deadline."""

    def feedback(self, key: str, said: Feedback) -> None:
        """Take in what the provider said about the rate: no permit is granted before its pause is over."""

    def closed(self, key: str) -> bool:
        """Whether no permit is granted now."""

    def live_rate(self, partition: Partition, planned: RateSpec) -> RateSpec:
        """The rate that holds today, whatever it was when the plan was made."""


@dataclass(frozen=True)
class RateLimiter:
    """A rate limiter as operators see it; None where something is not known."""

    key: str
    rate_now: float | None
    """Requests per second at which permits are granted now."""
    rate_configured: float | None
    """Requests per second that the Registry allows."""
    open_at: datetime | None
    """When the next permit can be used; None when it can be used at once."""
    daily_quota: int | None
    last_changes: list[dict[str, Any]]
    """What operators changed, oldest first, as it is stored."""

    def json(self) -> dict[str, Any]:
        """As scripts read it; `circuit` and the quota's use have no source yet."""
        return {
            "key": self.key,
            "rate_now": self.rate_now,
            "rate_configured": self.rate_configured,
            "open_at": self.open_at,
            "circuit": None,
            "quota": {"limit": self.daily_quota, "used": None, "reserved": None, "resets_at": None},
            "last_changes": self.last_changes,
        }


class RateControl(Protocol):
    """The rate limiters as operators see and clear them."""

    def entries(self) -> list[RateLimiter]:
        """Every rate limiter that was ever used, in order of its key."""

    def entry(self, key: str) -> RateLimiter:
        """One rate limiter; BadInput when there is none of that key."""

    def clear(self, key: str, reason: str, by: str) -> RateLimiter:
        """Open it now: no pause and no permits ahead; the source's tasks that wait for it are due."""
