"""The records a provider's works are made of, as they are packed beside its code."""

import gzip
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cached_property
from importlib.resources import files
from typing import Any, Generic, TypeVar

import orjson

T = TypeVar("T")


def json_lines(text: bytes) -> Iterable[Any]:
    """The JSON documents of a text, one a line."""
    return map(orjson.loads, text.splitlines())


class Recording(Generic[T]):
    """Templates the works of the corpus repeat in turn; nothing is unpacked before it is asked for."""

    def __init__(
        self, package: str, name: str, read: Callable[[Any], T], split: Callable[[bytes], Iterable[Any]] = json_lines
    ) -> None:
        self._place = files(package) / name
        self._read = read
        self._split = split

    @cached_property
    def templates(self) -> tuple[T, ...]:
        """All of them, always in the same order."""
        return tuple(map(self._read, self._split(gzip.decompress(self._place.read_bytes()))))

    def of(self, work: int) -> T:
        """The template this work repeats."""
        return self.templates[work % len(self.templates)]

    def turn(self, work: int) -> int:
        """How often the work's template was repeated before."""
        return work // len(self.templates)


def update_flaw(updated: str | None) -> str | None:
    """Why no harvest can use this update time, if so."""
    if not updated:
        return "UPDATED_AT_MISSING"
    try:
        datetime.fromisoformat(updated)
    except ValueError:
        return "UPDATED_AT_INVALID"
    return None
