"""This process's environment for a while: what it starts, and what is loaded meanwhile, sees another one."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def environment(wanted: Mapping[str, str]) -> Iterator[None]:
    """These variables, and none that would lead to another Prefect; afterwards all is as it was."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update({name: value for name, value in before.items() if not name.startswith("PREFECT_")} | dict(wanted))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
