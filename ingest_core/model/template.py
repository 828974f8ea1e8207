"""Templates without code: literal text, named values, and white-listed functions.

`{value|phrase}[tiab]`: the named value, through a function, then text. `{{` and `}}` are braces.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([a-z_][a-z0-9_]*)((?:\|[a-z_]+)*)\}|[{}]")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_SPACE = re.compile(r"\s+")
_LUCENE = re.compile(r'([+\-!(){}\[\]^"~*?:\\/&|<>=])')
_BOOLEAN = re.compile(r"\b(AND|OR|NOT|TO)\b")


def percent_encode(text: str) -> str:
    """Text that is data wherever it stands in a URL."""
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in text.encode("utf-8", "replace"))


def _squash(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


def _phrase(text: str) -> str:
    """A quoted phrase for a language without escapes: quotes inside become spaces."""
    return f'"{_squash(text.replace(chr(34), " ").replace(chr(92), " "))}"'


def _lucene_phrase(text: str) -> str:
    """A quoted phrase in Lucene's syntax."""
    return '"' + _squash(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _lucene_words(text: str) -> str:
    """Bare words in Lucene's syntax: operators lose their meaning."""
    return _BOOLEAN.sub(lambda match: match.group().lower(), _LUCENE.sub(r"\\\1", _squash(text)))


FUNCTIONS: Mapping[str, Callable[[str], str]] = {
    "lower": str.lower,
    "upper": str.upper,
    "squash": _squash,
    "phrase": _phrase,
    "lucene_phrase": _lucene_phrase,
    "lucene": _lucene_words,
    "url": percent_encode,
}
"""What a template may do to a value; no function reads or writes anything."""


class TemplateError(ValueError):
    """A template that says something it may not."""


@dataclass(frozen=True)
class Placeholder:
    """A named value, through functions."""

    name: str
    functions: tuple[str, ...] = ()

    def render(self, value: Any, separator: str = ",") -> str:
        """The value as text; of several, each goes through the functions."""
        if isinstance(value, list | tuple):
            return separator.join(self.render(one) for one in value)
        text = str(value)
        for function in self.functions:
            text = FUNCTIONS[function](text)
        return text


@dataclass(frozen=True)
class Template:
    """A parsed template."""

    parts: tuple[str | Placeholder, ...]

    @property
    def names(self) -> frozenset[str]:
        """The values it needs."""
        return frozenset(part.name for part in self.parts if isinstance(part, Placeholder))

    def render(self, values: Mapping[str, Any], separator: str = ",") -> str | None:
        """The text; None where a value it needs is not there, so that the parameter is left out."""
        if any(values.get(name) is None for name in self.names):
            return None
        return "".join(
            part if isinstance(part, str) else part.render(values[part.name], separator) for part in self.parts
        )

    def value(self, values: Mapping[str, Any]) -> Any:
        """A lone slot's value as it is, of whatever type; anything else as text."""
        if len(self.parts) == 1 and isinstance(self.parts[0], Placeholder) and not self.parts[0].functions:
            return values.get(self.parts[0].name)
        return self.render(values)


@lru_cache(maxsize=1024)
def parse_template(text: str) -> Template:
    """The template; TemplateError names what is wrong and where."""
    parts: list[str | Placeholder] = []
    end = 0
    for match in _PLACEHOLDER.finditer(text):
        parts.append(text[end : match.start()])
        end = match.end()
        if match.group() in ("{{", "}}"):
            parts.append(match.group()[0])
        elif match.group(1) is None:
            raise TemplateError(
                f"column {match.start() + 1}: a brace stands alone; write {{name}}, or {{{{ for a brace"
            )
        else:
            parts.append(_placeholder(match))
    parts.append(text[end:])
    return Template(tuple(part for part in parts if part != ""))


def _placeholder(match: re.Match[str]) -> Placeholder:
    functions = tuple(name for name in match.group(2).split("|") if name)
    for name in functions:
        if name not in FUNCTIONS:
            raise TemplateError(f"column {match.start() + 1}: unknown function {name!r}; known: {', '.join(FUNCTIONS)}")
    return Placeholder(match.group(1), functions)
