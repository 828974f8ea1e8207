"""PubMed's query language, as much of it as a harvest needs: fields, phrases, ranges, AND, OR, NOT, parentheses."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce

from deployments.sandbox.provider import Refused
from deployments.sandbox.pubmed.fields import Finder, read_field
from deployments.sandbox.pubmed.listing import Listing, Places

TOKEN = re.compile(r'\(|\)|"[^"]*"(?:\s*\[[^\]]*\])?|[^\s()"\[\]]+(?:\s*\[[^\]]*\])?|\S')
OPERATORS: dict[str, Callable[[Finder, Finder], Finder]] = {
    "AND": lambda left, right: lambda listing: left(listing) & right(listing),
    "OR": lambda left, right: lambda listing: left(listing) | right(listing),
    "NOT": lambda left, right: lambda listing: left(listing) & ~right(listing),
}
MOST_NESTED = 50


class UnbalancedTermError(Refused):
    """Parentheses that do not fit: PubMed's search answers an error in a 200."""


@dataclass(slots=True)
class Term:
    """A query read: what it finds, and the fields it names that PubMed does not have."""

    finder: Finder | None
    unknown_fields: list[str] = field(default_factory=list)

    def find(self, listing: Listing) -> Places:
        """Where the records are that it finds; an empty query finds all."""
        return listing.everywhere if self.finder is None else self.finder(listing)


def read_term(text: str) -> Term:
    """The query of a `term`; UnbalancedTermError when its parentheses do not fit."""
    reader = _Reader(TOKEN.findall(text))
    finder = reader.expression(0)
    if reader.peek() is not None:
        raise UnbalancedTermError(text)
    return Term(finder, reader.unknown_fields)


class _Reader:
    """Reads tokens from left to right, as PubMed does: no operator binds closer than another."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0
        self.unknown_fields: list[str] = []

    def peek(self) -> str | None:
        """The next token, left in place."""
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def expression(self, depth: int) -> Finder | None:
        """Operands up to a closing parenthesis or the end; between two without an operator stands AND."""
        if depth > MOST_NESTED:
            raise UnbalancedTermError("nested too deep")
        found: Finder | None = None
        while self.peek() not in {None, ")"}:
            operator = self._take() if self.peek() in OPERATORS else "AND"
            operand = self._operand(depth)
            if operand is not None:
                found = operand if found is None else OPERATORS[operator](found, operand)
        return found

    def _operand(self, depth: int) -> Finder | None:
        if self.peek() in {None, ")", *OPERATORS}:
            return None
        if self.peek() != "(":
            return self._words()
        self._take()
        inner = self.expression(depth + 1)
        if self.peek() != ")":
            raise UnbalancedTermError("an open parenthesis")
        self._take()
        return inner

    def _words(self) -> Finder:
        """One quoted or tagged term, or bare words: those before a tag belong to it, others are each looked for."""
        words = [self._take()]
        while "[" not in words[-1] and not words[-1].startswith('"') and self._bare_word_follows():
            words.append(self._take())
        if words[0].startswith('"') or "[" in words[-1]:
            return self._tagged(" ".join(words))
        return reduce(OPERATORS["AND"], [self._tagged(word) for word in words])

    def _tagged(self, term: str) -> Finder:
        text, _, tag = term.partition("[")
        finder, known = read_field(text.strip(), tag.rstrip("]").strip())
        if not known:
            self.unknown_fields.append(tag.rstrip("]"))
        return finder

    def _bare_word_follows(self) -> bool:
        following = self.peek()
        return following not in {None, "(", ")", *OPERATORS} and not str(following).startswith('"')

    def _take(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1]
