"""Reads Europe PMC's query language, as far as it is simulated."""

import re
from datetime import date

from deployments.sandbox.europepmc.condition import UPDATED, Condition, Words, read_days
from deployments.sandbox.europepmc.failure import QueryFailureError
from deployments.sandbox.logic import Without, all_of, read_tokens, some_of

DATES = (UPDATED, "FIRST_IDATE")
TOKEN = re.compile(
    r"\s*(?:(?P<sign>[()])"
    r"|(?:(?P<field>[A-Za-z_]+):)?(?:\[(?P<first>\S+)\s+TO\s+(?P<last>\S+)\]|\"(?P<phrase>[^\"]*)\"|(?P<word>[^\s()\"\[\]]+)))"
)
MOST_DEPTH = 20


def read_condition(text: str) -> Condition:
    """The condition of a query; QueryFailureError when it cannot be read."""
    reader = _Reader(read_tokens(TOKEN, text, len(text), lambda place: _bad(text[place:].rstrip())))
    condition = reader.alternatives(0)
    if reader.peek() is not None:
        raise _bad(text)
    return condition


class _Reader:
    """Walks over the tokens: OR binds least, then AND, then NOT."""

    def __init__(self, tokens: list[re.Match[str]]) -> None:
        self._tokens = tokens
        self._at = 0

    def peek(self) -> str | None:
        """The sign or operator that comes next, `atom` for anything else, None at the end."""
        if self._at == len(self._tokens):
            return None
        token = self._tokens[self._at]
        operator = token["word"] if token["word"] in {"AND", "OR", "NOT"} and not token["field"] else None
        return token["sign"] or operator or "atom"

    def alternatives(self, depth: int) -> Condition:
        """`a OR b`."""
        parts = [self._conjunction(depth)]
        while self.peek() == "OR":
            self._at += 1
            parts.append(self._conjunction(depth))
        return some_of(parts)

    def _conjunction(self, depth: int) -> Condition:
        """`a AND b`, `a b` and `a NOT b`."""
        parts = [self._single(depth)]
        while self.peek() in {"AND", "NOT", "atom", "("}:
            self._at += self.peek() == "AND"
            parts.append(self._single(depth))
        return all_of(parts)

    def _single(self, depth: int) -> Condition:
        kind = self.peek()
        if kind not in {"NOT", "(", "atom"} or depth > MOST_DEPTH:
            raise _bad("" if kind is None else str(kind))
        token = self._tokens[self._at]
        self._at += 1
        if kind == "NOT":
            return Without(self._single(depth + 1))
        return self._group(depth + 1) if kind == "(" else _atom(token)

    def _group(self, depth: int) -> Condition:
        found = self.alternatives(depth)
        if self.peek() != ")":
            raise _bad("(")
        self._at += 1
        return found


def _atom(token: re.Match[str]) -> Condition:
    field = (token["field"] or "").upper()
    if field in DATES:
        single = token["phrase"] or token["word"]
        return read_days(field, _day(token["first"] or single), _day(token["last"] or single))
    return Words(field, (token["phrase"] or token["word"] or "").lower())


def _day(text: str | None) -> str:
    """The day as it is written; empty is open."""
    if text == "*":
        return ""
    try:
        return date.fromisoformat(text or "").isoformat()
    except ValueError:
        raise _bad(text or "") from None


def _bad(text: str) -> QueryFailureError:
    return QueryFailureError(404, f"Invalid query syntax near: {text}")
