"""Zenodo's count of requests, told in the headers of every answer."""

import time
from collections import deque

from deployments.sandbox.clock import SandboxClock
from deployments.sandbox.instant import SECOND_MS
from deployments.sandbox.settings import Behaviour

PER_MINUTE = 30
MINUTE_MS = 60_000


class Quota:
    """Counts the requests answered; the limit is the real one until the sandbox enforces its own."""

    def __init__(self, clock: SandboxClock, behaviour: Behaviour) -> None:
        self._clock = clock
        self._behaviour = behaviour
        self._answered: deque[float] = deque()

    def count(self) -> None:
        """One more was answered."""
        now = time.monotonic()
        self._answered.append(now)
        while self._answered[0] <= now - 1.0:
            self._answered.popleft()

    def headers(self) -> dict[str, str]:
        """The limit, what is left of it, and the second since 1970 in which it begins anew."""
        limit, window_ms = self._behaviour.rate_limit_per_second, SECOND_MS
        if limit is None:
            # Nobody enforces it, so something must be left or a polite client would wait for nothing.
            limit, window_ms, left = PER_MINUTE, MINUTE_MS, PER_MINUTE - 1
        else:
            left = max(limit - len(self._answered), 0)
        reset = -(-(self._clock.now_ms() + window_ms) // SECOND_MS)
        return {"x-ratelimit-limit": str(limit), "x-ratelimit-remaining": str(left), "x-ratelimit-reset": str(reset)}

    @property
    def wording(self) -> str:
        """The limit as a 429 words it."""
        limit = self._behaviour.rate_limit_per_second
        return f"{PER_MINUTE} per 1 minute" if limit is None else f"{limit} per 1 second"
