"""The common record a DOI must become."""

from collections.abc import Mapping
from typing import Any

from deployments.sandbox.expected import bare_doi, bare_orcid, first, real_date, said, text, unique


def common_record(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a harvest must make of this body."""
    attributes = body["attributes"]
    published = first(real_date(date) for date in (*_issued(attributes), attributes.get("publicationYear")))
    return said(
        {
            "title": text(attributes["titles"][0].get("title")) if attributes.get("titles") else "",
            "authors": [author for creator in attributes.get("creators", ()) if (author := _author(creator))],
            "dates": said({"published": published, "created": real_date(attributes.get("created"))}),
            "identifiers": said({"doi": bare_doi(attributes["doi"]), "arxiv": _arxiv(attributes)}),
            "journal": _journal(attributes.get("container") or {}),
            "type": text(attributes["types"].get("resourceTypeGeneral")),
            "abstract": first(
                text(one.get("description"))
                for one in attributes.get("descriptions", ())
                if one.get("descriptionType") == "Abstract"
            ),
        }
    )


def _issued(attributes: Mapping[str, Any]) -> list[object]:
    return [one.get("date") for one in attributes.get("dates", ()) if one.get("dateType") == "Issued"]


def _author(creator: Mapping[str, Any]) -> dict[str, str]:
    parts = (text(creator.get("givenName")), text(creator.get("familyName")))
    name = " ".join(part for part in parts if part) or text(creator.get("name"))
    identifiers = creator.get("nameIdentifiers") or ()
    orcid = first(bare_orcid(one.get("nameIdentifier")) for one in identifiers)
    return said({"name": name, "orcid": orcid}) if name else {}


def _arxiv(attributes: Mapping[str, Any]) -> str:
    return first(
        text(one.get("identifier")) for one in attributes.get("identifiers", ()) if one.get("identifierType") == "arXiv"
    )


def _journal(container: Mapping[str, Any]) -> dict[str, Any]:
    issn = [container.get("identifier")] if container.get("identifierType") == "ISSN" else []
    return said({"title": text(container.get("title")), "issn": unique(issn)})
