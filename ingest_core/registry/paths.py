"""Paths into a document: plain ones become getters, jsonpath-ng serves the rest.

A path reaches each value of a document at most once, so that it finds no more than the document holds: what jsonpath-ng
offers beyond that (products, several `..`, repeated names, patterns) is refused.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import Any

from jsonpath_ng.ext import parser as jsonpath
from jsonpath_ng.ext.filter import Expression, Filter
from jsonpath_ng.ext.iterable import Len
from jsonpath_ng.ext.string import Split
from jsonpath_ng.jsonpath import Child, Descendants, Fields, Index, Root, Slice, This, Wildcard

from ingest_core.registry.bounds import BoundExceeded, check_searchable

Getter = Callable[[Any], Any]

EVERY = "*"
TEXT = "#text"
"""The text of an XML element; of one that is text alone, that text: whether it has attributes may differ by page."""

MAX_PATH_CHARS = 1_000

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


PathStep = str | int | Where


@lru_cache(maxsize=2048)
def compile_path(path: str) -> Getter:
    """A function that finds the path's value: a list where the path has `[*]`, None where it leads nowhere."""
    steps = plain_steps(path)
    return _jsonpath(path) if steps is None else compile_steps(steps)


class PathRefused(BoundExceeded):
    """A path that parses and may not be used; the message says why."""

    code = "PATH_REFUSED"


def path_problem(path: str) -> str | None:
    """The problem of a path; None where it can be used."""
    try:
        compile_path(path)
    except PathRefused as refused:
        return str(refused)
    except Exception:
        return f"{path!r} is not a path such as $.items[*].id"
    return None if path.startswith("$") else f"{path!r} is not a path such as $.items[*].id"


@lru_cache(maxsize=2048)
def plain_steps(path: str) -> tuple[PathStep, ...] | None:
    """The steps of a plain path; None when the path says more than that."""
    if not path.startswith("$"):
        return None
    steps: list[PathStep] = []
    at = 1
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            return None
        steps.append(_step(match))
        at = match.end()
    return tuple(steps)


def _step(match: re.Match[str]) -> PathStep:
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


def compile_steps(steps: tuple[PathStep, ...]) -> Getter:
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
    if len(path) > MAX_PATH_CHARS:
        raise PathRefused(f"the path has {len(path):,} characters, more than {MAX_PATH_CHARS:,}")
    stem = _TEXT_STEP.sub("", path)
    parsed = jsonpath.parse(stem)
    _check_parts(path, list(_parts(parsed)))

    def get(value: Any) -> Any:
        try:
            check_searchable(value)
            found = [match.value for match in parsed.find(value)]
        except (BoundExceeded, RecursionError) as error:
            message = f"path {path} is too costly: {error}; write it without `..`, `*` and `[?`"
            raise BoundExceeded(message, path) from error
        if stem != path:
            found = [text for one in found if (text := _own_text(one)) is not None]
        return found[0] if len(found) == 1 else (found or None)

    return get


# By exact type: jsonpath-ng derives `sub`, which matches a pattern, from This.
_ALLOWED = (Root, This, Child, Descendants, Fields, Index, Slice, Wildcard, Filter, Expression, Len, Split)
_PATTERN = "=~"


def _parts(parsed: Any) -> Iterator[Any]:
    """Every part of a parsed path."""
    yield parsed
    if isinstance(parsed, Child | Descendants):
        inner = [parsed.left, parsed.right]
    elif isinstance(parsed, Filter):
        inner = list(parsed.expressions)
    else:
        inner = [parsed.target] if isinstance(parsed, Expression) else []
    for one in inner:
        yield from _parts(one)


def _check_parts(path: str, parts: list[Any]) -> None:
    """Refuse a path that could find more values than a document has, or hold the interpreter while it matches."""
    for one in parts:
        named = one.fields if isinstance(one, Fields) else one.indices if isinstance(one, Index) else ()
        if type(one) not in _ALLOWED or (isinstance(one, Expression) and one.op == _PATTERN):
            what = _PATTERN if isinstance(one, Expression) else type(one).__name__.strip("_")
            raise PathRefused(f"{path!r} uses {what}, which is not allowed in a path")
        if len(set(named)) < len(named):
            raise PathRefused(f"{path!r} names a step twice")
    if sum(isinstance(one, Descendants) for one in parts) > 1:
        raise PathRefused(f"{path!r} has `..` more than once")
    if sum(isinstance(one, Root) for one in parts) > 1:
        raise PathRefused(f"{path!r} names `$` more than once")
