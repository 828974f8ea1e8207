"""From a body to a page: a body that does not parse is an error, never an empty page."""

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec
import orjson

from ingest_core.model.numbers import holds_long_number
from ingest_core.model.redaction import excerpt
from ingest_core.model.spec import SpecSnapshot
from ingest_core.registry.paths import compile_path, plain_steps


class PageBroken(Exception):
    """The body is not what this endpoint answers; `garbled` when it is not even JSON."""

    def __init__(self, code: str, message: str, *, garbled: bool) -> None:
        super().__init__(message)
        self.code = code
        self.garbled = garbled


@dataclass(frozen=True)
class DecodedPage:
    """A page's records, parsed and as received, and what it says about the result."""

    items: list[Any]
    raw: list[str]
    total: int | None
    next_token: str | None
    has_more: bool | None
    long_numbers: bool = False


def decode_page(body: bytes, spec: SpecSnapshot) -> DecodedPage:
    """The page a body holds."""
    document = _parse(body)
    items = compile_path(spec.response.items_path)(document)
    if not isinstance(items, list):
        raise PageBroken("ITEMS_MISSING", f"no list at {spec.response.items_path}: {_start_of(body)}", garbled=False)
    pagination = spec.pagination
    token = _at(document, pagination.next_token_path)
    return DecodedPage(
        items=items,
        raw=_raw_items(body, spec.response.items_path, items),
        total=_whole_number(_at(document, spec.response.total_path)),
        next_token=str(token) if token not in (None, "") else None,
        has_more=_truth(_at(document, pagination.has_more_path)),
        long_numbers=holds_long_number(body),
    )


def _parse(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:  # the standard library takes lone surrogates and huge numbers, whose records are then dealt with one by one
        return json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise PageBroken("NOT_JSON", f"the body is not JSON: {_start_of(body)}", garbled=True) from error


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _at(document: Any, path: str | None) -> Any:
    return compile_path(path)(document) if path else None


def _truth(value: Any) -> bool | None:
    if isinstance(value, str):
        return value.strip().lower() not in {"", "false", "no", "n", "0"}
    return bool(value) if value is not None else None


def _whole_number(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _start_of(body: bytes, limit: int = 120) -> str:
    return repr(excerpt(" ".join(body[: limit * 8].decode("utf-8", "replace").split()), limit))


def _raw_items(body: bytes, items_path: str, items: list[Any]) -> list[str]:
    """Each record's own text; written anew only where the text cannot be had."""
    envelope = _envelope(items_path)
    if envelope is not None:
        for prepare in (bytes, _without_lone_surrogates):
            try:
                found = _walk(msgspec.json.decode(prepare(body), type=envelope), items_path)
                return [bytes(one).decode() for one in found]
            except (msgspec.MsgspecError, UnicodeDecodeError):
                continue
    return [json.dumps(item, separators=(",", ":")) for item in items]


_ESCAPE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a pair, as it should be
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"  # half a pair
    rb"|\\."
)


def _without_lone_surrogates(body: bytes) -> bytes:
    """A body msgspec takes; the record that held the half pair goes to quarantine, its neighbours stay as they are."""
    return _ESCAPE.sub(lambda match: rb"\ufffd" if match.group(1) else match.group(0), body)


def _walk(found: Any, items_path: str) -> Any:
    for step in plain_steps(items_path) or []:
        found = found[step] if isinstance(step, int) else getattr(found, _attribute(step))
    return found


def _attribute(name: str) -> str:
    return "at_" + name.encode().hex()


@lru_cache(maxsize=64)
def _envelope(items_path: str) -> Any:
    """A type that holds just the way to the records, which stay text."""
    steps = plain_steps(items_path)
    if steps is None or "*" in steps:
        return None
    inner: Any = list[msgspec.Raw]
    for step in reversed(steps):
        if isinstance(step, int):
            inner = list[inner]
        else:
            name = _attribute(step)
            inner = msgspec.defstruct("Envelope", [(name, inner)], rename={name: step})
    return inner
