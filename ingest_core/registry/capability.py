"""What a provider can be asked: every leaf of a query is held against the source's capabilities."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ingest_core.model.codes import ExprOp, FieldType, TermMatch
from ingest_core.model.expression import Const, Exists, In, Junction, Leaf, Node, Not, Range, Term, Token
from ingest_core.registry.bounds import BoundExceeded
from ingest_core.registry.patterns import compile_pattern
from ingest_core.registry.rows import Row

DEFAULT_MAX_LENGTH = 1000
DEFAULT_MAX_VALUES = 100
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_DATE = re.compile(r"[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True)
class Finding:
    """Something a query asks that the source cannot do."""

    message: str
    column: int | None


def check_query(
    node: Node, fields: Mapping[str, FieldType], capabilities: Mapping[str | None, Row]
) -> Iterator[Finding]:
    """Everything in the query that the source cannot do; nothing when it can do it all."""
    yield from _walk(node, fields, capabilities, negated=False)


def _walk(
    node: Node, fields: Mapping[str, FieldType], capabilities: Mapping[str | None, Row], *, negated: bool
) -> Iterator[Finding]:
    if isinstance(node, Not):
        yield from _walk(node.child, fields, capabilities, negated=True)
    elif isinstance(node, Junction):
        for child in node.children:
            yield from _walk(child, fields, capabilities, negated=negated)
    elif not isinstance(node, Const):
        yield from _leaf(node, fields, capabilities, negated=negated)


def _leaf(
    node: Leaf, fields: Mapping[str, FieldType], capabilities: Mapping[str | None, Row], *, negated: bool
) -> Iterator[Finding]:
    column = getattr(node, "column", None)
    name = getattr(node, "field", None)
    if name is not None and name not in fields:
        yield Finding(f"unknown field {name!r}; known: {', '.join(sorted(fields)) or 'none'}", column)
        return
    capability = capabilities.get(name)
    called = f"field {name!r}" if name else "free words"
    if capability is None:
        yield Finding(f"{called} cannot be asked for here", column)
        return
    for message in _findings(node, capability, fields.get(name or "", FieldType.TEXT), negated=negated):
        yield Finding(f"{called}: {message}", column)


def _findings(node: Leaf, capability: Row, kind: FieldType, *, negated: bool) -> Iterator[str]:
    op = _OPS[type(node)]
    if op.value not in capability["ops"]:
        yield f"{op} is not among {', '.join(capability['ops'])}"
        return
    if negated and capability.get("negatable") is False:
        yield "cannot be negated"
    if isinstance(node, Term | Token):
        yield from _match_findings(node.match, capability)
    if isinstance(node, In) and len(node.values) > (capability.get("max_values") or DEFAULT_MAX_VALUES):
        yield f"{len(node.values)} values are more than {capability.get('max_values') or DEFAULT_MAX_VALUES}"
    for value in _values(node):
        yield from _value_findings(value, capability)
    if isinstance(node, Range):
        yield from _range_findings(node, kind)


def _match_findings(match: TermMatch, capability: Row) -> Iterator[str]:
    allowed = capability.get("matches")
    if allowed and match.value not in allowed:
        ways = {"ANY": "field:word", "PHRASE": 'field:"a phrase"', "EXACT": "field:=value"}
        yield f"a match of kind {match} is not possible; write {' or '.join(ways[one] for one in allowed)}"


def _value_findings(value: str, capability: Row) -> Iterator[str]:
    longest = capability.get("max_length") or DEFAULT_MAX_LENGTH
    if len(value) > longest:
        yield f"a value of {len(value)} characters is longer than {longest}"
    if _CONTROL.search(value):
        yield f"{value!r} holds control characters"
    if not any(char.isalnum() for char in value):
        yield f"{value!r} holds no letter or digit"
    pattern = capability.get("term_pattern")
    if pattern:
        yield from _pattern_findings(value, pattern)


def _pattern_findings(value: str, pattern: str) -> Iterator[str]:
    try:
        matches = compile_pattern(pattern).fullmatch(value)
    except BoundExceeded as error:
        yield f"{value!r} cannot be checked: {error}"
    else:
        if not matches:
            yield f"{value!r} does not match {pattern}"


def _range_findings(node: Range, kind: FieldType) -> Iterator[str]:
    pattern = {FieldType.DATE: _DATE, FieldType.DATETIME: _DATE, FieldType.NUMBER: _NUMBER}.get(kind)
    if pattern is None:
        yield f"a range needs a DATE, DATETIME or NUMBER field, this is {kind}"
        return
    for end in (node.start, node.end):
        other_kind = isinstance(end, datetime) and kind != FieldType.DATETIME
        if other_kind or (isinstance(end, str) and not pattern.fullmatch(end)):
            yield f"{str(end)!r} is not a {kind}"


def _values(node: Leaf) -> list[str]:
    if isinstance(node, Term):
        return [node.value]
    if isinstance(node, Token):
        return [node.text]
    return list(node.values) if isinstance(node, In) else []


_OPS: dict[type[Any], ExprOp] = {
    Token: ExprOp.TOKEN,
    Term: ExprOp.TERM,
    In: ExprOp.IN,
    Range: ExprOp.RANGE,
    Exists: ExprOp.EXISTS,
}
