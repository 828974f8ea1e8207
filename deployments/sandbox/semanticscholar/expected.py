"""The common record a Semantic Scholar paper must become, written by hand straight from its body."""

from collections.abc import Mapping
from typing import Any

from deployments.sandbox.expected import bare_doi, said, text, unique

OTHERS = {"pmid": "PubMed", "pmcid": "PubMedCentral", "arxiv": "ArXiv"}


def expected_record(paper: Mapping[str, Any]) -> dict[str, Any]:
    """What a harvest must make of this body; nothing to say, no key."""
    year = paper.get("year")
    published = text(paper.get("publicationDate")) or (str(year) if year else "")
    names = [text(author.get("name")) for author in paper.get("authors") or ()]
    return said(
        {
            "title": text(paper.get("title")),
            "authors": [{"name": name} for name in names if name],
            "dates": said({"published": published}),
            "identifiers": identifiers(paper.get("externalIds") or {}),
            "journal": journal(paper),
            "type": text((paper.get("publicationTypes") or [None])[0]),
            "abstract": text(paper.get("abstract")),
        }
    )


def identifiers(given: Mapping[str, Any]) -> dict[str, str]:
    """The ids others gave the paper, as they stand; a DOI has no case."""
    others = {name: text(given.get(theirs)) for name, theirs in OTHERS.items()}
    return said({"doi": bare_doi(given.get("DOI")), **others})


def journal(paper: Mapping[str, Any]) -> dict[str, Any]:
    """The journal, else the venue; ISSNs are those of the venue."""
    venue = paper.get("publicationVenue") or {}
    title = text((paper.get("journal") or {}).get("name")) or text(paper.get("venue"))
    return said({"title": title, "issn": unique((venue.get("issn"), *(venue.get("alternate_issns") or ())))})
