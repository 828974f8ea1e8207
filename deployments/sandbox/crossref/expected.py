"""The common record a Crossref work must become, written by hand straight from its body."""

from collections.abc import Mapping
from datetime import date
from typing import Any

LENGTHS = {1: 4, 2: 7, 3: 10}


def expected_record(work: Mapping[str, Any]) -> dict[str, Any]:
    """What a harvest must make of this body; nothing to say, no key."""
    return said(
        {
            "title": text((work.get("title") or [None])[0]),
            "authors": [author for entry in work.get("author") or () if (author := read_author(entry))],
            "dates": said({"published": published(work), "created": created(work)}),
            "identifiers": said({"doi": text(work.get("DOI")).lower()}),
            "journal": journal(work),
            "type": text(work.get("type")),
            "abstract": text(work.get("abstract")),
        }
    )


def said(parts: Mapping[str, Any]) -> dict[str, Any]:
    """The parts that say something."""
    return {name: part for name, part in parts.items() if part}


def text(value: object) -> str:
    """The provider's text, trimmed; empty when there is none."""
    return value.strip() if isinstance(value, str) else ""


def read_author(entry: Mapping[str, Any]) -> dict[str, str]:
    """The name and ORCID; empty for an author without a name."""
    parts = (text(entry.get("given")), text(entry.get("family")))
    name = " ".join(part for part in parts if part) or text(entry.get("name"))
    return said({"name": name, "orcid": text(entry.get("ORCID")).rpartition("/")[2]}) if name else {}


def published(work: Mapping[str, Any]) -> str:
    """The date of issue, as precise as it is given, if it is a real one."""
    listed = (work.get("issued") or {}).get("date-parts") or [[]]
    parts = [part for part in listed[0] if part is not None]
    try:
        year, month, day = (*parts, 1, 1)[:3]
        return date(year, month, day).isoformat()[: LENGTHS[len(parts)]]
    except (TypeError, ValueError, KeyError):
        return ""


def created(work: Mapping[str, Any]) -> str:
    """The day Crossref made the record."""
    return text((work.get("created") or {}).get("date-time"))[:10]


def journal(work: Mapping[str, Any]) -> dict[str, Any]:
    """Where it appeared: the first container title, and each ISSN once."""
    title = text((work.get("container-title") or [None])[0])
    return said({"title": title, "issn": list(dict.fromkeys(work.get("ISSN") or ()))})
