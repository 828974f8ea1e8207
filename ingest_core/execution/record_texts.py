"""Where the records of a JSON page stand, found by its strings, brackets and separators alone.

A record that no parser takes (NaN, a number of 5,000 digits, deep nesting, bytes that are not UTF-8) hides neither its
neighbours nor their texts. What stands between the records must still be a page: a list that is cut off, or whose
records are not separated by single commas, is not taken apart. Nesting costs no recursion here.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

_TOKEN = re.compile(rb'[ \t\r\n]*+(?:([\[{])|([\]}])|(,)|(:)|("[^"]*+")|([-+.0-9A-Za-z]++)|(\Z))')
_OPEN, _CLOSE, _COMMA, _COLON, _STRING, _WORD, _END = range(1, 8)
T = TypeVar("T")
Steps = Sequence[str | int]

Span = tuple[int, int]
"""The first byte of a record, and the one behind its last."""


class _Unbalanced(Exception):
    """The text is not made of strings, brackets and separators as JSON is."""


class _Token(NamedTuple):
    kind: int
    start: int
    end: int


def find_records(body: bytes, steps: Steps) -> list[Span] | None:
    """The places of the records in the list at the path; None where there is no such list, or no whole page."""
    try:
        return _Scan(body).find(steps)
    except _Unbalanced:
        return None


class _Scan:
    """Reads a text token by token; escapes are masked first, so that every quotation mark is a string's."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._masked = body.replace(b"\\\\", b"__").replace(b'\\"', b"__")
        self._tokens = self._read()

    def _read(self) -> Iterator[_Token]:
        at = 0
        while match := _TOKEN.match(self._masked, at):
            kind = match.lastindex or 0
            at = match.end()
            yield _Token(kind, *match.span(kind))
            if kind == _END:
                return
        raise _Unbalanced

    def _next(self) -> _Token:
        token = next(self._tokens, None)
        if token is None:
            raise _Unbalanced
        return token

    def find(self, steps: Steps) -> list[Span] | None:
        found = self._value(self._next(), steps)
        if self._next().kind != _END:
            raise _Unbalanced
        return found

    def _value(self, first: _Token, steps: Steps) -> list[Span] | None:
        """Read one value; the records, if the path leads to their list within it."""
        opening = self._body[first.start : first.end]
        if not steps and opening == b"[":
            return self._elements(lambda _, token: self._skip(token))
        if steps and isinstance(steps[0], str) and opening == b"{":
            return self._member(steps)
        if steps and isinstance(steps[0], int) and opening == b"[":
            return self._element(steps[0], steps[1:])
        self._skip(first)
        return None

    def _element(self, step: int, rest: Steps) -> list[Span] | None:
        """Read the rest of a list, of which one element leads to the records."""

        def visit(at: int, token: _Token) -> list[Span] | None:
            if at == step:
                return self._value(token, rest)
            self._skip(token)
            return None

        found = self._elements(visit)
        return found[step] if step < len(found) else None

    def _elements(self, visit: Callable[[int, _Token], T]) -> list[T]:
        """Read the rest of a list, each element by `visit`."""
        found: list[T] = []
        token = self._next()
        if token.kind == _CLOSE:
            return found
        while True:
            found.append(visit(len(found), token))
            separator = self._next().kind
            if separator == _CLOSE:
                return found
            if separator != _COMMA:
                raise _Unbalanced
            token = self._next()

    def _member(self, steps: Steps) -> list[Span] | None:
        """Read the rest of an object; of two equal keys the last one counts, as it does for parsers."""
        found = None
        token = self._next()
        while token.kind != _CLOSE:
            if token.kind != _STRING or self._next().kind != _COLON:
                raise _Unbalanced
            value = self._next()
            if self._key(token) == steps[0]:
                found = self._value(value, steps[1:])
            else:
                self._skip(value)
            token = self._next()
            if token.kind == _COMMA:
                token = self._next()
        return found

    def _key(self, token: _Token) -> str | None:
        try:
            return str(json.loads(self._body[token.start : token.end]))
        except ValueError:
            return None

    def _skip(self, first: _Token) -> Span:
        """Read one value of any kind and depth."""
        if first.kind not in (_OPEN, _STRING, _WORD):
            raise _Unbalanced
        last, depth = first, int(first.kind == _OPEN)
        while depth:
            last = self._next()
            if last.kind == _END:
                raise _Unbalanced
            depth += (last.kind == _OPEN) - (last.kind == _CLOSE)
        return first.start, last.end
