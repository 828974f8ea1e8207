"""The text syntax of queries: `tiab:"heart failure" AND NOT pub_type:review`.

word "a phrase"            words wherever the provider looks; side by side means AND
field:word field:"phrase"  a field that holds them
field:=value               the field is exactly this
field:(a, b, "c d")        one of these
field:[2020 TO 2024]       between, both ends included; * leaves an end open
field:*                    the field holds anything
AND OR NOT ( )             NOT binds closest, then AND, then OR
"""

import re
from dataclasses import dataclass
from datetime import datetime

from ingest_core.model.codes import ExprOp, TermMatch
from ingest_core.model.errors import BadInput
from ingest_core.model.expression import CLOSED, Exists, In, Junction, Node, Not, Range, Term, Token, normalize
from ingest_core.model.instant import parse_instant

MAX_QUERY_CHARS = 10_000
MAX_DEPTH = 50

_LEXEME = re.compile(
    r"""(?P<space>\s+)|(?P<quoted>"(?:[^"\\]|\\.)*")|(?P<field>[a-z][a-z0-9_]*):|(?P<mark>[()\[\],=*])"""
    r"""|(?P<word>[^\s()\[\],="*:\\]+(?:[=*:][^\s()\[\],="\\]*)?)""",
    re.DOTALL,
)
_KEYWORDS = {"AND", "OR", "NOT", "TO"}


@dataclass(frozen=True)
class _Lexeme:
    kind: str
    text: str
    column: int


def parse_query(text: str, where: str = "--query") -> Node:
    """The query in normal form; BadInput points at the column."""
    if len(text) > MAX_QUERY_CHARS:
        raise BadInput("QUERY_INVALID", f"{len(text)} characters are too many; at most {MAX_QUERY_CHARS}", where=where)
    return normalize(_Parser(text, where).query())


def query_error(text: str, column: int, message: str, where: str) -> BadInput:
    """The problem, and a mark below its place."""
    line = re.sub(r"[\r\n\t\v\f\x1c-\x1e\x85\u2028\u2029]", " ", text)
    return BadInput(
        "QUERY_INVALID",
        f"column {column}: {message}\n  {line}\n  {' ' * (column - 1)}^",
        where=where,
        remedy='write it as in  title:"heart failure" AND NOT type:review',
    )


class _Parser:
    """Recursive descent over the lexemes."""

    def __init__(self, text: str, where: str) -> None:
        self._text = text
        self._where = where
        self._lexemes = list(self._split())
        self._at = 0
        self._depth = 0

    def _split(self) -> list[_Lexeme]:
        found: list[_Lexeme] = []
        at = 0
        while at < len(self._text):
            match = _LEXEME.match(self._text, at)
            if match is None:
                raise self._error(at + 1, self._unexpected(at))
            kind = str(match.lastgroup)
            if kind != "space":
                content = match.group(kind)
                if (
                    content == "("
                    and found
                    and found[-1].kind in ("word", "quoted")
                    and not self._text[at - 1].isspace()
                ):
                    raise self._error(at + 1, "a value with parentheses stands in quotes")
                keyword = kind == "word" and content in _KEYWORDS
                found.append(_Lexeme("keyword" if keyword else kind, content, at + 1))
            at = match.end()
        return found

    def _unexpected(self, at: int) -> str:
        return "this quote is never closed" if self._text[at] == '"' else f"unexpected {self._text[at]!r}"

    def _error(self, column: int, message: str) -> BadInput:
        return query_error(self._text, column, message, self._where)

    def _peek(self, *texts: str) -> _Lexeme | None:
        lexeme = self._lexemes[self._at] if self._at < len(self._lexemes) else None
        wanted = lexeme and lexeme.kind in ("keyword", "mark") and lexeme.text in texts
        return lexeme if wanted else None

    def _take(self, *texts: str) -> _Lexeme | None:
        lexeme = self._peek(*texts)
        self._at += lexeme is not None
        return lexeme

    def _need(self, text: str, after: str) -> None:
        if self._take(text) is None:
            raise self._error(self._column(), f"expected {text!r} {after}")

    def _column(self) -> int:
        return self._lexemes[self._at].column if self._at < len(self._lexemes) else len(self._text) + 1

    def query(self) -> Node:
        node = self._or()
        if self._at < len(self._lexemes):
            raise self._error(self._column(), f"unexpected {self._lexemes[self._at].text!r}")
        return node

    def _or(self) -> Node:
        children = [self._and()]
        while self._take("OR"):
            children.append(self._and())
        return children[0] if len(children) == 1 else Junction(ExprOp.OR, tuple(children))

    def _and(self) -> Node:
        children = [self._not()]
        while self._take("AND") or self._more():
            children.append(self._not())
        return children[0] if len(children) == 1 else Junction(ExprOp.AND, tuple(children))

    def _more(self) -> bool:
        return self._at < len(self._lexemes) and self._peek("OR", ")", ",", "]", "TO") is None

    def _not(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(self._column(), f"nested deeper than {MAX_DEPTH}")
        node = Not(self._not()) if self._take("NOT") else self._primary()
        self._depth -= 1
        return node

    def _primary(self) -> Node:
        if opened := self._take("("):
            node = self._or()
            self._need(")", f"for the one opened at column {opened.column}")
            return node
        if self._at < len(self._lexemes) and self._lexemes[self._at].kind == "field":
            self._at += 1
            return self._field(self._lexemes[self._at - 1])
        lexeme = self._value("a word, a phrase or field:value")
        return Token(_content(lexeme), _match(lexeme), lexeme.column)

    def _field(self, name: _Lexeme) -> Node:
        if self._take("("):
            return self._one_of(name)
        if self._take("["):
            return self._between(name)
        if self._take("*"):
            return Exists(name.text, name.column)
        exact = self._take("=")
        lexeme = self._value(f"a value for {name.text!r}")
        return Term(name.text, _content(lexeme), TermMatch.EXACT if exact else _match(lexeme), name.column)

    def _one_of(self, name: _Lexeme) -> Node:
        values = [_content(self._value("a value"))]
        while self._take(","):
            values.append(_content(self._value("a value after ','")))
        self._need(")", f"after the values of {name.text!r}")
        return In(name.text, tuple(values), name.column)

    def _between(self, name: _Lexeme) -> Node:
        start = self._end("a lower end")
        self._need("TO", f"between the ends of {name.text!r}")
        end = self._end("an upper end")
        self._need("]", f"after the ends of {name.text!r}")
        if start is None and end is None:
            return Exists(name.text, name.column)
        return Range(name.text, start, end, CLOSED, name.column)

    def _end(self, what: str) -> datetime | str | None:
        if self._take("*"):
            return None
        lexeme = self._value(what)
        text = _content(lexeme)
        if "T" not in text:
            return text
        try:
            return parse_instant(text)
        except BadInput as error:
            raise self._error(lexeme.column, error.message) from error

    def _value(self, expected: str) -> _Lexeme:
        lexeme = self._lexemes[self._at] if self._at < len(self._lexemes) else None
        if lexeme is None or lexeme.kind not in ("word", "quoted"):
            raise self._error(self._column(), f"expected {expected}")
        if lexeme.text == '""':
            raise self._error(lexeme.column, "nothing stands between the quotes")
        self._at += 1
        return lexeme


def _content(lexeme: _Lexeme) -> str:
    return re.sub(r"\\(.)", r"\1", lexeme.text[1:-1], flags=re.DOTALL) if lexeme.kind == "quoted" else lexeme.text


def _match(lexeme: _Lexeme) -> TermMatch:
    return TermMatch.PHRASE if lexeme.kind == "quoted" else TermMatch.ANY
