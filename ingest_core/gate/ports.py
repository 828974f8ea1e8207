"""What the gate promises."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Protocol

from ingest_core.gate.feedback import Feedback
from ingest_core.model.partition import Partition
from ingest_core.model.spec import RateSpec


class GateDecision(StrEnum):
    """What the gate answers."""

    ALLOW = "ALLOW"
    WAIT = "WAIT"
    REJECT = "REJECT"


@dataclass(frozen=True)
class Permit:
    """A turn, and how long to wait before using it; a refused one was not taken."""

    decision: GateDecision
    wait: timedelta = timedelta(0)

    @classmethod
    def after(cls, wait: timedelta) -> "Permit":
        """A turn that comes after a wait, or at once."""
        return cls(GateDecision.WAIT if wait else GateDecision.ALLOW, wait)


class RateGate(Protocol):
    """All workers together stay within a provider's rate."""

    def acquire(self, key: str, rate: RateSpec, deadline: timedelta) -> Permit:
        """Take a turn; refused, and nothing taken, if it would come after the deadline."""

    def feedback(self, key: str, said: Feedback) -> None:
        """What the provider said of our haste: nobody asks before it wants to be asked again."""

    def closed(self, key: str) -> bool:
        """Whether nobody may ask just now."""

    def live_rate(self, partition: Partition, planned: RateSpec) -> RateSpec:
        """The rate that holds today, whatever it was when the plan was made."""
