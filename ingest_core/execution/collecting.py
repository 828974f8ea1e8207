"""The garbage collector while pages are worked."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

RARE = 50_000
"""New objects between two looks: more than two pages of records are made of."""

_lock = Lock()
_before: list[tuple[int, int, int]] = []
"""How often it looked before the first of the tasks that are being worked, for each of them."""


@contextmanager
def relaxed_gc() -> Iterator[None]:
    """Let the collector look rarely: a page is tens of thousands of objects, none of them garbage before its time."""
    with _lock:
        before = _before[0] if _before else gc.get_threshold()
        _before.append(before)
        young, *older = before
        if 0 < young < RARE:  # not switched off
            gc.set_threshold(RARE, *older)
    try:
        yield
    finally:
        with _lock:
            _before.pop()
            if not _before:
                gc.set_threshold(*before)
