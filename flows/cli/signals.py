"""Signals: the first asks for an end in good order."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event


@contextmanager
def stopped_by_signals(stop: Event) -> Iterator[None]:
    """Let the first SIGINT or SIGTERM end the work in good order; a second one ends it at once."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ask_to_stop(number: int, _frame: object) -> None:
        stop.set()
        signal.signal(number, before[signal.Signals(number)])

    for number in before:
        signal.signal(number, ask_to_stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
