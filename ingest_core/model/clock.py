"""The clock port."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """The database's time, which everybody shares."""

    def now(self) -> datetime:
        """What time it is."""
