"""What a mapping may do to a value it found: white-listed functions, by name."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ingest_core.registry.bounds import MAX_COMMON_VALUES, MAX_NUMBER_BITS, BoundExceeded, check_chars, elements, joined
from ingest_core.registry.dates import partial_date
from ingest_core.registry.paths import TEXT
from ingest_core.registry.patterns import compile_pattern

Function = Callable[[Any], Any]

_DOI_PREFIX = re.compile(r"^(?:https?://(?:dx\.)?doi\.org/|doi:\s*)", re.IGNORECASE)
_ORCID = re.compile(r"(\d{4})-?(\d{4})-?(\d{4})-?(\d{3}[\dXx])\Z")
_ORCID_CHARS = len("0000-0000-0000-0000")
_SPACE = re.compile(r"\s+")


def text_of(value: Any) -> str | None:
    """A scalar as trimmed text; None for nothing, and for what is no scalar."""
    while isinstance(value, dict):
        value = value.get(TEXT)
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int) and value.bit_length() > MAX_NUMBER_BITS:
        raise BoundExceeded(f"a number has more than {MAX_NUMBER_BITS:,} bits")
    return str(value)


def plain(value: Any) -> Any:
    """What a path found, as the common record holds it: texts, or flat lists of them; None where there is nothing."""
    if type(value) is str:
        return value.strip() or None
    if not isinstance(value, list):
        return text_of(value)
    return [text for one in elements(value) if (text := text_of(one)) is not None] or None


def _each(function: Callable[[str], Any]) -> Function:
    """The function on a text, or on each of a list's."""

    def apply(value: Any) -> Any:
        if type(value) is str:
            text = value.strip()
            return function(text) if text else None
        found = plain(value)
        if isinstance(found, list):
            return [one for text in found if (one := function(text)) not in (None, "")] or None
        return None if found is None else function(found)

    return apply


def _doi(text: str) -> str | None:
    if text.startswith("10."):
        return text.lower()
    return _DOI_PREFIX.sub("", text).strip().lower() or None


def _orcid(text: str) -> str | None:
    # It ends the text, but for a slash: looking for that at every digit would take quadratic time.
    match = _ORCID.search(text.removesuffix("/").rstrip()[-_ORCID_CHARS:])
    return "-".join(match.groups()).upper() if match else None


def _unique(value: Any) -> Any:
    found = plain(value)
    return list(dict.fromkeys(found)) if isinstance(found, list) else found


def _first(value: Any) -> Any:
    found = plain(value)
    return found[0] if isinstance(found, list) else found


def _list(value: Any) -> Any:
    found = plain(value)
    return found if found is None or isinstance(found, list) else [found]


def _words(value: Any) -> str | None:
    """The text an inverted index (word -> positions) was made from."""
    if not isinstance(value, dict):
        return None
    places: list[tuple[int, str]] = []
    chars = 0
    for word, positions in value.items():
        whole = [at for at in positions if isinstance(at, int)] if isinstance(positions, list) else []
        chars += (len(word) + 1) * len(whole)  # one long word at many positions is short in the record
        check_chars(chars)
        places += [(at, word) for at in whole]
    return " ".join(word for _, word in sorted(places, key=lambda place: place[0])) or None


def _joined(separator: str) -> Function:
    def apply(value: Any) -> Any:
        found = plain(value)
        return joined(separator, found) if isinstance(found, list) else found

    return apply


def _split(separator: str) -> Function:
    if not separator:
        raise ValueError("what to split at is not said, as in split:;")

    def apply(value: Any) -> Any:
        found = plain(value)
        if not isinstance(found, str):
            return found
        if found.count(separator) >= MAX_COMMON_VALUES:
            raise BoundExceeded(f"the value has more than {MAX_COMMON_VALUES:,} parts")
        return [part for piece in found.split(separator) if (part := piece.strip())] or None

    return apply


def _match(pattern: str) -> Function:
    expression = compile_pattern(pattern)

    def find(text: str) -> str | None:
        match = expression.search(text)
        return (match.group(1) if expression.groups else match.group()) if match else None

    return _each(find)


_PLAIN: dict[str, Function] = {
    "text": plain,
    "lower": _each(str.lower),
    "upper": _each(str.upper),
    "squash": _each(lambda text: _SPACE.sub(" ", text)),
    "doi": _each(_doi),
    "orcid": _each(_orcid),
    "date": partial_date,
    "first": _first,
    "unique": _unique,
    "list": _list,
    "words": _words,
}
_WITH_ARGUMENT: dict[str, Callable[[str], Function]] = {"split": _split, "join": _joined, "match": _match}

FUNCTION_NAMES = (*_PLAIN, *(f"{name}:..." for name in _WITH_ARGUMENT))


@lru_cache(maxsize=256)
def find_function(text: str) -> Function:
    """The function of that name, such as `doi` or `split:;`; KeyError or ValueError where there is none."""
    name, colon, argument = text.partition(":")
    return _WITH_ARGUMENT[name](argument) if colon else _PLAIN[name]
