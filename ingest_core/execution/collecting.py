"""The garbage collector while pages are worked."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

RARE = 50_000
"""New objects between two looks: more than two pages of records are made of."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """Let the collector look rarely: a page is tens of thousands of objects, none of them garbage before its time."""
    young, *older = gc.get_threshold()
    if not 0 < young < RARE:  # switched off, or another worker's thread was here first
        yield
        return
    gc.set_threshold(RARE, *older)
    try:
        yield
    finally:
        gc.set_threshold(young, *older)
