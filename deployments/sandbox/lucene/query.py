"""A small part of Lucene's query language: fields, ranges, phrases, AND, OR, NOT and parentheses."""

import re
from dataclasses import dataclass
from enum import StrEnum

from deployments.sandbox.logic import Span, Within, Without, all_of, some_of
from deployments.sandbox.lucene.clause import Clause, Everything, Phrase, Present
from deployments.sandbox.lucene.stamp import read_stamp

BOUND = r'(?:"[^"]*"|(?:\\.|[^\s"\]}])+)'
TOKEN = re.compile(
    rf"""
    (?P<space>\s+)
  | (?P<range>[\[{{]\s*(?P<low>{BOUND})\s+TO\s+(?P<high>{BOUND})\s*[\]}}])
  | (?P<phrase>"(?:\\.|[^"\\])*")
  | (?P<open>\()
  | (?P<close>\))
  | (?P<and>AND(?=[\s(]|$)|&&)
  | (?P<or>OR(?=[\s(]|$)|\|\|)
  | (?P<not>NOT(?=[\s(]|$)|!|-(?=\S))
  | (?P<plus>\+(?=\S))
  | (?P<field>(?:\\.|[\w.*-])+):
  | (?P<word>(?:\\.|[^\s()\[\]{{}}":^~\\])+)
    """,
    re.VERBOSE,
)
STARTS = frozenset({"range", "phrase", "open", "field", "word", "plus"})
MOST_NESTING = 50


class LuceneError(ValueError):
    """A query Lucene cannot read."""


class DateError(LuceneError):
    """A range whose bound is no date."""


class Operator(StrEnum):
    """What stands between two clauses with nothing between them."""

    AND = "and"
    OR = "or"


@dataclass(frozen=True, slots=True)
class Token:
    """One sign of a query."""

    kind: str
    text: str


def read_lucene(text: str, default: Operator) -> Clause:
    """The clause a query means; LuceneError when it means none."""
    tokens = _tokens(text)
    if not tokens:
        return Everything()
    parser = _Parser(text, tokens, default)
    clause = parser.either(None, 0)
    parser.finish()
    return clause


def _tokens(text: str) -> list[Token]:
    tokens, place = [], 0
    while place < len(text):
        found = TOKEN.match(text, place)
        if found is None or found.lastgroup is None:
            raise LuceneError(f"Failed to parse query [{text}]")
        kind = next(name for name, value in found.groupdict().items() if value is not None)
        if kind != "space":
            tokens.append(Token(kind, found[kind]))
        place = found.end()
    return tokens


class _Parser:
    """Reads tokens from left to right; OR binds less than AND."""

    def __init__(self, text: str, tokens: list[Token], default: Operator) -> None:
        self._text = text
        self._tokens = tokens
        self._default = default
        self._place = 0

    def either(self, field: str | None, depth: int) -> Clause:
        """Clauses of which one must hold."""
        if depth > MOST_NESTING:
            raise self._failure()
        parts = [self._every(field, depth)]
        while self._kind() == "or" or (self._default is Operator.OR and self._kind() in STARTS):
            self._skip("or")
            parts.append(self._every(field, depth))
        return some_of(parts)

    def finish(self) -> None:
        """Nothing may be left."""
        if self._place < len(self._tokens):
            raise self._failure()

    def _every(self, field: str | None, depth: int) -> Clause:
        parts = [self._one(field, depth)]
        while self._kind() in {"and", "not"} or (self._default is Operator.AND and self._kind() in STARTS):
            self._skip("and")
            parts.append(self._one(field, depth))
        return all_of(parts)

    def _one(self, field: str | None, depth: int) -> Clause:
        token = self._take()
        if token.kind == "not":
            return Without(self._one(field, depth + 1) if depth < MOST_NESTING else self._fail())
        if token.kind == "plus":
            token = self._take()
        if token.kind == "field":
            field, token = _plain(token.text), self._take()
        return self._value(token, field, depth)

    def _value(self, token: Token, field: str | None, depth: int) -> Clause:
        if token.kind == "open":
            inner = self.either(field, depth + 1)
            if self._take().kind != "close":
                raise self._failure()
            return inner
        if token.kind == "range" and field is not None:
            return Within(field, _span(token.text))
        if token.kind not in {"phrase", "word"}:
            raise self._failure()
        if token.text == "*":
            return Everything() if field == "*" else Present(field)
        return Phrase(field, _plain(token.text[1:-1] if token.kind == "phrase" else token.text))

    def _kind(self) -> str | None:
        return self._tokens[self._place].kind if self._place < len(self._tokens) else None

    def _skip(self, kind: str) -> None:
        self._place += self._kind() == kind

    def _take(self) -> Token:
        if self._place >= len(self._tokens):
            raise self._failure()
        self._place += 1
        return self._tokens[self._place - 1]

    def _fail(self) -> Clause:
        raise self._failure()

    def _failure(self) -> LuceneError:
        return LuceneError(f"Failed to parse query [{self._text}]")


def _span(text: str) -> Span:
    """`[` and `]` include the unit a bound names, `{` and `}` leave it out."""
    found = TOKEN.fullmatch(text)
    low, high = (_plain(found[name].strip('"')) for name in ("low", "high")) if found else ("", "")
    try:
        first = None if low == "*" else read_stamp(low)[text[0] == "{"]
        last = None if high == "*" else read_stamp(high)[text[-1] == "]"]
    except (ValueError, OverflowError) as error:
        raise DateError(str(error)) from error
    return Span(first, last)


def _plain(text: str) -> str:
    """The text without its escapes."""
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)
