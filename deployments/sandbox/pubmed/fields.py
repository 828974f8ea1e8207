"""The search fields of PubMed: what a tag such as `[UID]` asks of a record."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from deployments.sandbox.pubmed.form import read_number
from deployments.sandbox.pubmed.span import read_span
from deployments.sandbox.pubmed.template import Template

UIDS = frozenset({"uid", "pmid"})
TEXTS = frozenset({"tiab", "title/abstract", "ti", "title", "tw", "text word", "all", "all fields", ""})
TYPES = frozenset({"pt", "ptyp", "publication type"})
MODIFIED = frozenset({"mdat", "lr", "date - modification"})
ENTERED = frozenset({"edat", "date - entry", "crdt", "date - create"})
PUBLISHED = frozenset({"pdat", "dp", "date - publication"})


@dataclass(frozen=True, slots=True)
class Facts:
    """What the index knows of a record."""

    pmid: int
    template: Template
    modified_ms: int
    entered_ms: int


Test = Callable[[Facts], bool]


def read_test(text: str, tag: str) -> tuple[Test, bool]:
    """What the term asks; False beside it when PubMed has no such field and looks everywhere."""
    name = tag.lower()
    if name in UIDS:
        return _uids(text), True
    if name in MODIFIED | ENTERED | PUBLISHED:
        first, _, last = text.partition(":")
        return dated(name, first, last or first), True
    if name in TYPES:
        asked = text.strip('"').lower()
        return lambda facts: asked in facts.template.types, True
    if name == "sb":
        return (lambda _: text.lower() == "all"), True
    return _words(text), name in TEXTS


def dated(name: str, first: str, last: str) -> Test:
    """A range of days, both ends included; what is no date finds nothing."""
    span = read_span(first, last)
    if span is None:
        return lambda _: False
    if name in MODIFIED:
        return lambda facts: span.holds(facts.modified_ms)
    if name in PUBLISHED:
        return lambda facts: facts.template.published is not None and span.holds(facts.template.published.from_ms)
    return lambda facts: span.holds(facts.entered_ms)


def _uids(text: str) -> Test:
    first, _, last = text.partition(":")
    lowest, highest = read_number(first), read_number(last or first)
    if lowest is None or highest is None:
        return lambda _: False
    return lambda facts: lowest <= facts.pmid <= highest


def _words(text: str) -> Test:
    """The words in this order in the title or abstract; a star ends a word early."""
    asked = r"\W+".join(_word(word) for word in text.strip('"').lower().split())
    pattern = re.compile(rf"(?<!\w){asked}(?!\w)")
    return lambda facts: pattern.search(facts.template.words) is not None


def _word(word: str) -> str:
    return rf"{re.escape(word[:-1])}\w*" if word.endswith("*") else re.escape(word)
