"""The common record a DOI must become."""

from collections.abc import Mapping
from typing import Any

from deployments.sandbox.datacite.values import bare_doi, bare_orcid, filled, first, real_date, text_of


def common_record(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a harvest must make of this body."""
    attributes = body["attributes"]
    published = first(real_date(date) for date in (*_issued(attributes), attributes.get("publicationYear")))
    return filled(
        {
            "title": text_of(attributes["titles"][0].get("title")) if attributes.get("titles") else None,
            "authors": [author for creator in attributes.get("creators", ()) if (author := _author(creator))],
            "dates": filled({"published": published, "created": real_date(attributes.get("created"))}),
            "identifiers": filled({"doi": bare_doi(attributes["doi"]), "arxiv": _arxiv(attributes)}),
            "journal": _journal(attributes.get("container") or {}),
            "type": text_of(attributes["types"].get("resourceTypeGeneral")),
            "abstract": first(
                text_of(one.get("description"))
                for one in attributes.get("descriptions", ())
                if one.get("descriptionType") == "Abstract"
            ),
        }
    )


def _issued(attributes: Mapping[str, Any]) -> list[object]:
    return [one.get("date") for one in attributes.get("dates", ()) if one.get("dateType") == "Issued"]


def _author(creator: Mapping[str, Any]) -> dict[str, Any] | None:
    parts = [text for name in ("givenName", "familyName") if (text := text_of(creator.get(name)))]
    name = " ".join(parts) or text_of(creator.get("name"))
    identifiers = creator.get("nameIdentifiers") or ()
    orcid = first(bare_orcid(one.get("nameIdentifier")) for one in identifiers)
    return filled({"name": name, "orcid": orcid}) if name else None


def _arxiv(attributes: Mapping[str, Any]) -> str | None:
    return first(
        text_of(one.get("identifier"))
        for one in attributes.get("identifiers", ())
        if one.get("identifierType") == "arXiv"
    )


def _journal(container: Mapping[str, Any]) -> dict[str, Any]:
    issn = text_of(container.get("identifier")) if container.get("identifierType") == "ISSN" else None
    return filled({"title": text_of(container.get("title")), "issn": [issn] if issn else []})
