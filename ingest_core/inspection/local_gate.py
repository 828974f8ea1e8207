"""A rate gate of one process, for a source that is in no database yet."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from ingest_core.gate.bucket import GateState, reserve_permit
from ingest_core.gate.feedback import Feedback
from ingest_core.gate.ports import GateDecision, Permit
from ingest_core.model.instant import EPOCH
from ingest_core.model.partition import Partition
from ingest_core.model.spec import RateSpec


class LocalGate:
    """A RateGate."""

    def __init__(self, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._clock = clock
        self._states: dict[str, GateState] = {}

    def acquire(self, key: str, rate: RateSpec, deadline: timedelta) -> Permit:
        """Reserve a permit; refused, and nothing reserved, if it could be used only after the deadline."""
        state, wait = reserve_permit(self._states.get(key, GateState(EPOCH, EPOCH)), rate, self._clock())
        if wait > deadline:
            return Permit(GateDecision.REJECT, wait)
        self._states[key] = state
        return Permit.after(wait)

    def feedback(self, key: str, said: Feedback) -> None:
        """Take in what the provider said about the rate: no permit is granted before its pause is over."""
        if said.cool_down:
            state = self._states.get(key, GateState(EPOCH, EPOCH))
            self._states[key] = GateState(state.tat, max(state.cooldown_until, self._clock() + said.cool_down))

    def closed(self, key: str) -> bool:
        """Whether no permit is granted now."""
        return self._states.get(key, GateState(EPOCH, EPOCH)).cooldown_until > self._clock()

    def live_rate(self, partition: Partition, planned: RateSpec) -> RateSpec:
        """The planned rate: a file has no other."""
        return planned
