"""The search fields of PubMed: which records a term with a tag such as `[UID]` finds."""

import re
from collections.abc import Callable

from deployments.sandbox.pubmed.form import read_number
from deployments.sandbox.pubmed.listing import NOWHERE, Listing, Places
from deployments.sandbox.pubmed.span import read_span

UIDS = frozenset({"uid", "pmid"})
TEXTS = frozenset({"tiab", "title/abstract", "ti", "title", "tw", "text word", "all", "all fields", ""})
TYPES = frozenset({"pt", "ptyp", "publication type"})
MODIFIED = frozenset({"mdat", "lr", "date - modification"})
ENTERED = frozenset({"edat", "date - entry", "crdt", "date - create"})
PUBLISHED = frozenset({"pdat", "dp", "date - publication"})

Finder = Callable[[Listing], Places]


def read_field(text: str, tag: str) -> tuple[Finder, bool]:
    """What the term finds; False beside it when PubMed has no such field and looks everywhere."""
    name = tag.lower()
    if name in UIDS:
        return _uids(text), True
    if name in MODIFIED | ENTERED | PUBLISHED:
        first, _, last = text.partition(":")
        return dated(name, first, last or first), True
    if name in TYPES:
        asked = text.strip('"').lower()
        return lambda listing: listing.templates.where(lambda template: asked in template.types), True
    if name == "sb":
        return (_everything if text.lower() == "all" else _nothing), True
    return _words(text), name in TEXTS


def dated(name: str, first: str, last: str) -> Finder:
    """A range of days, both ends included; what is no date finds nothing."""
    span = read_span(first, last)
    if span is None:
        return _nothing
    if name in MODIFIED:
        return lambda listing: listing.modified.where(span.holds)
    if name in PUBLISHED:
        return lambda listing: listing.templates.where(
            lambda template: template.published is not None and span.holds(template.published.from_ms)
        )
    return lambda listing: listing.entered.where(span.holds)


def _everything(listing: Listing) -> Places:
    return listing.everywhere


def _nothing(_: Listing) -> Places:
    return NOWHERE


def _uids(text: str) -> Finder:
    """One number, or a range of them, both ends included; what is none finds nothing."""
    first, _, last = text.partition(":")
    lowest, highest = read_number(first), read_number(last or first)
    if lowest is None or highest is None:
        return _nothing
    return lambda listing: listing.numbered(lowest, highest)


def _words(text: str) -> Finder:
    """The words in this order in the title or abstract; a star ends a word early."""
    asked = r"\W+".join(_word(word) for word in text.strip('"').lower().split())
    pattern = re.compile(rf"(?<!\w){asked}(?!\w)")
    return lambda listing: listing.templates.where(lambda template: pattern.search(template.words) is not None)


def _word(word: str) -> str:
    return rf"{re.escape(word[:-1])}\w*" if word.endswith("*") else re.escape(word)
