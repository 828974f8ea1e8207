"""The arithmetic of permits: a token bucket with a warm-up, whose rate may change at any moment.

Law: in every interval, the permits given for instants within it are at most the burst plus the integral of the rate in
force, whoever asks and whatever happens between.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import floor

from ingest_core.gate.adaptation import due_increase, with_configured
from ingest_core.gate.state import STEPS, CircuitState, CloseReason, GateState, capacity
from ingest_core.model.spec import RateSpec

HORIZON = timedelta(milliseconds=100)
"""Permits are given for instants no later than this; who has to wait longer asks again, and meets the rate of then."""

PACE = 0.96
"""The share of the rate that is used: a request that is sent late must not fall into the second of the next ones."""

IDLE = timedelta(seconds=60)
"""A rate limiter that was not used for as long warms up again."""


@dataclass(frozen=True)
class Grant:
    """What was given: instants for permits, or how long to wait before asking again."""

    instants: tuple[datetime, ...] = ()
    wait: timedelta = timedelta(0)
    closed: CloseReason | None = None
    probes: bool = False
    """Whether this request is the one that tries whether the provider answers again."""


def take(state: GateState, rate: RateSpec, now: datetime, lapse: timedelta, wanted: int = 1) -> tuple[GateState, Grant]:
    """Up to `wanted` permits within the horizon, each for one request of `rate.cost`, or none and the wait.

    `lapse` is how long a request may take: if it is the one that probes an open circuit, another may after that.
    """
    state = _counted(due_increase(with_configured(state, rate, now), rate, now), rate, now)
    if state.closed_until is not None and state.closed_until > now:
        return state, Grant(wait=state.closed_until - now, closed=state.closed_reason)
    if state.circuit != CircuitState.CLOSED:
        assert state.circuit_until is not None
        if state.circuit_until > now:
            return state, Grant(wait=state.circuit_until - now, closed=CloseReason.CIRCUIT)
        probing = replace(state, circuit=CircuitState.HALF_OPEN, circuit_until=now + lapse, tokens=0.0)
        return probing, Grant((now,), probes=True)
    instants: list[datetime] = []
    while len(instants) < max(wanted, 1):
        wait = _until(state, rate.cost, capacity(rate), now)
        if wait > HORIZON:
            return state, Grant(tuple(instants), wait if not instants else timedelta(0))
        state = replace(state, tokens=state.tokens - rate.cost)
        instants.append(now + wait)
    return state, Grant(tuple(instants))


def given_back(state: GateState, rate: RateSpec, unused: int) -> GateState:
    """The state after permits came back that no request used."""
    return replace(state, tokens=min(state.tokens + unused * rate.cost, float(capacity(rate))))


def supply(state: GateState, start: datetime, end: datetime) -> float:
    """Permits that come in between two moments, at the rate in force and the warm-up."""
    total, at = 0.0, start
    while at < end:
        until = min(end, _next_step(state, at))
        total += _rate_at(state, at) * (until - at).total_seconds()
        at = until
    return total


def opens_in(state: GateState, now: datetime) -> timedelta:
    """How long the limiter stays closed; zero when it is open."""
    moments = [now, state.closed_until or now]
    if state.circuit != CircuitState.CLOSED and state.circuit_until is not None:
        moments.append(state.circuit_until)
    return max(moments) - now


def free_in(state: GateState, rate: RateSpec, now: datetime) -> timedelta:
    """How long until a request could be sent, as the limiter stands."""
    return max(_until(_counted(state, rate, now), rate.cost, capacity(rate), now), opens_in(state, now))


def expected_permits(state: GateState, rate: RateSpec, now: datetime, horizon: timedelta) -> int:
    """Requests that could be sent until the horizon, at the rate in force."""
    counted, opened = _counted(state, rate, now), now + opens_in(state, now)
    return max(floor((counted.tokens + supply(counted, opened, now + horizon)) / rate.cost), 0)


def _counted(state: GateState, rate: RateSpec, now: datetime) -> GateState:
    """The tokens as of now; after a pause, cold again."""
    if now <= state.counted_at:
        return state
    tokens = min(state.tokens + supply(state, state.counted_at, now), float(capacity(rate)))
    reopened = state.closed_until is not None and state.counted_at < state.closed_until <= now
    cold = now if now - state.counted_at >= IDLE else state.closed_until if reopened else None
    return replace(state, counted_at=now, tokens=tokens, warm_from=cold or state.warm_from)


def _until(state: GateState, cost: int, most: int, now: datetime) -> timedelta:
    """How long until the bucket holds `cost` permits."""
    missing, at = min(cost, most) - state.tokens, now
    while missing > 0:
        rate, until = _rate_at(state, at), _next_step(state, at)
        seconds = missing / rate
        if (until - at).total_seconds() >= seconds:
            # One microsecond more: an instant is never before its share has come in.
            return at + timedelta(seconds=seconds, microseconds=1) - now
        missing -= rate * (until - at).total_seconds()
        at = until
    return timedelta(0)


def _rate_at(state: GateState, at: datetime) -> float:
    warm = floor((at - state.warm_from).total_seconds()) + 1
    return PACE * min(state.rate_now, state.configured * min(max(warm, 1), STEPS) / STEPS)


_FOR_EVER = timedelta(days=366)


def _next_step(state: GateState, at: datetime) -> datetime:
    """When the rate changes next by the warm-up; after that, a moment beyond any wait."""
    seconds = floor((at - state.warm_from).total_seconds())
    return state.warm_from + timedelta(seconds=seconds + 1) if 0 <= seconds < STEPS - 1 else at + _FOR_EVER
