"""Which record lies at which place of a result: withdrawn records leave places empty, an endless result goes on."""

from dataclasses import dataclass

from deployments.sandbox.corpus import Version
from deployments.sandbox.ways import Endless, Ways

FAR = 10**9
"""The length of a result without an end."""

FIRST_INVENTED = 50_000
"""Works of an endless result are numbered from here, far above those of the corpus."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A result as places; None is the place of a withdrawn record."""

    rows: list[Version | None]
    endless: Endless

    @property
    def length(self) -> int:
        """The number of places."""
        return FAR if self.endless is not Endless.NO and self.rows else len(self.rows)

    def between(self, begin: int, end: int, size: int) -> list[Version]:
        """The records at these places; `size` is the length of a page, in which a cycle comes round."""
        if self.endless is Endless.CYCLE and self.rows:
            begin %= -(-len(self.rows) // size) * size
            end = begin + size
        there = [row for row in self.rows[begin:end] if row is not None]
        if self.endless is not Endless.NEW or not self.rows:
            return there
        at_ms = max(row.at_ms for row in self.rows if row is not None)
        invented = range(max(begin, len(self.rows)), end)
        return [*there, *(Version(FIRST_INVENTED + place, 1, at_ms) for place in invented)]


def lay_out(result: list[Version], ways: Ways) -> Layout:
    """The result with a block of withdrawn records behind every `withdrawn_every` others."""
    rows: list[Version | None] = []
    for number, version in enumerate(result):
        if ways.withdrawn_every and number and number % ways.withdrawn_every == 0:
            rows += [None] * ways.withdrawn
        rows.append(version)
    return Layout(rows, ways.endless)
