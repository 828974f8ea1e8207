"""What a rate limiter remembers between two requests."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from ingest_core.model.spec import RateSpec


class CloseReason(StrEnum):
    """Why a rate limiter gives no permits."""

    RETRY_AFTER = "RETRY_AFTER"
    TOO_MANY_REQUESTS = "TOO_MANY_REQUESTS"
    REMAINING_ZERO = "REMAINING_ZERO"
    QUOTA = "QUOTA"
    CIRCUIT = "CIRCUIT"


class CircuitState(StrEnum):
    """Whether the provider is believed to answer."""

    CLOSED = "CLOSED"
    OPEN = "OPEN"
    HALF_OPEN = "HALF_OPEN"


@dataclass(frozen=True)
class GateState:
    """A rate limiter: a token bucket whose rate adapts, a closing time and a circuit."""

    counted_at: datetime
    """When `tokens` was counted."""
    tokens: float
    """Permits that could be used at `counted_at`; below 0, how many were given for later instants."""
    rate_now: float
    """Permits a second in force."""
    configured: float
    """Permits a second that the Registry allowed at the last request."""
    warm_from: datetime
    """Where the warm-up began."""
    changed_at: datetime
    """When `rate_now` last changed."""
    step: float
    """How much the next increase adds, in permits a second."""
    rate_before: float | None = None
    """The rate before the last increase; none once a decrease has followed."""
    decreases: int = 0
    """How often the rate was decreased; a request sent before the last decrease causes no other."""
    stated_rate: float | None = None
    """Permits a second that the provider's headers allow."""
    operator_rate: float | None = None
    """Permits a second that an operator allows, until it is cleared."""
    stated_concurrency: int | None = None
    """Requests at a time that the provider's headers allow."""
    closed_until: datetime | None = None
    """No permit is given for an earlier instant."""
    closed_reason: CloseReason | None = None
    failures: int = 0
    """Transport failures and 5xx answers since the last success."""
    failed_by: tuple[str, ...] = ()
    """The tasks these failures belong to, each once."""
    success_at: datetime | None = None
    """When the provider last answered well."""
    circuit: CircuitState = CircuitState.CLOSED
    circuit_until: datetime | None = None
    """OPEN: when one request may try. HALF_OPEN: when the permit of that request lapses."""
    circuit_seconds: float = 0.0
    """How long the circuit was opened last."""
    low_since: datetime | None = None
    """Since when `rate_now` is below the share at which planning is held."""

    @classmethod
    def fresh(cls, rate: RateSpec, now: datetime) -> "GateState":
        """A rate limiter that was never used: full, and cold."""
        configured = rate.requests_per_second
        return cls(now, float(capacity(rate)), configured, configured, now, now, configured / STEPS)

    @property
    def ceiling(self) -> float:
        """The most permits a second that the Registry, the provider's headers and an operator allow."""
        return min(filter(None, (self.configured, self.stated_rate, self.operator_rate)))

    def closed(self, until: datetime, why: CloseReason) -> "GateState":
        """The same limiter, closed until then unless it is closed for longer."""
        if self.closed_until is not None and self.closed_until >= until:
            return self
        return replace(self, closed_until=until, closed_reason=why)

    def shifted(self, span: timedelta) -> "GateState":
        """The same state for a clock that was set back by `span`: each wait is as long as it was."""
        moments = ("counted_at", "warm_from", "changed_at", "closed_until", "success_at", "circuit_until", "low_since")
        return replace(self, **{name: at - span for name in moments if (at := getattr(self, name)) is not None})


STEPS = 4
"""Warm-up and increases go in quarters of the configured rate."""


def capacity(rate: RateSpec) -> int:
    """Permits a full bucket holds; a request that costs more than the burst is sent from a full one."""
    return max(rate.burst, rate.cost)
