"""What the gate promises."""

from datetime import timedelta
from typing import Protocol

from ingest_core.model.spec import RateSpec
from ingest_core.model.work import Partition


class RateGate(Protocol):
    """All workers together stay within a provider's rate."""

    def acquire(self, key: str, rate: RateSpec) -> timedelta:
        """Take a turn; how long to wait before using it."""

    def cool_down(self, key: str, span: timedelta) -> None:
        """Nobody asks for that long."""

    def live_rate(self, partition: Partition, planned: RateSpec) -> RateSpec:
        """The rate that holds today, whatever it was when the plan was made."""
