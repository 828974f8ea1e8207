"""How many tasks of a partition may be worked at a time, as the Registry says today."""

import time
from collections.abc import Callable

from ingest_core.model.partition import Partition
from ingest_core.model.spec import RateSpec
from ingest_core.store.engine.database import Database
from ingest_core.store.gate.live_limits import LiveLimits

_NO_RATE = RateSpec(requests_per_second=1, burst=1)


class LiveCaps:
    """The caps in force, read again now and then."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = LiveLimits(database, clock)

    def __call__(self, partition: Partition) -> int | None:
        """The partition's cap; none where there is none."""
        return self._limits.of(partition, _NO_RATE).own.max_concurrency
