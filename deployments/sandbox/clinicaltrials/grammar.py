"""Reads an Essie expression: OR binds least, then AND or nothing, then NOT."""

import re

from deployments.sandbox.clinicaltrials.expression import (
    TEXTS,
    UPDATED,
    All,
    Expression,
    Some,
    Span,
    Without,
    Words,
    read_span,
    tokens,
)
from deployments.sandbox.clinicaltrials.failure import BadRequestError


def read_expression(text: str, parameter: str, area: str) -> Expression:
    """The condition; words without an area are looked for in the one given."""
    reader = _Reader(tokens(text, parameter), parameter)
    found = reader.either(area)
    if reader.ahead is not None:
        raise BadRequestError(f"`{parameter}` has incorrect query syntax at {reader.ahead.group().strip()!r}")
    return found


def updated_span(expression: Expression) -> tuple[int | None, int | None]:
    """Bounds of the update time that no study found lies outside of."""
    if isinstance(expression, Span) and expression.area == UPDATED:
        return expression.from_ms, expression.to_ms
    if not isinstance(expression, All):
        return None, None
    spans = [updated_span(part) for part in expression.parts]
    return (
        max((low for low, _ in spans if low is not None), default=None),
        min((high for _, high in spans if high is not None), default=None),
    )


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
        return parts[0] if len(parts) == 1 else Some(tuple(parts))

    def _both(self, area: str) -> Expression:
        parts = [self._one(area)]
        while self._take("AND") or not self._ends():
            parts.append(self._one(area))
        return parts[0] if len(parts) == 1 else All(tuple(parts))

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
