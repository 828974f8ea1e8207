"""The common record an upload must become."""

from collections.abc import Mapping
from typing import Any

from deployments.sandbox.expected import bare_doi, bare_orcid, real_date, said, text


def common_record(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a harvest must make of this body."""
    metadata = body["metadata"]
    published, created = real_date(metadata.get("publication_date")), real_date(body.get("created"))
    return said(
        {
            "title": text(metadata.get("title")),
            "authors": [author for creator in metadata.get("creators", ()) if (author := _author(creator))],
            "dates": said({"published": published, "created": created}),
            "identifiers": said({"doi": bare_doi(body.get("doi"))}),
            "journal": said({"title": text((metadata.get("journal") or {}).get("title"))}),
            "type": text(metadata["resource_type"].get("type")),
            "abstract": text(metadata.get("description")),
        }
    )


def _author(creator: Mapping[str, Any]) -> dict[str, str]:
    name = text(creator.get("name"))
    return said({"name": name, "orcid": bare_orcid(creator.get("orcid"))}) if name else {}
