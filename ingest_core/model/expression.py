"""Queries as small trees in one normal form: the plan holds the prototype, a slice adds its range.

Equal meanings have equal trees: nested ANDs and ORs are flat, children and values are sorted and stand once, NOT NOT
is gone, constants are folded, times are UTC milliseconds, codes are upper-case.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from dataclasses import field as attribute
from datetime import datetime
from typing import Any

from ingest_core.model.canonical import canonical_json
from ingest_core.model.codes import ExprOp, TermMatch
from ingest_core.model.id_range import IdRange
from ingest_core.model.instant import MILLISECOND, floor_to, format_instant, parse_instant
from ingest_core.model.window import Window

Json = dict[str, Any]
HALF_OPEN = "[)"
_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")
CLOSED = "[]"


@dataclass(frozen=True)
class Const:
    """All records, or none."""

    value: bool

    def json(self) -> Json:
        """The node as stored."""
        return {"op": ExprOp.CONST.value, "value": self.value}


@dataclass(frozen=True)
class Token:
    """Words looked for wherever the provider looks."""

    text: str
    match: TermMatch = TermMatch.ANY
    column: int | None = attribute(default=None, compare=False)

    def json(self) -> Json:
        """The node as stored."""
        return {"op": ExprOp.TOKEN.value, "text": self.text, "match": self.match.value}


@dataclass(frozen=True)
class Term:
    """A field that holds a value."""

    field: str
    value: str
    match: TermMatch = TermMatch.ANY
    column: int | None = attribute(default=None, compare=False)

    def json(self) -> Json:
        """The node as stored."""
        return {"op": ExprOp.TERM.value, "field": self.field, "value": self.value, "match": self.match.value}


@dataclass(frozen=True)
class In:
    """A field that holds one of several values."""

    field: str
    values: tuple[str, ...]
    column: int | None = attribute(default=None, compare=False)

    def json(self) -> Json:
        """The node as stored."""
        return {"op": ExprOp.IN.value, "field": self.field, "values": sorted(set(self.values))}


@dataclass(frozen=True)
class Range:
    """A field between two values; an end left open is None."""

    field: str
    start: datetime | str | None
    end: datetime | str | None
    bounds: str = HALF_OPEN
    column: int | None = attribute(default=None, compare=False)

    def json(self) -> Json:
        """The node as stored; half-open bounds go without saying."""
        bounds = {} if self.bounds == HALF_OPEN else {"bounds": self.bounds}
        return {"op": ExprOp.RANGE.value, "field": self.field, "from": _end(self.start), "to": _end(self.end), **bounds}


def window_range(field_name: str, window: Window) -> Range:
    """The range a slice adds."""
    return Range(field_name, window.start, window.end)


def part_range(part: IdRange) -> Range:
    """The range of a second field that a slice adds, both ends in."""
    start, end = (None if end is None else str(end) for end in (part.start, part.end))
    return Range(part.field, start, end, "[]")


@dataclass(frozen=True)
class Exists:
    """A field that holds anything at all."""

    field: str
    column: int | None = attribute(default=None, compare=False)

    def json(self) -> Json:
        """The node as stored."""
        return {"op": ExprOp.EXISTS.value, "field": self.field}


@dataclass(frozen=True)
class Not:
    """What the child is not."""

    child: "Node"

    def json(self) -> Json:
        """The node as stored."""
        return {"op": ExprOp.NOT.value, "child": self.child.json()}


@dataclass(frozen=True)
class Junction:
    """All of the children (AND), or any of them (OR)."""

    op: ExprOp
    children: tuple["Node", ...]

    def json(self) -> Json:
        """The node as stored."""
        return {"op": self.op.value, "children": [child.json() for child in self.children]}


Leaf = Const | Token | Term | In | Range | Exists
Node = Leaf | Not | Junction


def part_node(part: IdRange) -> Node:
    """What a part of a split window adds to its slice's query."""
    return Not(Exists(part.field)) if part.is_unset else part_range(part)


EVERYTHING = Const(value=True)
NOTHING = Const(value=False)


def both(*children: Node) -> Node:
    """What all of them say, in normal form."""
    return normalize(Junction(ExprOp.AND, children))


def normalize(node: Node) -> Node:
    """The one tree of this meaning."""
    if isinstance(node, Not):
        return _negate(normalize(node.child))
    if isinstance(node, Junction):
        return _join(node.op, [normalize(child) for child in node.children])
    if isinstance(node, In):
        values = tuple(sorted(set(node.values)))
        one_value = Term(node.field, values[0], TermMatch.EXACT, node.column) if len(values) == 1 else None
        return one_value or In(node.field, values, node.column)
    if isinstance(node, Range):
        return Range(node.field, _moment(node.start), _moment(node.end), node.bounds, node.column)
    return node


def _negate(child: Node) -> Node:
    if isinstance(child, Not):
        return child.child
    return Const(value=not child.value) if isinstance(child, Const) else Not(child)


def _join(op: ExprOp, children: list[Node]) -> Node:
    neutral, ruling = (EVERYTHING, NOTHING) if op == ExprOp.AND else (NOTHING, EVERYTHING)
    flat = {canonical_json(child.json()): child for child in _flatten(op, children) if child != neutral}
    if ruling in flat.values():
        return ruling
    if not flat:
        return neutral
    ordered = tuple(flat[key] for key in sorted(flat))
    return ordered[0] if len(ordered) == 1 else Junction(op, ordered)


def _flatten(op: ExprOp, children: Iterable[Node]) -> Iterator[Node]:
    for child in children:
        if isinstance(child, Junction) and child.op == op:
            yield from child.children
        else:
            yield child


def _moment(value: datetime | str | None) -> datetime | str | None:
    return floor_to(value, MILLISECOND) if isinstance(value, datetime) else value


def _end(value: datetime | str | None) -> str | None:
    return format_instant(floor_to(value, MILLISECOND)) if isinstance(value, datetime) else value


def from_json(value: Json) -> Node:
    """The node a stored value stands for."""
    op = ExprOp(value["op"])
    if op in (ExprOp.AND, ExprOp.OR):
        return Junction(op, tuple(from_json(child) for child in value["children"]))
    if op == ExprOp.NOT:
        return Not(from_json(value["child"]))
    return _leaf(op, value)


def _leaf(op: ExprOp, value: Json) -> Leaf:
    if op == ExprOp.CONST:
        return Const(value=value["value"])
    if op == ExprOp.TOKEN:
        return Token(value["text"], TermMatch(value["match"]))
    if op == ExprOp.TERM:
        return Term(value["field"], value["value"], TermMatch(value["match"]))
    if op == ExprOp.IN:
        return In(value["field"], tuple(value["values"]))
    if op == ExprOp.EXISTS:
        return Exists(value["field"])
    start, end = (_read_end(value[name]) for name in ("from", "to"))
    return Range(value["field"], start, end, value.get("bounds", HALF_OPEN))


def _read_end(text: str | None) -> datetime | str | None:
    return parse_instant(text) if text and _INSTANT.fullmatch(text) else text


def values_of(expression: Json, field_name: str) -> tuple[str, ...]:
    """The values a query that must hold whole asks of a field; none where it asks nothing of it."""
    node = from_json(expression)
    parts = node.children if isinstance(node, Junction) and node.op == ExprOp.AND else (node,)
    for part in parts:
        if isinstance(part, In) and part.field == field_name:
            return part.values
        if isinstance(part, Term) and part.field == field_name:
            return (part.value,)
    return ()


def localize(prototype: Json, bounds: Range) -> Json:
    """The prototype narrowed to one slice, in normal form."""
    return both(from_json(prototype), bounds).json()
