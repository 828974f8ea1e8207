"""How values are worded in the common record, written by hand and apart from the product's own rules."""

import re
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

ORCID = re.compile(r"\d{4}-\d{4}-\d{4}-\d{3}[\dX]")
DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")
RESOLVER = re.compile(r"^(?:https?://(?:dx\.)?doi\.org/|doi:)", re.IGNORECASE)


def text_of(value: object) -> str | None:
    """The text without white space around it; None when nothing is left."""
    return value.strip() or None if isinstance(value, str) else None


def real_date(value: object) -> str | None:
    """A year, month or day that exists, the time of day dropped; None for anything else."""
    text = str(value).strip().partition("T")[0]
    found = DATE.fullmatch(text)
    try:
        return text if found and date(*(int(part or 1) for part in found.groups())) else None
    except ValueError:
        return None


def bare_orcid(value: object) -> str | None:
    """The ORCID within the text, without the address around it."""
    found = ORCID.search(value) if isinstance(value, str) else None
    return found[0] if found else None


def bare_doi(value: object) -> str | None:
    """The DOI in lower case, without the address of a resolver."""
    text = text_of(value)
    return RESOLVER.sub("", text).lower() if text else None


def first(values: Iterable[str | None]) -> str | None:
    """The first that is there."""
    return next((value for value in values if value), None)


def filled(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that have something to say."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}
