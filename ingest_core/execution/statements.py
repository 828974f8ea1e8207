"""What a page says about its result: its total, the next place, whether more follows, how far it moved.

A value that cannot be one of these shows that a path is wrong or that the provider has changed. Read as "nothing
said", it would end the list early and the watermark would pass the loss, so it is an error. Null, an absent value, an
empty text and an empty list say nothing. A list of one value is that value: `$.links[?(@.rel=='next')].href` finds one.
"""

import json
import math
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from ingest_core.model.redaction import excerpt
from ingest_core.registry.paths import TEXT

MAX_PLACE_CHARS = 16_384
"""Of a next token or URL, in characters; the longest that is known, Crossref's, has 1,512."""

_UNUSABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_SHOWN_CHARS = 120
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}(\.0+)?")
_LARGEST = 10**18
_TRUE = frozenset({"true", "yes", "y", "t", "1"})
_FALSE = frozenset({"false", "no", "n", "f", "0"})
Plain = str | float | bool | None
_LINK = re.compile(r"@(.*:)?(href|url|uri)", re.IGNORECASE)


class StatementInvalid(Exception):
    """A page's statement has a value that cannot be one."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class _NotPlain(Exception):
    """The value is an object, or a list of several values."""


@dataclass(frozen=True)
class Statement:
    """The value that a path found on a page, and the source file's key that names the path."""

    key: str
    path: str
    value: Any
    xml: bool = False

    def next_place(self) -> str | None:
        """The token or URL of the next page, None where the page names none."""
        try:
            found = None if self._is_element_without_text() else _plain(self.value)
        except _NotPlain:
            self._refuse_place()
        if isinstance(found, bool) or (isinstance(found, float) and not math.isfinite(found)):
            self._refuse_place()
        place = None if found is None else str(found)
        if place and (len(place) > MAX_PLACE_CHARS or _UNUSABLE.search(place)):
            self._refuse_token(place)
        return place

    def more_follows(self) -> bool | None:
        """Whether the page says that more follows, None where it says neither."""
        try:
            found = _plain(self.value)
        except _NotPlain:
            self._refuse_more()
        if found is None or isinstance(found, bool):
            return found
        word = str(found).lower()
        if word in _TRUE | _FALSE:
            return word in _TRUE
        number = _whole_number(found)  # of the records that remain
        return number > 0 if number is not None and number >= 0 else self._refuse_more()

    def total(self) -> int | None:
        """The number of records in the result, None where it is not stated; below 0 it is unknown to the provider."""
        remedy = "Point the path at the number, or remove `response.total`."
        number = self._number("TOTAL_INVALID", remedy)
        return None if number is None or number < 0 else number

    def step(self, records: int) -> int | None:
        """By how many records the page moves on, None where it is not stated; a page with records moves on."""
        remedy = "Point the path at the number, or remove `pagination.step`."
        number = self._number("STEP_INVALID", remedy)
        if number is not None and (number < 0 or (number == 0 and records)):
            what = f"a step that moves on from a page of {records} records"
            self._refuse("STEP_INVALID", what, remedy)
        return number

    def _number(self, code: str, remedy: str) -> int | None:
        try:
            found = _plain(self.value)
            number = _whole_number(found)
        except _NotPlain:
            self._refuse(code, "a whole number", remedy)
        if number is None and found is not None:
            self._refuse(code, "a whole number", remedy)
        return number

    def _is_element_without_text(self) -> bool:
        """Whether it is an XML element with attributes alone, as OAI-PMH's last `resumptionToken` is."""
        one = self.value[0] if isinstance(self.value, list) and len(self.value) == 1 else self.value
        if not self.xml or not isinstance(one, dict) or not all(name.startswith("@") for name in one):
            return False
        # A link in an attribute is a next place: the path lacks its last step.
        return not any(map(_LINK.fullmatch, one))

    def _refuse_token(self, place: str) -> NoReturn:
        """Refuse what no database would keep, or no request could carry."""
        long = f"it has {len(place):,} characters, the most is {MAX_PLACE_CHARS:,}"
        why = long if len(place) > MAX_PLACE_CHARS else "it holds a control character or half of a surrogate pair"
        message = f"{self.key} {self.path} found {_shown(place)}, which cannot be a next place: {why}."
        raise StatementInvalid("NEXT_TOKEN_INVALID", message)

    def _refuse_place(self) -> NoReturn:
        remedy = "Point the path at the token or URL itself."
        self._refuse("NEXT_PLACE_INVALID", "a text or a number", remedy)

    def _refuse_more(self) -> NoReturn:
        remedy = "Point the path at that value, or remove `pagination.has_more`."
        self._refuse("HAS_MORE_INVALID", "true, false or a number of remaining records", remedy)

    def _refuse(self, code: str, expected: str, remedy: str) -> NoReturn:
        message = f"{self.key} {self.path} found {_shown(self.value)}, expected {expected}. {remedy}"
        raise StatementInvalid(code, message)


def _plain(value: Any) -> Plain:
    """The one plain value, None for nothing; an object counts as its text where it has nothing else but attributes."""
    if isinstance(value, list):
        return _only(value)
    if isinstance(value, dict):
        if TEXT not in value or not all(name == TEXT or name.startswith("@") for name in value):
            raise _NotPlain
        value = value[TEXT]
    if isinstance(value, list | dict):
        raise _NotPlain
    if isinstance(value, str):
        return value.strip() or None
    return value  # type: ignore[no-any-return]


def _only(values: list[Any]) -> Plain:
    """The one value of a list; equal ones are one."""
    if any(isinstance(one, list) or (isinstance(one, dict) and len(values) > 1) for one in values):
        raise _NotPlain
    found = [plain for one in values if (plain := _plain(one)) is not None]
    if any(one != found[0] for one in found):
        raise _NotPlain
    return found[0] if found else None


def _whole_number(value: Plain) -> int | None:
    """The number, also written as text; None for anything else."""
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value.partition(".")[0])
    if isinstance(value, bool | str) or value is None or not -_LARGEST <= value <= _LARGEST:  # NaN is neither
        return None
    return int(value) if value == int(value) else None


def _shown(value: Any) -> str:
    try:
        return excerpt(json.dumps(value), _SHOWN_CHARS)
    except (RecursionError, ValueError):
        return "a value that cannot be shown"
