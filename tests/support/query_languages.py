"""Small readers of the providers' query languages: what a text means to them, apart from how the product writes it."""

import re
from collections.abc import Callable
from dataclasses import dataclass

Lexeme = tuple[str, str]
"""A sign of a query and what it holds."""


class Broken(Exception):
    """A text the provider would not read as it was meant."""


@dataclass(frozen=True)
class Language:
    """How a provider reads a parameter, and what becomes of a value it may hold."""

    read: Callable[[str], list[Lexeme]]
    clean: Callable[[str], str]


def words_of(value: str) -> str:
    """The value with its white space collapsed, in one case."""
    return " ".join(value.split()).casefold()


def without_quotes(value: str) -> str:
    """What is left of a value in a language without escapes."""
    return words_of(value.replace('"', " ").replace("\\", " "))


_SIGNS = r"""
    (?P<space>\s+)
  | (?P<phrase>{phrase})
  | (?P<bracket>\[[^\]]*\])
  | (?P<operator>(?:AND|OR|NOT|ANDNOT|TO)\b(?!:))
  | (?P<field>[A-Za-z_][\w.]*:)
  | (?P<word>\w[\w.-]*)
  | (?P<mark>.)
"""
_PLAIN = re.compile(_SIGNS.format(phrase=r'"[^"]*"'), re.VERBOSE | re.DOTALL)
_ESCAPED = re.compile(_SIGNS.format(phrase=r'"(?:\\.|[^"\\])*"'), re.VERBOSE | re.DOTALL)


def read_signs(text: str, signs: re.Pattern[str]) -> list[Lexeme]:
    """The signs of a query language: phrases, brackets, operators, fields, words and marks."""
    found = [(str(match.lastgroup), match.group()) for match in signs.finditer(text)]
    return [(kind, _held(kind, sign)) for kind, sign in found if kind != "space"]


def _held(kind: str, sign: str) -> str:
    if (kind, sign) == ("mark", '"'):
        raise Broken("a quote is never closed")
    if kind == "phrase" and not sign[1:-1].strip():
        raise Broken("a phrase of nothing")
    return sign[1:-1] if kind == "phrase" else sign


def read_phrases(text: str) -> list[Lexeme]:
    """A language whose phrases end at the next quote: PubMed, Europe PMC, arXiv, ClinicalTrials.gov."""
    return read_signs(text, _PLAIN)


def read_lucene(text: str) -> list[Lexeme]:
    """Lucene: within a phrase, a backslash takes the meaning from what follows."""
    signs = read_signs(text, _ESCAPED)
    return [
        (kind, re.sub(r"\\(.)", r"\1", held, flags=re.DOTALL) if kind == "phrase" else held) for kind, held in signs
    ]


def read_doaj(text: str) -> list[Lexeme]:
    """Lucene as DOAJ serves it: wildcards, ~ and colons that are not escaped count even within quotes."""
    for kind, held in read_signs(text, _ESCAPED):
        if kind == "phrase" and re.search(r"[?*~:]", re.sub(r"\\.", "", held, flags=re.DOTALL)):
            raise Broken(f"DOAJ looks into the phrase {held!r}")
    return read_lucene(text)


def read_openalex(text: str) -> list[Lexeme]:
    """Phrases in which wildcards and ~ keep their meaning."""
    signs = read_phrases(text)
    if any(kind == "phrase" and re.search(r"[?*~]", held) for kind, held in signs):
        raise Broken(f"OpenAlex looks into a phrase of {text!r}")
    return signs


def read_filter(text: str) -> list[Lexeme]:
    """Filters: a comma begins another, | another value, ! negates; a value is one word or one phrase."""
    found: list[Lexeme] = []
    for part in text.split(","):
        name, colon, values = part.partition(":")
        if not colon or not re.fullmatch(r"[a-z_.-]+", name):
            raise Broken(f"{part!r} is no filter")
        found.append(("name", name))
        found += [("value", _filter_value(value)) for value in values.split("|")]
    return found


def _filter_value(text: str) -> str:
    if text.startswith('"'):
        signs = read_openalex(text)
        if len(signs) != 1:
            raise Broken(f"{text!r} is more than a phrase")
        return signs[0][1]
    if not re.fullmatch(r"[\w.:-]+", text):
        raise Broken(f"{text!r} is more than a value")
    return text


def read_plain(text: str) -> list[Lexeme]:
    """A parameter that is a value and nothing else."""
    return [("value", text)]


PHRASES = Language(read_phrases, without_quotes)
LUCENE = Language(read_lucene, words_of)
LANGUAGES = {
    ("crossref", "filter"): Language(read_filter, without_quotes),
    ("crossref", "query"): Language(read_plain, words_of),
    ("openalex", "filter"): Language(read_filter, without_quotes),
    ("openalex", "search"): Language(read_openalex, without_quotes),
    ("datacite", "query"): LUCENE,
    ("zenodo", "q"): LUCENE,
    ("doaj", "path 4"): Language(read_doaj, words_of),
    ("biorxiv", "category"): Language(read_plain, words_of),
    ("medrxiv", "category"): Language(read_plain, words_of),
}
"""By source and parameter; any other is read as phrases, the strictest way."""
