"""A rate gate of one process, for a source that is in no database yet."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from ingest_core.gate.bucket import GateState, take_turn
from ingest_core.model.instant import EPOCH
from ingest_core.model.spec import RateSpec
from ingest_core.model.work import Partition


class LocalGate:
    """A RateGate."""

    def __init__(self, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._clock = clock
        self._states: dict[str, GateState] = {}

    def acquire(self, key: str, rate: RateSpec) -> timedelta:
        """Take a turn; how long to wait before using it."""
        state, wait = take_turn(self._states.get(key, GateState(EPOCH, EPOCH)), rate, self._clock())
        self._states[key] = state
        return wait

    def cool_down(self, key: str, span: timedelta) -> None:
        """Nobody asks for that long."""
        state = self._states.get(key, GateState(EPOCH, EPOCH))
        self._states[key] = GateState(state.tat, max(state.cooldown_until, self._clock() + span))

    def live_rate(self, partition: Partition, planned: RateSpec) -> RateSpec:
        """The rate of the file at hand."""
        return planned
