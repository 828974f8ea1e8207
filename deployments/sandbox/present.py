"""The corpus as it is now."""

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from deployments.sandbox.clock import SandboxClock
from deployments.sandbox.corpus import Corpus, Version
from deployments.sandbox.instant import round_up

P = TypeVar("P", bound=tuple[Any, ...])


@dataclass(frozen=True, slots=True)
class Present:
    """What of the corpus can be seen at the sandbox's time."""

    corpus: Corpus
    clock: SandboxClock

    def now_ms(self) -> int:
        """The sandbox's time."""
        return self.clock.now_ms()

    def window(self, from_ms: int | None = None, to_ms: int | None = None, unit_ms: int = 1) -> list[Version]:
        """The versions visible now whose index time, rounded down to the unit, is in `[from, to)`; oldest first."""
        return self.corpus.window(round_up(from_ms, unit_ms), round_up(to_ms, unit_ms), self.now_ms())

    def edition(self) -> tuple[int, int]:
        """A value that stays while the same versions can be seen."""
        return self.corpus.edition(self.now_ms())

    def current(self, work: int | None) -> Version | None:
        """The work's version visible now, if there is such a work."""
        return None if work is None else self.corpus.current(work, self.now_ms())

    def touch(self, versions: Iterable[Version]) -> None:
        """Index the works of these versions anew, at one instant."""
        now_ms = self.now_ms()
        for version in versions:
            self.corpus.touch(version.work, now_ms)

    def arrive(self, works: int, at_ms: int) -> None:
        """Add new works, as if they had been indexed at this instant."""
        for _ in range(works):
            self.corpus.add(at_ms)


def beyond(found: list[Version], after: P | None, place: Callable[[Version], P]) -> list[Version]:
    """What of a result in order of place comes after this one; all of it after None."""
    return found if after is None else found[bisect_right(found, after, key=place) :]
