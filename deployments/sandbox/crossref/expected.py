"""The common record a Crossref work must become, written by hand straight from its body."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from deployments.sandbox.expected import bare_doi, bare_orcid, said, text, unique

LENGTHS = {1: 4, 2: 7, 3: 10}


def expected_record(work: Mapping[str, Any]) -> dict[str, Any]:
    """What a harvest must make of this body; nothing to say, no key."""
    return said(
        {
            "title": text((work.get("title") or [None])[0]),
            "authors": [author for entry in work.get("author") or () if (author := read_author(entry))],
            "dates": said({"published": published(work), "created": created(work)}),
            "identifiers": said({"doi": bare_doi(work.get("DOI"))}),
            "journal": journal(work),
            "type": text(work.get("type")),
            "abstract": text(work.get("abstract")),
        }
    )


def read_author(entry: Mapping[str, Any]) -> dict[str, str]:
    """The name and ORCID; empty for an author without a name."""
    parts = (text(entry.get("given")), text(entry.get("family")))
    name = " ".join(part for part in parts if part) or text(entry.get("name"))
    return said({"name": name, "orcid": bare_orcid(entry.get("ORCID"))}) if name else {}


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
    return said({"title": title, "issn": unique(work.get("ISSN") or ())})
