"""What esearch searches: the records in view, in groups a query picks and combines as sets."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import compress
from operator import or_
from typing import Generic, TypeVar

from deployments.sandbox.corpus import Version
from deployments.sandbox.instant import DAY_MS, round_down
from deployments.sandbox.present import Present
from deployments.sandbox.pubmed.catalogue import Catalogue
from deployments.sandbox.pubmed.template import TEMPLATES, Template

K = TypeVar("K")
# A set of places, one bit each: two large ones are combined in microseconds.
Places = int
NOWHERE: Places = 0
SELECTED = bytes.maketrans(b"01", b"\x00\x01")


@dataclass(frozen=True, slots=True)
class Facts:
    """What the index knows of a record."""

    pmid: int
    template: Template
    entered_ms: int
    version: Version


class Groups(Generic[K]):
    """The places that have something in common: few groups, however many places."""

    def __init__(self, keys: Sequence[K]) -> None:
        bits: defaultdict[K, bytearray] = defaultdict(lambda: bytearray(len(keys) // 8 + 1))
        for place, key in enumerate(keys):
            bits[key][place // 8] |= 1 << place % 8
        self._places: dict[K, Places] = {key: int.from_bytes(found, "little") for key, found in bits.items()}

    def where(self, holds: Callable[[K], bool]) -> Places:
        """The places of every group this holds for."""
        return reduce(or_, (places for key, places in self._places.items() if holds(key)), NOWHERE)


class Listing:
    """Records, the highest number first; a place is where in this order one stands."""

    def __init__(self, records: Iterable[Facts]) -> None:
        self._records = sorted(records, key=_downwards)
        self.everywhere: Places = (1 << len(self._records)) - 1
        self.templates = Groups([record.template for record in self._records])
        self.entered = Groups([record.entered_ms for record in self._records])
        # PubMed searches by days: what changed on one is found together or not at all.
        self.modified = Groups([round_down(record.version.at_ms, DAY_MS) for record in self._records])

    def numbered(self, lowest: int, highest: int) -> Places:
        """The places of the records with these numbers, both ends included."""
        first, last = (bisect_left(self._records, place, key=_downwards) for place in (-highest, 1 - lowest))
        return (1 << last) - (1 << first) if first < last else NOWHERE

    def at(self, places: Places) -> list[Facts]:
        """The records at these places, in order."""
        return list(compress(self._records, f"{places:b}".encode().translate(SELECTED)[::-1]))


class Index:
    """Lists what can be seen now, anew only when that has changed."""

    def __init__(self, present: Present, catalogue: Catalogue) -> None:
        self._present = present
        self._catalogue = catalogue
        self._listed: tuple[tuple[int, int], Listing] | None = None

    def listing(self) -> Listing:
        """The records visible now."""
        edition = self._present.edition()
        if self._listed is None or self._listed[0] != edition:
            self._listed = edition, Listing(self._facts(version) for version in self._present.window())
        return self._listed[1]

    def _facts(self, version: Version) -> Facts:
        work = version.work
        return Facts(self._catalogue.pmid(work), TEMPLATES.of(work), self._catalogue.entered_ms(work), version)


def _downwards(record: Facts) -> int:
    return -record.pmid
