"""How many tasks of a partition may be worked at a time, as the Registry says today."""

import time
from collections.abc import Callable

from ingest_core.model.partition import Partition
from ingest_core.model.spec import RateSpec
from ingest_core.store.gate.rate_gate import SqlRateGate

FRESH_SECONDS = 10.0
"""Seconds after which a changed cap is noticed."""

_NO_RATE = RateSpec(requests_per_second=1, burst=1)


class LiveCaps:
    """The caps in force, read again now and then."""

    def __init__(self, gate: SqlRateGate, clock: Callable[[], float] = time.monotonic) -> None:
        self._gate = gate
        self._clock = clock
        self._known: dict[Partition, tuple[float, int | None]] = {}

    def __call__(self, partition: Partition) -> int | None:
        """The partition's cap; none where there is none."""
        read_at, cap = self._known.get(partition, (float("-inf"), None))
        if self._clock() - read_at > FRESH_SECONDS:
            cap = self._gate.live_rate(partition, _NO_RATE).max_concurrency
            self._known[partition] = (self._clock(), cap)
        return cap
