"""How a value is taken from a record: a path, or a small tree over paths, compiled once into one function.

$.title[0]                                  a path
{path: $.DOI, as: doi}                      ... through functions
{any: [$.a, $.b]}                           the first that is there
{join: [$.given, $.family], with: " "}      those that are there, together
{all: [$.source, $.id], with: /}            together, or nothing where one is missing
{each: $.author, need: name, name: ...}     an object for each element, if it has the needed key
{published: ..., created: ...}              an object
{value: journal-article}                    always this
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from ingest_core.model.spec import Expression
from ingest_core.registry.bounds import elements, joined
from ingest_core.registry.paths import TEXT, Getter, compile_path, path_problem, plain_steps
from ingest_core.registry.values import FUNCTION_NAMES, find_function, plain, text_of

_KINDS = ("path", "any", "join", "all", "collect", "each", "value")
_EXTRAS = {
    "path": {"as"},
    "any": {"as"},
    "join": {"with", "as"},
    "all": {"with", "as"},
    "collect": {"as"},
    "value": set[str](),
}


def compile_value(expression: Expression, leaf: Callable[[Any], Any] = plain) -> Getter:
    """A function from a record to the value; None where there is none."""
    if isinstance(expression, str):
        return _leaf(expression, leaf)
    kind = _kind(expression)
    if kind is None:
        return _object(expression)
    getter = _BUILD[kind](expression, leaf)
    functions = [find_function(name) for name in _names(expression)]
    return _through(getter, functions) if functions else getter


def _names(expression: dict[str, Any]) -> list[str]:
    names = expression.get("as", [])
    return [names] if isinstance(names, str) else names


def _kind(expression: dict[str, Any]) -> str | None:
    return next((kind for kind in _KINDS if kind in expression), None)


def _leaf(path: str, leaf: Callable[[Any], Any]) -> Getter:
    """What the path finds, as a leaf; the two shapes nearly every mapping is made of go without a detour."""
    get, steps = compile_path(path), plain_steps(path)
    if leaf is _as_found:
        return get
    if steps and len(steps) == 1 and isinstance(steps[0], str) and steps[0] != TEXT:
        return _text_field(steps[0])
    if steps and len(steps) == 2 and isinstance(steps[0], str) and steps[1] == 0:  # noqa: PLR2004 - a name and [0]
        return _first_text(steps[0])
    return lambda record: leaf(get(record))


def _text_field(name: str) -> Getter:
    def get(record: Any) -> Any:
        try:
            value = record.get(name)
        except AttributeError:
            return None
        return (value.strip() or None) if type(value) is str else plain(value)

    return get


def _first_text(name: str) -> Getter:
    def get(record: Any) -> Any:
        try:
            value = record.get(name)
        except AttributeError:
            return None
        return plain(value[0]) if type(value) is list and value else None

    return get


def _as_found(value: Any) -> Any:
    return value


def _path(expression: dict[str, Any], leaf: Callable[[Any], Any]) -> Getter:
    return _leaf(expression["path"], _as_found if "as" in expression else leaf)


def _any(expression: dict[str, Any], leaf: Callable[[Any], Any]) -> Getter:
    getters = [compile_value(one, _as_found if "as" in expression else leaf) for one in expression["any"]]

    def get(record: Any) -> Any:
        for getter in getters:
            value = getter(record)
            if value not in (None, "", [], {}):
                return value
        return None

    return get


def _join(expression: dict[str, Any], _leaf: Callable[[Any], Any]) -> Getter:
    getters = [compile_value(one) for one in expression["join"]]
    separator = expression.get("with", " ")

    def get(record: Any) -> Any:
        parts = []
        for getter in getters:
            part = getter(record)
            if part is not None:
                parts.append(part)
        try:
            return joined(separator, parts) if parts else None
        except TypeError:  # a list among them
            return joined(separator, elements(parts))

    return get


def _all(expression: dict[str, Any], _leaf: Callable[[Any], Any]) -> Getter:
    getters = [compile_value(one) for one in expression["all"]]
    separator = expression.get("with", "/")

    def get(record: Any) -> Any:
        parts = [text for getter in getters if (text := text_of(getter(record))) is not None]
        return joined(separator, parts) if len(parts) == len(getters) else None

    return get


def _collect(expression: dict[str, Any], _leaf: Callable[[Any], Any]) -> Getter:
    getters = [compile_value(one) for one in expression["collect"]]

    def get(record: Any) -> Any:
        found = [value for getter in getters if (value := getter(record)) is not None]
        once: dict[Any, Any] = {}
        for one in elements(found):
            once.setdefault(_identity(one), one)
        return list(once.values()) or None

    return get


def _identity(value: Any) -> Any:
    """What two equal values share and others do not: a text is its own, an object is its content in one order."""
    return value if isinstance(value, str) else (type(value), json.dumps(value, sort_keys=True, default=repr))


def _each(expression: dict[str, Any], _leaf: Callable[[Any], Any]) -> Getter:
    many = compile_path(expression["each"])
    needed = expression.get("need")
    fields = [(name, compile_value(one)) for name, one in expression.items() if name not in ("each", "need")]

    def get(record: Any) -> Any:
        found = many(record)
        built = []
        for one in elements(found) if found is not None else ():
            element = {}
            for name, getter in fields:
                value = getter(one)
                if value is not None:
                    element[name] = value
            if element and (needed is None or needed in element):
                built.append(element)
        return built or None

    return get


def _value(expression: dict[str, Any], _leaf: Callable[[Any], Any]) -> Getter:
    return lambda _record: expression["value"]


def _object(expression: dict[str, Any]) -> Getter:
    fields = [(name, compile_value(one)) for name, one in expression.items()]

    def get(record: Any) -> Any:
        found = {}
        for name, getter in fields:
            value = getter(record)
            if value is not None:
                found[name] = value
        return found or None

    return get


def _through(getter: Getter, functions: list[Callable[[Any], Any]]) -> Getter:
    if len(functions) == 1:
        function = functions[0]
        return lambda record: function(getter(record))

    def get(record: Any) -> Any:
        value = getter(record)
        for function in functions:
            value = function(value)
        return value

    return get


_BUILD: dict[str, Callable[[dict[str, Any], Callable[[Any], Any]], Getter]] = {
    "path": _path,
    "any": _any,
    "join": _join,
    "all": _all,
    "collect": _collect,
    "each": _each,
    "value": _value,
}


def compile_raw(expression: Expression) -> Getter:
    """The same, but what a path finds stays as it was found."""
    return compile_value(expression, _as_found)


def problems_of(expression: Any, where: str) -> Iterator[str]:
    """Problems of an expression, each with its place."""
    if isinstance(expression, str):
        if problem := path_problem(expression):
            yield f"{where}: {problem}"
    elif not isinstance(expression, dict) or not expression:
        yield f"{where}: {expression!r} is neither a path nor a mapping such as {{path: $.DOI, as: doi}}"
    else:
        yield from _tree_problems(expression, where)


def _tree_problems(expression: dict[str, Any], where: str) -> Iterator[str]:
    kind = _kind(expression)
    if kind is None or kind == "each":
        yield from _object_problems(expression, where)
        return
    for name in expression.keys() - {kind} - _EXTRAS[kind]:
        yield f"{where}.{name}: not a key of a `{kind}` expression"
    yield from _function_problems(expression, where)
    if kind == "path":
        yield from _path_problems(expression["path"], where)
    elif kind != "value":
        parts = expression[kind]
        if not isinstance(parts, list) or not parts:
            yield f"{where}.{kind}: expected a list of paths, got {parts!r}"
            return
        for number, part in enumerate(parts):
            yield from problems_of(part, f"{where}.{kind}.{number}")


def _object_problems(expression: dict[str, Any], where: str) -> Iterator[str]:
    if "each" in expression:
        yield from _path_problems(expression["each"], f"{where}.each")
        if "as" in expression:
            yield f"{where}.as: not a key of an `each` expression"
        if "need" in expression and expression["need"] not in list(expression):  # a list has no hash
            yield f"{where}.need: {expression['need']!r} is not one of its keys"
    for name, part in expression.items():
        if name not in ("each", "need"):
            yield from problems_of(part, f"{where}.{name}")


def _path_problems(path: Any, where: str) -> Iterator[str]:
    if isinstance(path, str):
        yield from problems_of(path, where)
    else:
        yield f"{where}: {path!r} is not a path such as $.items[*].id"


def _function_problems(expression: dict[str, Any], where: str) -> Iterator[str]:
    names = expression.get("as", "text")
    if not isinstance(names, str | list) or not names or not all(isinstance(name, str) for name in _names(expression)):
        yield f"{where}.as: {names!r} is neither a function's name nor a list of them"
        return
    for name in _names(expression):
        try:
            find_function(name)
        except KeyError:
            yield f"{where}.as: unknown function {name!r}; known: {', '.join(FUNCTION_NAMES)}"
        except ValueError as error:
            yield f"{where}.as: {name!r}: {error}"


def paths_in(expression: Any) -> Iterator[str]:
    """Every path an expression names."""
    if isinstance(expression, str):
        if expression.startswith("$"):
            yield expression
    elif isinstance(expression, dict):
        for name, part in expression.items():
            if name not in ("as", "with", "value", "need"):
                yield from paths_in(part)
    elif isinstance(expression, list):
        for part in expression:
            yield from paths_in(part)
