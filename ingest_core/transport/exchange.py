"""The limits of an exchange under way: its deadline, and the bytes before its answer begins."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

MAX_HEAD_BYTES = 1_000_000
"""The most bytes before the body of an answer: its head, and every interim answer (100, 103) before it."""


class DeadlineExceeded(Exception):
    """The time of the whole exchange is over."""


class HeadTooLong(Exception):
    """An answer that does not begin within MAX_HEAD_BYTES."""


class Exchange:
    """One or more requests with one deadline, all sent by one thread.

    Every wait for the network asks `left` first, so an answer that arrives byte by byte cannot extend the deadline.
    """

    def __init__(self, seconds: float, setting: str, outer: "Exchange | None" = None) -> None:
        self.ends = time.monotonic() + seconds
        self.said = f"no complete answer within {seconds:g} s ({setting})"
        if outer is not None and outer.ends <= self.ends:  # the shorter one counts, under its own name
            self.ends, self.said = outer.ends, outer.said
        self._head_left: int | None = None

    def left(self) -> float:
        """The remaining seconds; DeadlineExceeded when there are none."""
        seconds = self.ends - time.monotonic()
        if seconds <= 0:
            raise DeadlineExceeded(self.said)
        return seconds

    def wait(self, timeout: float | None) -> float:
        """The longest that one operation may wait, in seconds."""
        left = self.left()
        return left if timeout is None else min(timeout, left)

    def head_begins(self) -> None:
        """A request is about to be sent: what is received from now on belongs to the head of its answer."""
        self._head_left = MAX_HEAD_BYTES

    def head_ends(self) -> None:
        """The final answer has begun: its body has a limit of its own."""
        self._head_left = None

    def received(self, size: int) -> None:
        """Count bytes from the network; HeadTooLong when the head has too many."""
        if self._head_left is not None:
            self._head_left -= size
            if self._head_left < 0:
                raise HeadTooLong(f"no answer begins within {MAX_HEAD_BYTES} bytes of head and interim answers")


class _Underway(threading.local):
    exchange: Exchange | None = None


_underway = _Underway()


@contextmanager
def exchange(seconds: float, setting: str) -> Iterator[Exchange]:
    """Everything this thread sends in the block has one deadline; a block inside another cannot extend it."""
    outer = _underway.exchange
    _underway.exchange = Exchange(seconds, setting, outer)
    try:
        yield _underway.exchange
    finally:
        _underway.exchange = outer


def underway() -> Exchange | None:
    """The exchange of this thread."""
    return _underway.exchange
