"""How values are worded in the common record, written by hand and apart from the product's own rules."""

import re
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any
from xml.etree import ElementTree as ET

ORCID = re.compile(r"\d{4}-\d{4}-\d{4}-\d{3}[\dX]")
DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")
RESOLVER = re.compile(r"^(?:https?://(?:dx\.)?doi\.org/|doi:)", re.IGNORECASE)


def said(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The parts that say something."""
    return {name: part for name, part in parts.items() if part}


def text(value: object) -> str:
    """The provider's text, trimmed; empty when there is none."""
    return value.strip() if isinstance(value, str) else ""


def inner_text(element: ET.Element | None) -> str:
    """The text of an element with that of inline markup, runs of white space made one."""
    return "" if element is None else " ".join("".join(element.itertext()).split())


def first(values: Iterable[str]) -> str:
    """The first that says something."""
    return next((value for value in values if value), "")


def unique(values: Iterable[object]) -> list[str]:
    """Each text once, in the order given."""
    return list(dict.fromkeys(found for value in values if (found := text(value))))


def real_date(value: object) -> str:
    """A year, month or day that exists, the time of day dropped; empty for anything else."""
    day = str(value).strip().partition("T")[0]
    found = DATE.fullmatch(day)
    try:
        return day if found and date(*(int(part or 1) for part in found.groups())) else ""
    except ValueError:
        return ""


def bare_orcid(value: object) -> str:
    """The ORCID within the text, without the address around it."""
    found = ORCID.search(text(value))
    return found[0] if found else ""


def bare_doi(value: object) -> str:
    """The DOI in lower case, without the address of a resolver."""
    return RESOLVER.sub("", text(value)).lower()
