"""The sandbox's time: the real one, or wherever a test put it."""

import time


class SandboxClock:
    """Runs with the real clock until it is frozen."""

    def __init__(self) -> None:
        self._frozen_ms: int | None = None

    def now_ms(self) -> int:
        """The sandbox's present, in milliseconds since 1970."""
        return time.time_ns() // 1_000_000 if self._frozen_ms is None else self._frozen_ms

    def move(self, ms: int | None) -> None:
        """Freeze the clock at this instant; None lets it run with the real one again."""
        self._frozen_ms = ms
