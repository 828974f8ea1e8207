"""OpenAlex's `filter` parameter."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from deployments.sandbox.instant import EPOCH
from deployments.sandbox.openalex.failure import bad_parameters

NAMES = ("from_updated_date", "to_updated_date", "title.search", "display_name.search", "type", "openalex", "doi")
MOST_VALUES = 100
CLOCK = r"T\d{2}:\d{2}(?P<second>:\d{2}(?P<fraction>\.\d{1,6})?)?"
FORM = re.compile(rf"\d{{4}}-\d{{2}}-\d{{2}}(?P<clock>{CLOCK})?Z?")
MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Filters:
    """What a work must be to be found; values joined by `|` are alternatives."""

    from_ms: int | None = None
    to_ms: int | None = None
    words: tuple[str, ...] = ()
    types: frozenset[str] = frozenset()
    openalex: tuple[str, ...] | None = None
    dois: tuple[str, ...] | None = None

    def fit(self, kind: str, title: str) -> bool:
        """True when type and title are as asked."""
        return (not self.types or kind in self.types) and all(word in title for word in self.words)


def read_filters(text: str | None) -> Filters:
    """The filters of `name:value,name:value`; a comma always begins the next one."""
    given: dict[str, str] = {}
    for part in text.split(",") if text else ():
        name, colon, value = part.partition(":")
        name = name.strip().replace("-", "_")
        if not colon or name not in NAMES:
            valid = ", ".join(NAMES)
            message = f"{name} is not a valid field. Valid fields are underscore or hyphenated versions of: {valid}"
            raise bad_parameters(message)
        given[name] = value
    return Filters(
        from_ms=_bound(given, "from_updated_date", 0),
        to_ms=_bound(given, "to_updated_date", 1),
        words=_words(given),
        types=frozenset(_values(given, "type", str.lower) or ()),
        openalex=_values(given, "openalex", str.strip),
        dois=_values(given, "doi", str.strip),
    )


def _words(given: Mapping[str, str]) -> tuple[str, ...]:
    asked = f"{given.get('title.search', '')} {given.get('display_name.search', '')}"
    return tuple(asked.replace('"', " ").lower().split())


def _values(given: Mapping[str, str], name: str, read: Callable[[str], str]) -> tuple[str, ...] | None:
    if name not in given:
        return None
    values = given[name].split("|")
    if len(values) > MOST_VALUES:
        message = f"Maximum number of values exceeded for {name}. Decrease values to {MOST_VALUES} or below"
        raise bad_parameters(message)
    return tuple(read(value) for value in values)


def _bound(given: Mapping[str, str], name: str, end: int) -> int | None:
    """Inclusive: `to` reaches to the end of the day, minute or second it names."""
    if name not in given:
        return None
    try:
        first, last = _read_unit(given[name])
    except ValueError:
        message = f"Value for param {name} must be a date in format 2020-05-17."
        raise bad_parameters(message) from None
    return -(-((first - EPOCH) // MICROSECOND) // 1000) if end == 0 else (last - EPOCH) // timedelta(milliseconds=1) + 1


def _read_unit(text: str) -> tuple[datetime, datetime]:
    """The first and the last microsecond of the unit named."""
    found = FORM.fullmatch(text)
    if found is None:
        raise ValueError(text)
    first = datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=UTC)
    if found["fraction"]:
        return first, first
    unit = timedelta(seconds=1) if found["second"] else timedelta(minutes=1) if found["clock"] else timedelta(days=1)
    return first, first + unit - MICROSECOND
