"""The common record an OpenAlex work must become, written by hand straight from its body."""

from collections.abc import Mapping
from typing import Any

from deployments.sandbox.expected import bare_doi, bare_orcid, said, text, unique

DAY = 10


def expected_record(work: Mapping[str, Any]) -> dict[str, Any]:
    """What a harvest must make of this body; nothing to say, no key."""
    year = work.get("publication_year")
    published = text(work.get("publication_date")) or (str(year) if year else "")
    created = text(work.get("created_date"))[:DAY]
    return said(
        {
            "title": text(work.get("title")),
            "authors": [author for entry in work["authorships"] if (author := read_author(entry))],
            "dates": said({"published": published, "created": created}),
            "identifiers": identifiers(work),
            "journal": journal(work),
            "type": text(work.get("type")),
            "abstract": abstract(work.get("abstract_inverted_index")),
        }
    )


def read_author(entry: Mapping[str, Any]) -> dict[str, str]:
    """The author's own name, else the name as printed; empty without either."""
    author = entry["author"]
    name = text(author.get("display_name")) or text(entry.get("raw_author_name"))
    return said({"name": name, "orcid": bare_orcid(author.get("orcid"))}) if name else {}


def identifiers(work: Mapping[str, Any]) -> dict[str, str]:
    """The ids without their URLs; a DOI has slashes of its own."""
    ids = work["ids"]
    return said(
        {"doi": bare_doi(work.get("doi")), "pmid": last_part(ids.get("pmid")), "pmcid": last_part(ids.get("pmcid"))}
    )


def last_part(url: object) -> str:
    """What stands after the last slash."""
    return text(url).rpartition("/")[2]


def journal(work: Mapping[str, Any]) -> dict[str, Any]:
    """Where it appeared first."""
    source = (work.get("primary_location") or {}).get("source") or {}
    return said({"title": text(source.get("display_name")), "issn": unique(source.get("issn") or ())})


def abstract(index: Mapping[str, list[int]] | None) -> str:
    """The words put back where they stood."""
    placed = [(position, word) for word, positions in (index or {}).items() for position in positions]
    return " ".join(word for _, word in sorted(placed)).strip()
