"""What others installed for Patra to find."""

import sys
from functools import cache
from importlib.metadata import EntryPoint, entry_points


def installed(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group."""
    return _found(group, tuple(sys.path))


@cache
def _found(group: str, _path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Each package on the path is a file to read: a process does that once."""
    return tuple(entry_points(group=group))
