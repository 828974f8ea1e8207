"""Every key of a source file with every hostile value: the keys a shipped file has, and all that the models know."""

import copy
from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel

from ingest_core.registry.source_file import SourceFile
from tests.support.hostile_inputs import NUMBERS, TIMES, WORDS

Place = tuple[str | int, ...]

VALUES: dict[str, Any] = {
    **{name: text for name, text in {**WORDS, **NUMBERS, **TIMES}.items() if name != "surrogate"},  # not YAML at all
    "inf": float("inf"),
    "not a number": float("nan"),
    "minus": -1,
    "nothing": 0,
    "tiny number": 1e-300,
    "huge number": 1e300,
    "long number": 10**80,
    "true": True,
    "null": None,
    "list": [1, [2]],
    "map": {"a": {"b": 1}},
    "empty list": [],
    "empty map": {},
    "path": "$..*[?(@.a)]",
    "template": "{contact|nope}",
}
_LEVELS = 5
_ENTRIES = 2
"""Of a list, the first entries stand for all."""


def places(document: dict[str, Any]) -> list[Place]:
    """Where a hostile value can stand."""
    found = {*_present(document, ()), *_known(SourceFile, (), document)} - {()}
    return sorted(found, key=str)


def _present(value: Any, place: Place) -> Iterator[Place]:
    yield place
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _present(one, (*place, key))
    elif isinstance(value, list):
        for number, one in enumerate(value[:_ENTRIES]):
            yield from _present(one, (*place, number))


def _known(model: type[BaseModel], place: Place, value: Any) -> Iterator[Place]:
    for name, field in model.model_fields.items():
        key = field.alias or name
        below = value.get(key) if isinstance(value, dict) else None
        yield (*place, key)
        for inner in _models(field.annotation):
            if isinstance(below, list):
                for number, one in enumerate(below[:_ENTRIES]):
                    yield from _known(inner, (*place, key, number), one)
            elif len(place) < _LEVELS:
                yield from _known(inner, (*place, key), below)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)


def changed(document: dict[str, Any], place: Place, value: Any) -> dict[str, Any]:
    """The document with the value at the place; what has to hold it is made."""
    whole = copy.deepcopy(document)
    inner: Any = whole
    for key in place[:-1]:
        below = inner.get(key) if isinstance(inner, dict) else inner[key]
        if not isinstance(below, dict | list):
            below = inner[key] = {}
        inner = below
    inner[place[-1]] = value
    return whole
