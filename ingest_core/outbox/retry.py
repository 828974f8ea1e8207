"""When a message that failed is tried again, and when no more."""

from datetime import timedelta

MAX_REFUSALS = 10
"""Attempts after which a refused message is DEAD: about eight minutes."""

MAX_ATTEMPTS = 100
"""Attempts after any other failure: about a day."""

FIRST_WAIT = timedelta(seconds=1)
LONGEST_WAIT = timedelta(minutes=15)


def wait_after(attempts: int, retry_after: timedelta | None = None) -> timedelta:
    """Twice as long each time, within bounds, and not shorter than what was asked for."""
    doublings: int = min(attempts - 1, 20)
    wait = min(FIRST_WAIT * (1 << doublings), LONGEST_WAIT)
    return max(wait, retry_after or wait)


def is_last(attempts: int, *, refused: bool) -> bool:
    """Whether a message with this number of failures is DEAD."""
    return attempts >= (MAX_REFUSALS if refused else MAX_ATTEMPTS)
