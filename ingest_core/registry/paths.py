"""Paths into a document: plain ones become getters, jsonpath-ng serves the rest."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import Any

from jsonpath_ng.ext import parser as jsonpath

Getter = Callable[[Any], Any]

EVERY = "*"
TEXT = "#text"
"""The text of an XML element; of one that is text alone, that text: whether it has attributes may differ by page."""

_TEXT_STEP = re.compile(r"""\[(?:'#text'|"#text")\]\Z""")
_STEP = re.compile(
    r"""\.([A-Za-z_@][A-Za-z0-9_@-]*)|\['([^']+)'\]|\["([^"]+)"\]|\[(\d+)\]|\[(\*)\]"""
    r"""|\[\?\(?@\.([A-Za-z_@][A-Za-z0-9_@-]*)\s*==\s*(?:'([^']*)'|"([^"]*)")\)?\]"""
)


@dataclass(frozen=True)
class Where:
    """The elements of a list whose field holds this value."""

    field: str
    value: str


Step = str | int | Where


@lru_cache(maxsize=2048)
def compile_path(path: str) -> Getter:
    """A function that finds the path's value: a list where the path has `[*]`, None where it leads nowhere."""
    steps = plain_steps(path)
    return _jsonpath(path) if steps is None else compile_steps(steps)


def path_parses(path: str) -> bool:
    """Whether it is a path at all."""
    try:
        compile_path(path)
    except Exception:
        return False
    return path.startswith("$")


@lru_cache(maxsize=2048)
def plain_steps(path: str) -> tuple[Step, ...] | None:
    """The steps of a plain path; None when the path says more than that."""
    if not path.startswith("$"):
        return None
    steps: list[Step] = []
    at = 1
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            return None
        steps.append(_step(match))
        at = match.end()
    return tuple(steps)


def _step(match: re.Match[str]) -> Step:
    name, single, double, index, every, field, value, other = match.groups()
    if field is not None:
        return Where(field, value if value is not None else other)
    return int(index) if index is not None else (every or name or single or double)


def repeated_names(path: str) -> set[str]:
    """The names the path expects a list at: what an XML document must give as one even when it stands once."""
    steps = plain_steps(path) or ()
    return {
        name
        for name, following in pairwise(steps)
        if isinstance(name, str) and name != EVERY and (following == EVERY or not isinstance(following, str))
    }


def leaf_names(path: str) -> set[str]:
    """The name whose value the path ends at: what an XML document must give the whole text of."""
    names = [step for step in plain_steps(path) or () if isinstance(step, str) and step not in (EVERY, TEXT)]
    return set(names[-1:])


def compile_steps(steps: tuple[Step, ...]) -> Getter:
    """A function that follows the steps."""
    for at, step in enumerate(steps):
        if step == EVERY or isinstance(step, Where):
            wheres = tuple(takewhile(lambda one: isinstance(one, Where), steps[at:]))
            rest = steps[at + max(1, len(wheres)) :]
            return _every(compile_steps(steps[:at]), wheres, compile_steps(rest), last=not rest)
    if len(steps) == 1 and isinstance(steps[0], str):
        return _field(steps[0])

    def get(value: Any) -> Any:
        for step in steps:
            if isinstance(value, dict) and isinstance(step, str):
                value = value.get(step)
            elif step == TEXT and isinstance(value, str):
                continue
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                return None
        return value

    return get


def _field(name: str) -> Getter:
    if name == TEXT:
        return _own_text

    def get(value: Any) -> Any:
        return value.get(name) if isinstance(value, dict) else None

    return get


def _own_text(value: Any) -> Any:
    return value.get(TEXT) if isinstance(value, dict) else value if isinstance(value, str) else None


def _every(outer: Getter, wheres: tuple[Any, ...], inner: Getter, *, last: bool) -> Getter:
    def get(value: Any) -> Any:
        many = outer(value)
        if isinstance(many, dict):
            many = list(many.values())
        if not isinstance(many, list):
            return None
        for where in wheres:
            many = [one for one in many if isinstance(one, dict) and one.get(where.field) == where.value]
        found = many if last else [inner(one) for one in many]
        return [one for one in found if one is not None]

    return get


def _jsonpath(path: str) -> Getter:
    stem = _TEXT_STEP.sub("", path)
    parsed = jsonpath.parse(stem)

    def get(value: Any) -> Any:
        found = [match.value for match in parsed.find(value)]
        if stem != path:
            found = [text for one in found if (text := _own_text(one)) is not None]
        return found[0] if len(found) == 1 else (found or None)

    return get
