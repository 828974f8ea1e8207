"""Reads a `search_query`: AND and ANDNOT bind more than OR, and what has no operator between is OR."""

import re

from deployments.sandbox.arxiv.condition import (
    DATES,
    TEXTS,
    Category,
    Condition,
    Words,
    read_span,
)
from deployments.sandbox.arxiv.failure import QueryError
from deployments.sandbox.logic import Without, all_of, read_tokens, some_of

TOKEN = re.compile(
    r"\s*(?:(?P<sign>[()])|(?:(?P<field>[A-Za-z]+):)?"
    r"(?:\[(?P<low>[^\[\]\s]*)\s+TO\s+(?P<high>[^\[\]\s]*)\]|\"(?P<phrase>[^\"]*)\"|(?P<word>[^\s()\[\]\"]+)))"
)
OPERATORS = frozenset({"AND", "OR", "ANDNOT"})
MOST_TOKENS = 200


def read_condition(text: str) -> Condition:
    """The condition of a query; QueryError when it cannot be read."""
    reader = _Reader(read_tokens(TOKEN, text, MOST_TOKENS, _unreadable))
    found = reader.either()
    if reader.ahead is not None:
        raise QueryError("incorrect query syntax: unexpected )")
    return found


class _Reader:
    def __init__(self, pieces: list[re.Match[str]]) -> None:
        self._pieces = pieces
        self._at = 0

    @property
    def ahead(self) -> re.Match[str] | None:
        return self._pieces[self._at] if self._at < len(self._pieces) else None

    def either(self) -> Condition:
        parts = [self._both()]
        while self._take("OR") or not self._ends():
            parts.append(self._both())
        return some_of(parts)

    def _both(self) -> Condition:
        parts = [self._one()]
        while self._operator() in {"AND", "ANDNOT"}:
            negated = self._take("ANDNOT")
            self._at += not negated
            part = self._one()
            parts.append(Without(part) if negated else part)
        return all_of(parts)

    def _one(self) -> Condition:
        piece = self._next()
        if piece["sign"] == "(":
            found = self.either()
            if self._next()["sign"] != ")":
                raise QueryError("incorrect query syntax: missing )")
            return found
        return _term(piece)

    def _operator(self) -> str | None:
        word = None if self.ahead is None or self.ahead["field"] else self.ahead["word"]
        return word if word in OPERATORS else None

    def _take(self, operator: str) -> bool:
        taken = self._operator() == operator
        self._at += taken
        return taken

    def _ends(self) -> bool:
        return self.ahead is None or self.ahead["sign"] == ")"

    def _next(self) -> re.Match[str]:
        piece = self.ahead
        if piece is None or self._operator():
            raise QueryError("incorrect query syntax: term expected")
        self._at += 1
        return piece


def _term(piece: re.Match[str]) -> Condition:
    """One term; a field that does not exist is searched as `all`, without a word."""
    field = piece["field"] or "all"
    if field in DATES:
        return read_span(field, piece["low"] or piece["word"] or "", piece["high"] or "")
    text = piece["phrase"] if piece["phrase"] is not None else piece["word"]
    if text is None:
        raise QueryError(f"incorrect query syntax: unexpected {piece.group().strip()}")
    return Category(text) if field == "cat" else Words(field if field in TEXTS else "all", text.lower())


def _unreadable(place: int) -> QueryError:
    return QueryError(f"incorrect query syntax at position {place}")
