"""Writing a query for a provider: as text, as parameters, or both; a value is always data."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from ingest_core.model.codes import ExprOp, TermMatch
from ingest_core.model.errors import BadInput
from ingest_core.model.expression import (
    EVERYTHING,
    Const,
    Exists,
    In,
    Junction,
    Leaf,
    Node,
    Not,
    Range,
    Term,
    Token,
)
from ingest_core.model.instant import EPOCH
from ingest_core.model.spec import RuleSpec
from ingest_core.model.template import parse_template


@dataclass(frozen=True)
class Rendered:
    """A query as the provider takes it."""

    text: str | None = None
    params: dict[str, str] = field(default_factory=dict)


EPOCHS = {"epoch_seconds": timedelta(seconds=1), "epoch_millis": timedelta(milliseconds=1)}
"""Formats that count from 1970."""


@dataclass(frozen=True)
class TimeText:
    """How instants are written."""

    format: str
    time_zone: str = "UTC"

    def write(self, value: datetime | str | None) -> str | None:
        """An instant in the provider's zone and format; a text stays what it is."""
        if not isinstance(value, datetime):
            return value
        if self.format in EPOCHS:
            return str((value - EPOCH) // EPOCHS[self.format])
        return value.astimezone(UTC if self.time_zone == "UTC" else ZoneInfo(self.time_zone)).strftime(self.format)


class Unrenderable(Exception):
    """A query this source's rules cannot write."""

    def __init__(self, message: str, column: int | None = None) -> None:
        super().__init__(message)
        self.column = column


class Renderer:
    """One source's rules."""

    def __init__(self, rules: Iterable[RuleSpec], times: TimeText) -> None:
        self._rules = {(rule.op, rule.field, rule.match): rule for rule in rules}
        self._times = times

    def render(self, node: Node) -> Rendered:
        """The query; Unrenderable where the rules do not reach."""
        texts: list[Node] = []
        params: dict[str, str] = {}
        used: set[str | None] = set()
        for part in _conjuncts(self._spelled_out(node)):
            rule = None if isinstance(part, Not | Junction | Const) else self._rule(part)
            if rule and rule.params:
                assert not isinstance(part, Not | Junction)
                if rule.field in used:
                    raise Unrenderable(f"{_name(part)}: the field can be asked for only once here", _column(part))
                used.add(rule.field)
                for name, template in rule.params.items():
                    text = self._fill(rule, template, part)
                    params[name] = f"{params[name]}{rule.joiner}{text}" if name in params else text
            elif part != EVERYTHING:
                texts.append(part)
        return Rendered(self._and(texts) if texts else None, params)

    def _spelled_out(self, node: Node) -> Node:
        """One of several values is any of them, where no rule says it shorter."""
        if isinstance(node, Not):
            return Not(self._spelled_out(node.child))
        if isinstance(node, Junction):
            return Junction(node.op, tuple(map(self._spelled_out, node.children)))
        if isinstance(node, In) and (ExprOp.IN, node.field, None) not in self._rules:
            terms = tuple(Term(node.field, value, TermMatch.EXACT, node.column) for value in node.values)
            return terms[0] if len(terms) == 1 else Junction(ExprOp.OR, terms)
        return node

    def _and(self, parts: Iterable[Node]) -> str:
        """What must be so, then what must not: providers know `a NOT b`, not all know `NOT b`."""
        parts = list(parts)
        wanted = [part for part in parts if not isinstance(part, Not)]
        unwanted = [part.child for part in parts if isinstance(part, Not)]
        texts = [self._text(part) for part in wanted] or [self._word(ExprOp.CONST, "say everything, which NOT needs")]
        text = self._word(ExprOp.AND, "combine with AND").join(texts) if len(texts) > 1 else texts[0]
        return text + "".join(self._word(ExprOp.NOT, "negate") + self._text(part) for part in unwanted)

    def _text(self, node: Node) -> str:
        if isinstance(node, Not):
            return f"({self._and((node,))})"
        if isinstance(node, Junction):
            if node.op == ExprOp.AND:
                return f"({self._and(node.children)})"
            return "(" + self._word(ExprOp.OR, "combine with OR").join(map(self._text, node.children)) + ")"
        if isinstance(node, Const):
            if node == EVERYTHING:
                return self._word(ExprOp.CONST, "say everything")
            raise Unrenderable("CONST false asks for nothing: the query contradicts itself")
        rule = self._rule(node)
        if rule.template is None:
            raise Unrenderable(f"{_name(node)} cannot stand under OR or NOT here", _column(node))
        return self._fill(rule, rule.template, node)

    def _fill(self, rule: RuleSpec, template: str, node: Leaf) -> str:
        values = self._values(node)
        if isinstance(node, Range) and None in values.values():
            open_ends = {"from": rule.open_start, "to": rule.open_end}
            values = {name: open_ends[name] if value is None else value for name, value in values.items()}
            if None in values.values():
                raise Unrenderable(f"{_name(node)} needs both ends", _column(node))
        text = parse_template(template).render(values, rule.separator)
        assert text is not None, f"{template!r} names what {_name(node)} has not"
        return text

    def _word(self, op: ExprOp, what: str) -> str:
        rule = self._rules.get((op, None, None))
        if rule is None or rule.template is None:
            raise Unrenderable(f"this source has no rule to {what}")
        return str(parse_template(rule.template).render({}))

    def _rule(self, node: Leaf) -> RuleSpec:
        op, field_name, match = _signature(node)
        rule = self._rules.get((op, field_name, match)) or self._rules.get((op, field_name, None))
        if rule is None:
            raise Unrenderable(f"no render rule writes {_name(node)}", _column(node))
        return rule

    def _values(self, node: Leaf) -> Mapping[str, Any]:
        if isinstance(node, Range):
            return {"from": self._times.write(node.start), "to": self._times.write(node.end)}
        if isinstance(node, In):
            return {"values": list(node.values)}
        if isinstance(node, Exists):
            return {}
        return {"value": node.text if isinstance(node, Token) else node.value}


def _conjuncts(node: Node) -> tuple[Node, ...]:
    return node.children if isinstance(node, Junction) and node.op == ExprOp.AND else (node,)


def _signature(node: Leaf) -> tuple[ExprOp, str | None, TermMatch | None]:
    if isinstance(node, Token):
        return ExprOp.TOKEN, None, node.match
    if isinstance(node, Term):
        return ExprOp.TERM, node.field, node.match
    if isinstance(node, Const):
        return ExprOp.CONST, None, None
    ops = {In: ExprOp.IN, Range: ExprOp.RANGE, Exists: ExprOp.EXISTS}
    return ops[type(node)], node.field, None


def _name(node: Leaf) -> str:
    op, field_name, match = _signature(node)
    return f"{op}{f' over {field_name!r}' if field_name else ''}{f' ({match})' if match else ''}"


def _column(node: Leaf) -> int | None:
    return getattr(node, "column", None)


def node_names(op: ExprOp) -> frozenset[str]:
    """What a rule for this node may name in its templates."""
    names = {
        ExprOp.RANGE: ("from", "to"),
        ExprOp.IN: ("values",),
        ExprOp.TERM: ("value",),
        ExprOp.TOKEN: ("value",),
    }
    return frozenset(names.get(op, ()))


def refuse_unrenderable(error: Unrenderable, where: str) -> BadInput:
    """The error as people read it."""
    place = f"column {error.column}: " if error.column else ""
    remedy = "the source's `capabilities` and `render_rules` say what it can be asked"
    return BadInput("QUERY_UNSUPPORTED", f"{place}{error}", where=where, remedy=remedy)
