"""What a harvest should make of a preprint: written by hand, straight from the body."""

from typing import Any

from deployments.sandbox.expected import bare_doi, said, text


def expected_record(preprint: dict[str, Any]) -> dict[str, Any]:
    """The common record of one version; a key with nothing to say is absent."""
    names = text(preprint["authors"]).split(";")
    return said(
        {
            "title": text(preprint["title"]),
            "authors": [{"name": name} for written in names if (name := text(written))],
            "dates": {"published": preprint["date"]},
            "identifiers": {"doi": bare_doi(preprint["doi"])},
            "type": text(preprint["type"]),
            "abstract": text(preprint["abstract"]),
        }
    )
