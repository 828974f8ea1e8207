"""What a harvest should make of a preprint: written by hand, straight from the body."""

from typing import Any


def expected_record(preprint: dict[str, Any]) -> dict[str, Any]:
    """The common record of one version; a key with nothing to say is absent."""
    names = [part.strip() for part in (preprint["authors"] or "").split(";")]
    record = {
        "title": (preprint["title"] or "").strip(),
        "authors": [{"name": name} for name in names if name],
        "dates": {"published": preprint["date"]},
        "identifiers": {"doi": preprint["doi"].lower()},
        "type": (preprint["type"] or "").strip(),
        "abstract": (preprint["abstract"] or "").strip(),
    }
    return {name: value for name, value in record.items() if value}
