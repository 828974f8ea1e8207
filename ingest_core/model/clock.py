"""The clock port."""

from datetime import datetime, timedelta
from typing import Protocol

CLOCK_SLACK = timedelta(seconds=5)
"""A moment up to this far ahead of the clock still counts as now: clocks of machines differ, and are set back a little.

No more than that: what lies further ahead was written, or asked for, by a clock that was wrong.
"""


class Clock(Protocol):
    """The database's time, which everybody shares."""

    def now(self) -> datetime:
        """What time it is."""
