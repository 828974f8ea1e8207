"""How a rate limiter's rate follows the provider: divided when it refuses, raised step by step while it is well."""

from dataclasses import replace
from datetime import datetime, timedelta

from ingest_core.gate.state import STEPS, GateState
from ingest_core.model.spec import RateSpec

MIN_RATE = 0.1
"""Permits a second; no decrease goes below, unless less is configured."""

LOW_SHARE = 0.3
"""Below this share of the configured rate, planning for the limiter's partitions is held after a while."""

LOW_FOR = timedelta(minutes=5)
"""How long the rate must be low before planning is held."""

SMALLEST_STEP = 1 / 64
"""Of the configured rate; increases that failed are repeated in smaller steps, down to this."""


def with_configured(state: GateState, rate: RateSpec, now: datetime) -> GateState:
    """The state under the rate that the Registry allows now; a changed rate counts at once."""
    configured = rate.requests_per_second
    if configured == state.configured:
        return state
    return _under_ceiling(state, replace(state, configured=configured, step=configured / STEPS), now)


def decreased(state: GateState, rate: RateSpec, now: datetime, seen: int) -> GateState:
    """The state after a refusal to a request sent after `seen` decreases: one decrease for each congestion event.

    Within a step, back to the rate before it; otherwise divided. The bucket is empty afterwards.
    """
    if seen < state.decreases:
        return state
    cool_down = timedelta(seconds=rate.cool_down_seconds)
    step = state.step
    if state.rate_before is not None and now - state.changed_at <= cool_down:
        rate_now = state.rate_before
        step = max((state.rate_now - rate_now) / 2, state.configured * SMALLEST_STEP)
    else:
        floor = min(MIN_RATE, state.configured)
        rate_now = max(state.rate_now / rate.demote, floor)
    lower = replace(
        state,
        rate_now=min(rate_now, state.ceiling),
        rate_before=None,
        step=step,
        changed_at=now,
        decreases=state.decreases + 1,
        tokens=min(state.tokens, 0.0),
    )
    return _marked(lower, now)


def due_increase(state: GateState, rate: RateSpec, now: datetime) -> GateState:
    """The state after the next step up, if the provider was well for a cool-down since the last change."""
    cool_down = timedelta(seconds=rate.cool_down_seconds)
    well = state.success_at is not None and state.success_at > state.changed_at and state.failures == 0
    if state.rate_now >= state.ceiling or now - state.changed_at < cool_down or not well:
        return state
    higher = replace(
        state,
        rate_before=state.rate_now,
        rate_now=min(state.rate_now + state.step, state.ceiling),
        step=min(state.step * 2, state.configured / STEPS),
        changed_at=now,
    )
    return _marked(higher, now)


def with_stated(state: GateState, stated: float | None, now: datetime) -> GateState:
    """The state under the rate that the provider's headers state; it outranks what we guessed."""
    if stated is None or stated == state.stated_rate or stated <= 0:
        return state
    return _under_ceiling(state, replace(state, stated_rate=stated), now)


def with_operator(state: GateState, rate: float | None, now: datetime) -> GateState:
    """The state under the rate that an operator allows; none lifts it."""
    return _under_ceiling(state, replace(state, operator_rate=rate), now)


def _under_ceiling(before: GateState, after: GateState, now: datetime) -> GateState:
    """A rate at the ceiling follows it; one that was decreased stays below."""
    at_ceiling = before.rate_now >= before.ceiling
    rate_now = after.ceiling if at_ceiling else min(before.rate_now, after.ceiling)
    if rate_now == before.rate_now:
        return after
    return _marked(replace(after, rate_now=rate_now, changed_at=now, rate_before=None), now)


def holds_planning(state: GateState, now: datetime) -> bool:
    """Whether the rate was low for LOW_FOR or longer: nothing more should be planned for it."""
    return state.low_since is not None and now - state.low_since >= LOW_FOR


def _marked(state: GateState, now: datetime) -> GateState:
    """Remember since when the rate is low."""
    low = state.rate_now < LOW_SHARE * state.configured
    return replace(state, low_since=(state.low_since or now) if low else None)
