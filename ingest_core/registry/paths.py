"""Paths into a document: plain ones become getters, jsonpath-ng serves the rest."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from jsonpath_ng.ext import parser as jsonpath

Getter = Callable[[Any], Any]

_STEP = re.compile(r"""\.([A-Za-z_][A-Za-z0-9_-]*)|\['([^']+)'\]|\["([^"]+)"\]|\[(\d+)\]|\[(\*)\]""")


@lru_cache(maxsize=1024)
def compile_path(path: str) -> Getter:
    """A function that finds the path's value: a list where the path has `[*]`, None where it leads nowhere."""
    steps = plain_steps(path)
    if steps is None:
        return _jsonpath(path)
    return _chain(steps)


def path_parses(path: str) -> bool:
    """Whether it is a path at all."""
    try:
        compile_path(path)
    except Exception:
        return False
    return path.startswith("$")


def plain_steps(path: str) -> list[str | int] | None:
    """The steps of a plain path, `*` for all; None when the path says more than that."""
    if not path.startswith("$"):
        return None
    steps: list[str | int] = []
    at = 1
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            return None
        name, single, double, index, every = match.groups()
        steps.append(int(index) if index is not None else (every or name or single or double))
        at = match.end()
    return steps


def _chain(steps: list[str | int]) -> Getter:
    if "*" in steps:
        split = steps.index("*")
        return _every(_chain(steps[:split]), _chain(steps[split + 1 :]))

    def get(value: Any) -> Any:
        for step in steps:
            if isinstance(value, dict) and isinstance(step, str):
                value = value.get(step)
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                return None
        return value

    return get


def _every(outer: Getter, inner: Getter) -> Getter:
    def get(value: Any) -> Any:
        many = outer(value)
        if isinstance(many, dict):
            many = list(many.values())
        if not isinstance(many, list):
            return None
        found = (inner(one) for one in many)
        return [one for one in found if one is not None]

    return get


def _jsonpath(path: str) -> Getter:
    parsed = jsonpath.parse(path)

    def get(value: Any) -> Any:
        found = [match.value for match in parsed.find(value)]
        return found[0] if len(found) == 1 else (found or None)

    return get
