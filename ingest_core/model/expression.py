"""Queries as small trees: the plan holds the prototype, a slice adds its range."""

from dataclasses import dataclass
from typing import Any

from ingest_core.model.canonical import hash_of
from ingest_core.model.codes import ExprOp
from ingest_core.model.window import Window


@dataclass(frozen=True)
class Const:
    """All records, or none."""

    value: bool

    def json(self) -> dict[str, Any]:
        """The node as stored."""
        return {"op": ExprOp.CONST.value, "value": self.value}


@dataclass(frozen=True)
class Range:
    """A field within a half-open window."""

    field: str
    window: Window

    def json(self) -> dict[str, Any]:
        """The node as stored."""
        return {"op": ExprOp.RANGE.value, "field": self.field, **self.window.json()}


EVERYTHING = Const(value=True)


def localize(prototype: dict[str, Any], bounds: Range) -> dict[str, Any]:
    """The prototype narrowed to one slice, in normal form."""
    if prototype == EVERYTHING.json():
        return bounds.json()
    children = sorted((prototype, bounds.json()), key=hash_of)
    return {"op": ExprOp.AND.value, "children": children}
