"""The clauses of a Lucene query, and the documents they are asked of."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from deployments.sandbox.logic import Condition, Dated

WORD = re.compile(r"\w+")


class Document(Dated, Protocol):
    """What a search index knows of one record."""

    def values(self, field: str | None) -> Iterable[str]:
        """The texts of a field; without a field those a plain search looks into."""

    def exact(self, field: str | None) -> bool:
        """True when the field is found by its whole value alone."""


@dataclass(frozen=True, slots=True)
class Everything:
    """Finds every document."""

    def fits(self, document: Document) -> bool:
        """Always."""
        return True


@dataclass(frozen=True, slots=True)
class Present:
    """A field with any value at all."""

    field: str | None

    def fits(self, document: Document) -> bool:
        """True when the field has one."""
        return any(True for _ in document.values(self.field))


@dataclass(frozen=True, slots=True)
class Phrase:
    """A word, or words in a row, in a field."""

    field: str | None
    text: str

    def fits(self, document: Document) -> bool:
        """True when one of the field's values has them; an unknown field has none, and that is no error."""
        values = document.values(self.field)
        if document.exact(self.field):
            return any(value == self.text for value in values)
        wanted = words(self.text)
        return bool(wanted) and any(_in_a_row(words(value), wanted) for value in values)


Clause = Condition[Document]


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[str, ...]:
    """The text as it is indexed: its words in lower case."""
    return tuple(WORD.findall(text.lower()))


def _in_a_row(found: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    length = len(wanted)
    return any(found[place : place + length] == wanted for place in range(len(found) - length + 1))
