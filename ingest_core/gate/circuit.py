"""Whether the provider answers at all: after failures in a row one request at a time tries, and all others wait."""

from dataclasses import replace
from datetime import datetime, timedelta

from ingest_core.gate.state import CircuitState, GateState

FAILURES_THAT_OPEN = 3
TASKS_THAT_OPEN = 2
"""Failures of one task alone may be that task's own fault."""

LONGEST_OPEN_SECONDS = 900.0
_MOST_KEPT = 5


def failed(state: GateState, task: str, now: datetime, first_seconds: float) -> GateState:
    """The state after a transport failure or a 5xx: enough of them open the circuit, a failed probe opens it again.

    `first_seconds` is how long it is opened the first time.
    """
    names = tuple(dict.fromkeys((*state.failed_by, task)))[-_MOST_KEPT:]
    state = replace(state, failures=state.failures + 1, failed_by=names)
    if state.circuit == CircuitState.HALF_OPEN:
        return _opened(state, now, min(state.circuit_seconds * 2, LONGEST_OPEN_SECONDS))
    if state.circuit == CircuitState.CLOSED and state.failures >= FAILURES_THAT_OPEN and len(names) >= TASKS_THAT_OPEN:
        return _opened(state, now, first_seconds)
    return state


def succeeded(state: GateState, now: datetime) -> GateState:
    """The state after an answer that is well: the circuit is closed, and the rate may rise again."""
    return replace(alive(state, now), success_at=now)


def alive(state: GateState, now: datetime) -> GateState:
    """The state after an answer that is no failure of the provider, be it a refusal: the circuit is closed."""
    reopened = state.circuit != CircuitState.CLOSED
    return replace(
        state,
        failures=0,
        failed_by=(),
        circuit=CircuitState.CLOSED,
        circuit_until=None,
        circuit_seconds=0.0,
        warm_from=now if reopened else state.warm_from,
    )


def _opened(state: GateState, now: datetime, seconds: float) -> GateState:
    until = now + timedelta(seconds=seconds)
    return replace(state, circuit=CircuitState.OPEN, circuit_until=until, circuit_seconds=seconds)
