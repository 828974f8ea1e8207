"""Bounds on what a record's common fields take, whatever the provider sends.

Every mapping function is linear in what it reads and writes, and what it writes is counted before it is built. A record
that exceeds a bound goes to quarantine: a value that was cut short would look like the provider's own.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import orjson

MAX_COMMON_CHARS = 2_000_000
"""Characters of text in all common fields of one record."""

MAX_COMMON_VALUES = 300_000
"""Texts, lists, objects and keys in all common fields of one record; a paper of 15,000 authors has about 100,000."""

SMALL_RECORD_CHARS = 16_384
"""The common fields of a record of this length are counted at once, those of a longer one field by field."""

MAX_SEARCHED_VALUES = 300_000
"""Values of a document that jsonpath-ng may search: it keeps about 500 bytes for each value that it finds."""

MAX_NUMBER_BITS = 13_000
"""Python refuses to write numbers of more than 4,300 digits, which have 14,281 bits."""


class BoundExceeded(ValueError):
    """A value exceeds one of these bounds, or a path or pattern takes too long; `subject` is that path or pattern."""

    code = "BOUND_EXCEEDED"

    def __init__(self, message: str, subject: str = "") -> None:
        super().__init__(message)
        self.subject = subject
        self.place = ""
        """The source file's key, such as `mapping.abstract`."""
        self.provider_id: str | None = None


def flat(found: Any) -> Iterator[Any]:
    """Every element in order, also of lists within the list; a value that is no list is the only element."""
    levels = [iter([found])]
    while levels:
        for one in levels[-1]:
            if isinstance(one, list):
                levels.append(iter(one))
                break
            yield one
        else:
            levels.pop()


def elements(found: Any) -> list[Any]:
    """Every element, also of lists within the list; BoundExceeded before more are visited than a record may have."""
    plain = type(found) is list and list not in set(map(type, found))
    every: list[Any] = found if plain else list(islice(flat(found), MAX_COMMON_VALUES + 1))
    if len(every) > MAX_COMMON_VALUES:
        raise BoundExceeded(f"the value has more than {MAX_COMMON_VALUES:,} elements")
    return every


def joined(separator: str, parts: Sequence[str]) -> str:
    """The parts with the separator between them; BoundExceeded before a longer text than allowed is built."""
    check_chars(sum(map(len, parts)) + len(separator) * max(0, len(parts) - 1))
    return separator.join(parts)


def check_chars(chars: int) -> None:
    """Raise BoundExceeded if a text has more characters than all common fields together may have."""
    if chars > MAX_COMMON_CHARS:
        raise BoundExceeded(f"the value has more than {MAX_COMMON_CHARS:,} characters")


class Meter:
    """Counts the size of one record's common fields."""

    def __init__(self) -> None:
        self.chars = 0
        self.values = 0

    def add(self, value: Any, place: str = "") -> None:
        """Count a field; BoundExceeded as soon as the fields are too large together, before the rest is visited."""
        try:
            self._add(value)
        except BoundExceeded as error:
            error.place = place
            raise

    def _add(self, value: Any) -> None:
        if type(value) is str:
            self._count(len(value))
            return
        pending = [value]
        while pending:
            one = pending.pop()
            if type(one) is str:
                self._count(len(one))
            elif isinstance(one, dict):
                self._count(sum(map(len, map(str, one))), len(one))
                pending.extend(one.values())
            elif isinstance(one, list):
                self._count(0, len(one))
                pending.extend(one)
            else:
                self._count(len(str(one)))

    def _count(self, chars: int, values: int = 1) -> None:
        self.chars += chars
        self.values += values
        check_chars(self.chars)
        if self.values > MAX_COMMON_VALUES:
            raise BoundExceeded(f"the common fields have more than {MAX_COMMON_VALUES:,} values")


def check_common(fields: dict[str, Any], record_chars: int) -> int:
    """At least the characters of a record's common fields; BoundExceeded where they are too large.

    Fields of a small record are written out, which takes a thirtieth of the time: neither their characters nor their
    values are more than the bytes. Those of a large record could be many times its size, and are visited one by one.
    """
    if record_chars <= SMALL_RECORD_CHARS:
        try:
            written = len(orjson.dumps(fields))
        except TypeError:  # half of a surrogate pair, or a literal of another type
            written = MAX_COMMON_VALUES + 1
        if written <= MAX_COMMON_VALUES:
            return written
    meter = Meter()
    for name, value in fields.items():
        meter.add(value, f"mapping.{name}")
    return meter.chars


def check_searchable(document: Any) -> None:
    """Raise BoundExceeded if the document has more values, or a longer text, than jsonpath-ng may search or split."""
    pending, values = [document], 0
    while pending:
        one = pending.pop()
        if isinstance(one, list | dict):
            values += len(one)
            if values > MAX_SEARCHED_VALUES:
                raise BoundExceeded(f"the document has more than {MAX_SEARCHED_VALUES:,} values")
            pending.extend(one.values() if isinstance(one, dict) else one)
        elif isinstance(one, str):
            check_chars(len(one))
