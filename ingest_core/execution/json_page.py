"""A JSON page as its document and its records, each record with its own text as received.

Three ways, each for what the one before does not take: records left as text and parsed one by one, the page parsed
whole, and the page taken apart by its structure, so that a record no parser takes spoils only itself.
"""

import codecs
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec
import orjson

from ingest_core.execution.record_texts import find_records
from ingest_core.execution.records import VALUES_PER_RECORD, Records, Unreadable, as_json, cut_out, parse_patiently
from ingest_core.execution.value_count import holds_more_values
from ingest_core.model.codes import QuarantineReason
from ingest_core.registry.paths import EVERY, compile_path, plain_steps

_MSGSPEC_REFUSES = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, LookupError)


class JsonBroken(Exception):
    """The body is not JSON we take."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class JsonDocument:
    """The document that paths go over, the records and their texts."""

    value: Any
    # None where the path finds no list.
    items: Sequence[Any] | None
    raw: list[str]


@dataclass(frozen=True)
class JsonReading:
    """The search: the path of the records, whether other paths lead into them, and how much is read."""

    items_path: str
    max_values: int
    # Whether everything that is asked of the page itself stands outside its list of records.
    apart: bool = False

    @property
    def steps(self) -> tuple[str | int, ...] | None:
        """The path's steps if they are names and numbers alone."""
        return _names_and_numbers(self.items_path)


def read_json(body: bytes, reading: JsonReading) -> JsonDocument:
    """The document and its records; JsonBroken when there is none, or more than is read."""
    body = body.removeprefix(codecs.BOM_UTF8)
    if holds_more_values(body, reading.max_values):
        raise too_many_values(reading.max_values)
    apart = _read_apart(body, reading) if reading.apart else None
    return apart or _read_whole(body, reading) or _read_in_pieces(body, reading)


def too_many_values(limit: int) -> JsonBroken:
    """The refusal of a page with more values, or more records, than are read."""
    message = (
        f"the answer holds more than {limit:,} values, or more than {limit // VALUES_PER_RECORD:,} records. "
        "Ask for smaller pages (`pagination.page_size`), or raise `http.max_values`"
    )
    return JsonBroken("TOO_MANY_VALUES", message)


def parse_small(body: bytes, max_values: int) -> Any:
    """The document of an answer that should be short; None where it is not, or is no JSON."""
    if holds_more_values(body, max_values):
        return None
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None


def _read_apart(body: bytes, reading: JsonReading) -> JsonDocument | None:
    """The page with its records left to be parsed one by one; None for a page that must be read whole."""
    envelope = _envelope(reading.items_path)
    if envelope is None or b"\x00" in body:
        return None
    try:
        found = _walk(msgspec.json.decode(body, type=envelope), reading.items_path)
        _refuse_many_records(found, reading)
        texts = [bytes(one) for one in found]
        rest = cut_out(body, texts) if texts else None
        document = orjson.loads(rest) if rest else None
        raw = [one.decode() for one in texts]
    except (*_MSGSPEC_REFUSES, orjson.JSONDecodeError):
        return None
    emptied = document is not None and compile_path(reading.items_path)(document) == []
    return JsonDocument(document, Records(raw), raw) if emptied else None


def _read_whole(body: bytes, reading: JsonReading) -> JsonDocument | None:
    """The page parsed at once; None where orjson refuses it."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return _with_texts(document, body, reading)


def _read_in_pieces(body: bytes, reading: JsonReading) -> JsonDocument:
    """The page around its records, and each record by itself: one that cannot be parsed is Unreadable."""
    spans = None if reading.steps is None else find_records(body, reading.steps)
    if not spans:
        return _with_texts(_parse(body), body, reading)
    _refuse_many_records(spans, reading)
    document = _parse(body[: spans[0][0]] + body[spans[-1][1] :])
    if compile_path(reading.items_path)(document) != []:
        return _with_texts(_parse(body), body, reading)
    raw = [as_json(body[start:end].decode("utf-8", "surrogateescape")) for start, end in spans]
    records = Records(raw)
    return JsonDocument(document if reading.apart else _filled(document, records, reading), records, raw)


def _parse(body: bytes) -> Any:
    """The value of a text by whichever parser takes it."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        return parse_patiently(body.decode("utf-8"))
    except RecursionError as error:
        raise JsonBroken("TOO_DEEP", "the answer is nested too deep to be read") from error
    except ValueError as error:
        raise JsonBroken("NOT_JSON", "the body is not JSON") from error


def _filled(document: Any, records: Records, reading: JsonReading) -> Any:
    """The document with its records in their place again, for paths that lead into them."""
    items = [None if isinstance(one, Unreadable) else one for one in records]
    steps = reading.steps or ()
    if not steps:
        return items
    outer = document
    for step in steps[:-1]:
        outer = outer[step]
    outer[steps[-1]] = items
    return document


def _with_texts(document: Any, body: bytes, reading: JsonReading) -> JsonDocument:
    items = compile_path(reading.items_path)(document)
    if items is not None and not isinstance(items, list) and plain_steps(reading.items_path) is None:
        items = [items]  # jsonpath-ng gives the one it found
    if not isinstance(items, list):
        return JsonDocument(document, None, [])
    _refuse_many_records(items, reading)
    raw = _texts(body, reading)
    if raw is not None and len(raw) == len(items):
        return JsonDocument(document, items, raw)
    written = [_written_anew(item) for item in items]
    return JsonDocument(document, [item for item, _ in written], [text for _, text in written])


def _texts(body: bytes, reading: JsonReading) -> list[str] | None:
    """Each record's own text; None where the path is more than names and numbers."""
    envelope = _envelope(reading.items_path)
    if envelope is None:
        return None
    try:
        found = _walk(msgspec.json.decode(body, type=envelope), reading.items_path)
        return [bytes(one).decode() for one in found]
    except _MSGSPEC_REFUSES:
        spans = find_records(body, reading.steps or ()) or []
        return [body[start:end].decode("utf-8", "surrogateescape") for start, end in spans]


def _written_anew(item: Any) -> tuple[Any, str]:
    """A record and its text where the text as received cannot be had."""
    try:
        return item, json.dumps(item, separators=(",", ":"))
    except RecursionError:
        return Unreadable(QuarantineReason.UNREADABLE), '"nested too deep"'


def _refuse_many_records(found: Sequence[Any], reading: JsonReading) -> None:
    if len(found) * VALUES_PER_RECORD > reading.max_values:
        raise too_many_values(reading.max_values)


def _names_and_numbers(items_path: str) -> tuple[str | int, ...] | None:
    steps = plain_steps(items_path)
    if steps is None:
        return None
    plain = tuple(one for one in steps if isinstance(one, int) or (isinstance(one, str) and one != EVERY))
    return plain if len(plain) == len(steps) else None


def _walk(found: Any, items_path: str) -> Any:
    for step in _names_and_numbers(items_path) or ():
        found = found[step] if isinstance(step, int) else getattr(found, _attribute(step))
    return found


def _attribute(name: str) -> str:
    return "at_" + name.encode().hex()


@lru_cache(maxsize=64)
def _envelope(items_path: str) -> Any:
    """A type that holds just the way to the records, which stay text."""
    steps = _names_and_numbers(items_path)
    if steps is None:
        return None
    inner: Any = list[msgspec.Raw]
    for step in reversed(steps):
        if isinstance(step, int):
            inner = list[inner]
        else:
            name = _attribute(step)
            inner = msgspec.defstruct("Envelope", [(name, inner)], rename={name: step})
    return inner
