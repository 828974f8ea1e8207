"""Source documents of every shape the schema allows: each key there or not, values that are hard to write as YAML."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from hypothesis import strategies as st

from ingest_core.registry.columns import iso_span
from ingest_core.registry.schema import source_schema

Document = dict[str, Any]
Schema = dict[str, Any]

_SCHEMA = source_schema()
_NAMES = ["works", "a", "x_1", "null_", "y2"]
_CODES = ["TIME", "HYBRID", "NO", "Y", "A_1", "X" * 32]
_REFERENCES = ["env:KEY", "prefect:my-block", "env:a.b_c-1"]
_FITTING = [*_NAMES, *_CODES, *_REFERENCES]
_ODD_TEXTS = [
    "", " ", "yes", "null", "~", "1e3", "0o7", "12:30", "2026-01-01", "=", "- a", "# x", "a: b", "'", '"', "\\", "\t",
    "é学🜁", "two\nlines\n", "{contact}", "%Y-%m-%dT%H", "*x", "&x", "!x", "|", "x" * 200, "\u2028", "\x85", "\x7f",
]  # fmt: skip
_EXPRESSIONS: list[Any] = ["$.a", {"path": "$.a", "as": ["doi"]}, {"any": ["$.a", {"value": None}]}, {"value": 1.5}]
_PLAIN = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)


def documents() -> st.SearchStrategy[Document]:
    """A document that reads, though it need not compile."""
    return _values(_SCHEMA).map(_consistent)


def spans() -> st.SearchStrategy[timedelta]:
    """A duration a file may say."""
    whole = st.sampled_from([timedelta(0), timedelta(seconds=1), timedelta(hours=25), timedelta(days=7)])
    return whole | st.timedeltas(timedelta(0), timedelta(days=20))


def texts() -> st.SearchStrategy[str]:
    """Texts YAML could take for something else."""
    letters = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
    return st.sampled_from(_ODD_TEXTS) | st.text(letters, max_size=6)


def _consistent(value: Any) -> Any:
    """What no schema says: dates in order, timeouts in their limits, defaults without scope and dates."""
    if isinstance(value, list):
        return [_consistent(one) for one in value]
    if not isinstance(value, dict):
        return value
    kept = {name: _consistent(one) for name, one in value.items()}
    for block in filter(None, (kept.get("defaults") or {}).values()):
        for name in ("for", "effective_from", "effective_to"):
            block.pop(name, None)
    if "effective_from" in kept:
        kept.pop("effective_to", None)
    for name in ("connect_timeout", "read_timeout", "deadline"):
        if kept.get(name):
            kept[name] = "PT0.25S"
    return kept


def _values(schema: Schema) -> st.SearchStrategy[Any]:
    if "$ref" in schema:
        return _values(_SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]])
    if "anyOf" in schema:
        return st.one_of([_values(one) for one in schema["anyOf"]])
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum") or [schema["const"]])
    return _OF_TYPE[schema["type"]](schema)


def _strings(schema: Schema) -> st.SearchStrategy[Any]:
    if schema.get("format") == "duration":
        return spans().map(iso_span)
    if schema.get("format") == "date-time":
        return _instants().map(datetime.isoformat)
    if "pattern" in schema:
        return st.sampled_from([text for text in _FITTING if re.search(schema["pattern"], text)])
    return texts().filter(lambda text: schema.get("minLength", 0) <= len(text) <= schema.get("maxLength", 10_000))


def _instants() -> st.SearchStrategy[datetime]:
    zones = st.sampled_from([UTC, timezone(timedelta(hours=8)), timezone(timedelta(hours=-3, minutes=-30))])
    return st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1), timezones=zones)  # noqa: DTZ001


def _integers(schema: Schema) -> st.SearchStrategy[Any]:
    lowest = schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1)
    return st.integers(lowest, schema.get("maximum", 2**40))


def _numbers(schema: Schema) -> st.SearchStrategy[Any]:
    highest = schema.get("maximum", 1e22)
    return st.floats(schema.get("minimum", 0.001), highest, exclude_min=False) | st.just(highest)


def _arrays(schema: Schema) -> st.SearchStrategy[Any]:
    return st.lists(_values(schema["items"]), min_size=schema.get("minItems", 0), max_size=3)


def _objects(schema: Schema) -> st.SearchStrategy[Any]:
    if "properties" in schema:
        known = {name: _values(one) for name, one in schema["properties"].items()}
        needed = {name: known.pop(name) for name in schema.get("required", [])}
        return st.fixed_dictionaries(needed, optional=known)
    if "patternProperties" in schema:
        return st.dictionaries(st.sampled_from(_NAMES), st.sampled_from(_EXPRESSIONS), max_size=3)
    if schema.get("additionalProperties") is True:
        return st.dictionaries(texts(), _PLAIN | texts(), min_size=1, max_size=3)
    return st.dictionaries(texts(), _values(schema["additionalProperties"]), max_size=3)


_OF_TYPE: dict[str, Callable[[Schema], st.SearchStrategy[Any]]] = {
    "string": _strings,
    "integer": _integers,
    "number": _numbers,
    "boolean": lambda _schema: st.booleans(),
    "null": lambda _schema: st.none(),
    "array": _arrays,
    "object": _objects,
}
