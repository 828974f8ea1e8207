"""Rate limiters of one process, for a source that is in no database yet."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from ingest_core.gate.bucket import expected_permits, opens_in, take
from ingest_core.gate.chain import Gate, Limits
from ingest_core.gate.feedback import Feedback, after_answer
from ingest_core.gate.ports import Asker, GateDecision, Horizon, Permit
from ingest_core.gate.state import GateState
from ingest_core.model.partition import Partition
from ingest_core.model.spec import RateSpec


class LocalGate:
    """A RateGate."""

    def __init__(self, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._clock = clock
        self._states: dict[str, GateState] = {}

    def limits(self, partition: Partition, planned: RateSpec) -> Limits:
        """The rates of the file at hand."""
        return Limits(planned, planned)

    def acquire(self, gate: Gate, asker: Asker, deadline: timedelta) -> Permit:
        """A permit within the deadline; refused, and nothing taken, if it would come later or the limiter is closed."""
        now = self._clock()
        state, grant = take(self._state(gate, now), gate.rate, now, asker.lapse)
        self._states[gate.key] = state
        if grant.instants:
            wait = grant.instants[0] - now
            decision = GateDecision.WAIT if wait else GateDecision.ALLOW
            return Permit(decision, wait, rate_now=state.rate_now, burst=gate.rate.burst, decreases=state.decreases)
        decision = GateDecision.REJECT if grant.wait > deadline else GateDecision.LATER
        return Permit(decision, grant.wait, grant.closed, decreases=state.decreases)

    def feedback(self, gate: Gate, asker: Asker, said: Feedback) -> None:
        """What the provider said about the rate."""
        now = self._clock()
        self._states[gate.key] = after_answer(self._state(gate, now), gate.rate, said, now, chance=0.0)

    def closed(self, gate: Gate) -> timedelta:
        """How long the limiter stays closed; zero when it is open."""
        now = self._clock()
        return opens_in(self._state(gate, now), now)

    def succeeded_since(self, gate: Gate, moment: datetime) -> bool:
        """Whether the provider has answered well since then."""
        last = self._state(gate, self._clock()).success_at
        return last is not None and last > moment

    def estimate(self, gate: Gate, horizon: timedelta, priority: int = 5) -> Horizon:
        """What the limiter can be expected to give until the horizon."""
        now = self._clock()
        state = self._state(gate, now)
        return Horizon(expected_permits(state, gate.rate, now, horizon), state.rate_now, opens_in(state, now))

    def _state(self, gate: Gate, now: datetime) -> GateState:
        return self._states.get(gate.key) or GateState.fresh(gate.rate, now)
