"""Which works exist, in which versions, and when each appears: a function of the seed."""

import random
import zlib
from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from deployments.sandbox.schedule import Slot, slots
from deployments.sandbox.settings import Settings

REINDEXED_SHARE = 0.10
MOST_REINDEXINGS = 3


@dataclass(slots=True, eq=False)
class Version:
    """One state of one work, served from `at_ms` until the next version takes over."""

    work: int
    number: int
    at_ms: int
    superseded_at_ms: int | None = None

    def visible(self, now_ms: int) -> bool:
        """True while this is the version a provider would serve."""
        return self.at_ms <= now_ms and (self.superseded_at_ms is None or self.superseded_at_ms > now_ms)


class Corpus:
    """Every version of every work, in order of index time."""

    def __init__(self, settings: Settings) -> None:
        self.seed = settings.seed
        self._histories = [_history(settings.seed, work, slot) for work, slot in enumerate(slots(settings))]
        self._timeline = sorted((v for history in self._histories for v in history), key=_moment)

    def __len__(self) -> int:
        return len(self._histories)

    def window(self, from_ms: int | None, to_ms: int | None, now_ms: int) -> list[Version]:
        """The versions visible now with index time in `[from, to)`, oldest first."""
        first = 0 if from_ms is None else self._place(from_ms)
        last = len(self._timeline) if to_ms is None else self._place(to_ms)
        return [v for v in self._timeline[first:last] if v.visible(now_ms)]

    def current(self, work: int, now_ms: int) -> Version | None:
        """The work's version visible now."""
        return next((v for v in self._histories[work] if v.visible(now_ms)), None)

    def edition(self, now_ms: int) -> tuple[int, int]:
        """How many versions there are, and have appeared: while both stay, the same versions are visible."""
        return len(self._timeline), self._place(now_ms + 1)

    def draw(self, name: object) -> int:
        """A steady number for the name, unrelated to time."""
        return zlib.crc32(f"{self.seed}:{name}".encode())

    def touch(self, work: int, now_ms: int) -> Version:
        """Index the work anew at this instant; the version visible before vanishes."""
        history = self._histories[work]
        version = Version(work=work, number=len(history) + 1, at_ms=now_ms)
        insort(history, version, key=_instant)
        insort(self._timeline, version, key=_instant)
        _chain(history)
        return version

    def add(self, at_ms: int) -> Version:
        """A new work, as if it had been indexed at this instant."""
        version = Version(work=len(self._histories), number=1, at_ms=at_ms)
        self._histories.append([version])
        insort(self._timeline, version, key=_instant)
        return version

    def _place(self, ms: int) -> int:
        return bisect_left(self._timeline, ms, key=_instant)


def _history(seed: int, work: int, slot: Slot) -> list[Version]:
    """The versions of one work, drawn from the seed and the work's number alone, all within its slot."""
    draw = random.Random(f"{seed}:{work}")
    history = [Version(work, number, at_ms) for number, at_ms in enumerate(_index_times(slot, draw), start=1)]
    _chain(history)
    return history


def _index_times(slot: Slot, draw: random.Random) -> Iterator[int]:
    from_ms, until_ms = slot
    at_ms = draw.randrange(from_ms, until_ms)
    yield at_ms
    if draw.random() < REINDEXED_SHARE:
        for _ in range(draw.randint(1, MOST_REINDEXINGS)):
            if at_ms + 1 < until_ms:
                at_ms = draw.randrange(at_ms + 1, until_ms)
                yield at_ms


def _chain(history: list[Version]) -> None:
    for earlier, later in pairwise(history):
        earlier.superseded_at_ms = later.at_ms


def _instant(version: Version) -> int:
    return version.at_ms


def _moment(version: Version) -> tuple[int, int, int]:
    return version.at_ms, version.work, version.number
