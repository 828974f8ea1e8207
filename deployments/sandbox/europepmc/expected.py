"""The common record a Europe PMC record must become, written by hand straight from its body."""

from collections.abc import Mapping
from typing import Any

from deployments.sandbox.expected import bare_doi, bare_orcid, said, text, unique


def expected_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a harvest must make of this body; nothing to say, no key."""
    published = text(record.get("firstPublicationDate")) or text(record.get("pubYear"))
    authors = (record.get("authorList") or {}).get("author") or ()
    kinds = (record.get("pubTypeList") or {}).get("pubType") or [None]
    return said(
        {
            "title": text(record.get("title")),
            "authors": [author for entry in authors if (author := read_author(entry))],
            "dates": said({"published": published, "created": text(record.get("dateOfCreation"))}),
            "identifiers": identifiers(record),
            "journal": journal(record),
            "type": text(kinds[0]),
            "abstract": text(record.get("abstractText")),
        }
    )


def read_author(entry: Mapping[str, Any]) -> dict[str, str]:
    """First and last name, else the name of a group, else the name as printed; empty without any."""
    parts = (text(entry.get("firstName")), text(entry.get("lastName")))
    name = " ".join(part for part in parts if part) or text(entry.get("collectiveName")) or text(entry.get("fullName"))
    known = entry.get("authorId") or {}
    orcid = bare_orcid(known.get("value")) if known.get("type") == "ORCID" else ""
    return said({"name": name, "orcid": orcid}) if name else {}


def identifiers(record: Mapping[str, Any]) -> dict[str, str]:
    """The ids as they stand; a DOI has no case."""
    others = {name: text(record.get(name)) for name in ("pmid", "pmcid")}
    return said({"doi": bare_doi(record.get("doi")), **others})


def journal(record: Mapping[str, Any]) -> dict[str, Any]:
    """The journal, and its printed and electronic ISSN."""
    given = (record.get("journalInfo") or {}).get("journal") or {}
    return said({"title": text(given.get("title")), "issn": unique(given.get(name) for name in ("issn", "essn"))})
