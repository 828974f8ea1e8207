"""How long to wait before a request is sent again."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from ingest_core.model.spec import RetrySpec


@dataclass
class Retries:
    """The waits between the attempts at one request: each longer than the last, each varied by chance."""

    spec: RetrySpec
    chance: Callable[[], float]
    """A number from 0 to 1."""
    waits: list[float] = field(default_factory=list)
    """Seconds, as they were given."""

    def next_wait(self) -> timedelta:
        """The next wait; the Registry's jitter is a share of the wait itself, more or less."""
        spec = self.spec
        seconds = min(spec.initial_seconds * spec.multiplier ** len(self.waits), spec.max_seconds)
        seconds *= 1 + spec.jitter * (2 * self.chance() - 1)
        self.waits.append(seconds)
        return timedelta(seconds=seconds)
