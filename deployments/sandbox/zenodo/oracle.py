"""The common record an upload must become."""

from collections.abc import Mapping
from typing import Any

from deployments.sandbox.datacite.values import bare_doi, filled, real_date, text_of


def common_record(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a harvest must make of this body."""
    metadata = body["metadata"]
    published, created = real_date(metadata.get("publication_date")), real_date(body.get("created"))
    return filled(
        {
            "title": text_of(metadata.get("title")),
            "authors": [author for creator in metadata.get("creators", ()) if (author := _author(creator))],
            "dates": filled({"published": published, "created": created}),
            "identifiers": filled({"doi": bare_doi(body.get("doi"))}),
            "journal": filled({"title": text_of((metadata.get("journal") or {}).get("title"))}),
            "type": text_of(metadata["resource_type"].get("type")),
            "abstract": text_of(metadata.get("description")),
        }
    )


def _author(creator: Mapping[str, Any]) -> dict[str, Any] | None:
    name = text_of(creator.get("name"))
    return filled({"name": name, "orcid": text_of(creator.get("orcid"))}) if name else None
