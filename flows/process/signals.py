"""Signals: the first asks for an end in good order."""

import _thread
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

INTERRUPTS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stopped_by_signals(stop: Event, signals: tuple[signal.Signals, ...] = INTERRUPTS) -> Iterator[None]:
    """Let the first of these signals end the work in good order; a second one ends it at once."""
    before = {number: signal.getsignal(number) for number in signals}

    def ask_to_stop(number: int, _frame: object) -> None:
        # Not from here: the thread this interrupts may be about to wait for the event, and hold its lock.
        _thread.start_new_thread(stop.set, ())
        signal.signal(number, before[signal.Signals(number)])

    for number in before:
        signal.signal(number, ask_to_stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
