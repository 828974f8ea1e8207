"""The records of a page, parsed one by one as they are looked at.

A page parsed whole is ten times its size in memory, and takes a third longer: nothing of it stays near the processor.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, overload

import orjson

from ingest_core.model.codes import QuarantineReason

MAX_RECORD_BYTES = 7 * 1024 * 1024
"""Payload and common fields together: twice that, should every character need an escape, is less than MariaDB takes."""

VALUES_PER_RECORD = 10
"""A record takes at least as much memory as this number of values: `max_values` bounds the records of a page by it."""


_CONTROL = re.compile("[\x01-\x1f]")
_ESCAPED_CONTROL = re.compile(r"\\[\x01-\x1f]")
_CHUNK_CHARS = 64 * 1024
_SHORT_CHARS = 1000
_FIRST_PARTS = 20
_MAX_DIGITS = 4000
"""Python refuses to read longer whole numbers: the time that takes grows with the square of the length."""


@dataclass(frozen=True)
class Unreadable:
    """A record that cannot be read as it was sent: it goes to quarantine, its page goes on."""

    reason: QuarantineReason
    # What could be read of it, to find its id; None for nothing.
    rest: Any = None


class Records(Sequence[Any]):
    """Records as text; one that the quick parser refuses is left to the patient one."""

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts

    def __len__(self) -> int:
        return len(self._texts)

    def __iter__(self) -> Iterator[Any]:
        return map(parse_record, self._texts)

    @overload
    def __getitem__(self, at: int) -> Any: ...
    @overload
    def __getitem__(self, at: slice) -> list[Any]: ...
    def __getitem__(self, at: int | slice) -> Any:
        return list(map(parse_record, self._texts[at])) if isinstance(at, slice) else parse_record(self._texts[at])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def parse_record(text: str) -> Any:
    """The record; Unreadable for a text that is no JSON or cannot be held."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    try:
        return parse_patiently(text, object_pairs_hook=_object_of_single_keys)
    except (ValueError, RecursionError):
        return Unreadable(QuarantineReason.UNREADABLE, _whatever_parses(text))


def as_json(text: str) -> str:
    """The record's text; line breaks and tabs within its strings are escaped, since no database takes them as JSON."""
    if not _CONTROL.search(text) or len(text) > MAX_RECORD_BYTES:
        return text
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        masked = text.replace("\\\\", "__").replace('\\"', "__")
        # Behind a backslash, an escape would become another text; such a record is not JSON anyway.
        return text if _ESCAPED_CONTROL.search(masked) else "".join(_escaped_strings(text, masked))
    return text


def _escaped_strings(text: str, masked: str) -> Iterator[str]:
    """The text in chunks, the control characters of its strings escaped; chunks keep the list of strings short."""
    within = 0
    for start in range(0, len(text), _CHUNK_CHARS):
        at, parts = start, list[str]()
        for part in masked[start : start + _CHUNK_CHARS].split('"'):
            own = text[at : at + len(part)]
            parts.append(_CONTROL.sub(_escaped, own) if (len(parts) + within) % 2 else own)
            at += len(part) + 1
        within += len(parts) - 1
        yield '"'.join(parts)


def _escaped(control: re.Match[str]) -> str:
    return f"\\u{ord(control.group()):04x}"


def parse_patiently(text: str, **hooks: Any) -> Any:
    """The value of a text that orjson refuses; ValueError or RecursionError where there is none.

    The standard library takes lone surrogates, numbers beyond 64 bits and, if allowed, line breaks within strings, all
    of which providers send; records that hold them are then judged one by one.
    """
    return json.loads(text, parse_constant=_refuse_constant, strict="\x00" in text, **hooks)


def _object_of_single_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object; where a key is repeated, what makes the text odd may hide behind the last value."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is repeated")
    return found


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _number_or_none(digits: str) -> int | None:
    return int(digits) if len(digits) <= _MAX_DIGITS else None


def _whatever_parses(text: str) -> Any:
    """The record without its NaN, its infinities and its endless numbers; None if it is not even then JSON."""
    try:
        return json.loads(text, parse_constant=lambda _: None, parse_int=_number_or_none, strict=False)
    except (ValueError, RecursionError):
        return None


def short_parts(value: Any, levels: int = 3) -> Any:
    """The first short texts of a record that is not kept: its id is among them."""
    if isinstance(value, str):
        return value if len(value) <= _SHORT_CHARS else None
    if isinstance(value, dict) and levels:
        return {name: short_parts(one, levels - 1) for name, one in islice(value.items(), _FIRST_PARTS)}
    return (
        [short_parts(one, levels - 1) for one in value[:_FIRST_PARTS]] if isinstance(value, list) and levels else None
    )


def cut_out(body: bytes, texts: list[bytes]) -> bytes | None:
    """The page without these records of its list; none unless they stand there one after the other, and only there."""
    start, end = body.find(texts[0]), body.rfind(texts[-1]) + len(texts[-1])
    between = len(texts) - 1
    return body[:start] + body[end:] if end - start == sum(map(len, texts)) + between else None
