"""Counts requests against a limit per second."""

import time
from collections import deque


class RateMeter:
    """Admits at most the limit within any second."""

    def __init__(self) -> None:
        self._admitted: deque[float] = deque()

    def admit(self, limit_per_second: int | None) -> bool:
        """True when one more request is within the limit; None is no limit."""
        if limit_per_second is None:
            return True
        now = time.monotonic()
        while self._admitted and self._admitted[0] <= now - 1.0:
            self._admitted.popleft()
        if len(self._admitted) >= limit_per_second:
            return False
        self._admitted.append(now)
        return True
