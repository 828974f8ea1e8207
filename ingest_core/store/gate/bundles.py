"""Permits that a process took ahead: at high rates one transaction serves several requests."""

import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from threading import Lock

from ingest_core.gate.chain import Gate
from ingest_core.gate.ports import Asker, GateDecision, Permit

QUANTUM = 25
"""Permits taken ahead at most, so that no process takes a whole limiter."""

LATE = timedelta(milliseconds=100)
"""A permit that was not used this long after its instant is returned."""

_DEMAND_SECONDS = 0.2


@dataclass(frozen=True)
class _Spare:
    gate: Gate
    asker: Asker
    due: float
    permit: Permit


class Bundles:
    """Permits at hand, by limiter."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._spares: dict[str, deque[_Spare]] = defaultdict(deque)
        self._unused: dict[str, list[_Spare]] = defaultdict(list)
        self._asked: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=QUANTUM))

    def wanted(self, gate: Gate) -> int:
        """How many permits to take at once: as many as were asked for lately.

        A quota is counted for the asker's priority: each request then asks for itself.
        """
        if gate.rate.daily_quota is not None or gate.rate.hourly_quota is not None:
            return 1
        with self._lock:
            since = self._clock() - _DEMAND_SECONDS
            return max(sum(at >= since for at in self._asked[gate.key]), 1)

    def take(self, gate: Gate) -> Permit | None:
        """A permit at hand; none where there is none, or its time has passed."""
        with self._lock:
            now = self._clock()
            self._asked[gate.key].append(now)
            spares = self._spares[gate.key]
            while spares:
                spare = spares.popleft()
                if now <= spare.due + LATE.total_seconds() and spare.gate == gate:
                    wait = timedelta(seconds=max(spare.due - now, 0.0))
                    return replace(spare.permit, decision=_decision(wait), wait=wait)
                self._unused[gate.key].append(spare)
            return None

    def keep(self, gate: Gate, asker: Asker, permit: Permit, waits: list[timedelta]) -> None:
        """Keep further permits of one answer."""
        if waits:
            with self._lock:
                now = self._clock()
                self._spares[gate.key] += (_Spare(gate, asker, now + one.total_seconds(), permit) for one in waits)

    def drop(self, key: str) -> None:
        """Use none of the permits at hand: the limiter has changed."""
        with self._lock:
            self._unused[key] += self._spares.pop(key, ())

    def unused(self, key: str) -> int:
        """How many permits to return; they count as returned from now on."""
        with self._lock:
            return len(self._unused.pop(key, ()))

    def rest(self) -> list[tuple[Gate, Asker, int]]:
        """What is to be returned of every limiter when the process ends."""
        with self._lock:
            left = {key: [*self._unused.pop(key, ()), *self._spares.pop(key, ())] for key in self._keys()}
        return [(spares[0].gate, spares[0].asker, len(spares)) for spares in left.values() if spares]

    def _keys(self) -> set[str]:
        return {*self._spares, *self._unused}


def _decision(wait: timedelta) -> GateDecision:
    return GateDecision.WAIT if wait else GateDecision.ALLOW
