"""Reads an Essie expression: OR binds least, then AND or nothing, then NOT."""

import re

from deployments.sandbox.clinicaltrials.expression import (
    TEXTS,
    Expression,
    Words,
    read_span,
)
from deployments.sandbox.clinicaltrials.failure import BadRequestError
from deployments.sandbox.logic import Without, all_of, read_tokens, some_of

MOST_TOKENS = 200
TOKEN = re.compile(
    r"\s*(?:(?P<sign>[()])|AREA\[(?P<area>\w+)\]|RANGE\[(?P<low>[^\[\],]*),(?P<high>[^\[\],]*)\]"
    r"|\"(?P<phrase>[^\"]*)\"|(?P<word>[^\s()\[\]\"]+))"
)


def read_expression(text: str, parameter: str, area: str) -> Expression:
    """The condition; words without an area are looked for in the one given."""

    def unreadable(place: int) -> BadRequestError:
        return BadRequestError(f"`{parameter}` has incorrect query syntax at position {place}")

    reader = _Reader(read_tokens(TOKEN, text, MOST_TOKENS, unreadable), parameter)
    found = reader.either(area)
    if reader.ahead is not None:
        raise BadRequestError(f"`{parameter}` has incorrect query syntax at {reader.ahead.group().strip()!r}")
    return found


class _Reader:
    def __init__(self, pieces: list[re.Match[str]], parameter: str) -> None:
        self._pieces = pieces
        self._parameter = parameter
        self._at = 0

    @property
    def ahead(self) -> re.Match[str] | None:
        return self._pieces[self._at] if self._at < len(self._pieces) else None

    def either(self, area: str) -> Expression:
        parts = [self._both(area)]
        while self._take("OR"):
            parts.append(self._both(area))
        return some_of(parts)

    def _both(self, area: str) -> Expression:
        parts = [self._one(area)]
        while self._take("AND") or not self._ends():
            parts.append(self._one(area))
        return all_of(parts)

    def _one(self, area: str) -> Expression:
        if self._take("NOT"):
            return Without(self._one(area))
        piece = self._next()
        if piece["sign"] == "(":
            found = self.either(area)
            if self._next()["sign"] != ")":
                raise self._wrong("missing )")
            return found
        if piece["area"]:
            return self._within(piece["area"])
        return Words(area, self._text(piece).lower())

    def _within(self, area: str) -> Expression:
        piece = self.ahead
        if piece is not None and piece["low"] is not None:
            self._at += 1
            return read_span(area, piece["low"], piece["high"], self._parameter)
        if area not in TEXTS:
            raise self._wrong(f"unknown area {area}")
        return self._one(area)

    def _text(self, piece: re.Match[str]) -> str:
        text = piece["phrase"] if piece["phrase"] is not None else piece["word"]
        if text is None or piece["word"] in {"AND", "OR"}:
            raise self._wrong(f"unexpected {piece.group().strip()!r}")
        return text

    def _ends(self) -> bool:
        return self.ahead is None or self.ahead["sign"] == ")" or self.ahead["word"] == "OR"

    def _take(self, word: str) -> bool:
        taken = self.ahead is not None and self.ahead["word"] == word
        self._at += taken
        return taken

    def _next(self) -> re.Match[str]:
        piece = self.ahead
        if piece is None:
            raise self._wrong("unexpected end")
        self._at += 1
        return piece

    def _wrong(self, what: str) -> BadRequestError:
        return BadRequestError(f"`{self._parameter}` has incorrect query syntax: {what}")
