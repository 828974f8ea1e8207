"""The fields `select` may name; what it does not name is not in the answer."""

from typing import Any

from deployments.sandbox.crossref.failure import ValidationFailureError

LISTED = """
    abstract URL resource member posted score created degree update-policy short-title license ISSN
    container-title issued update-to issue prefix approved indexed article-number clinical-trial-number accepted
    author group-title DOI is-referenced-by-count updated-by event chair standards-body original-title funder
    translator published archive published-print alternative-id subject subtitle published-online
    publisher-location content-domain reference title link type publisher volume references-count ISBN issn-type
    assertion deposited page content-created short-container-title relation editor
"""
FIELDS = tuple(LISTED.split())
KNOWN = frozenset(FIELDS)


def read_select(text: str | None) -> frozenset[str] | None:
    """The fields asked for; None is all of them."""
    if text is None:
        return None
    for name in text.split(","):
        if name not in KNOWN:
            message = (
                f"Select '{name}' specified but there is no such select for this route."
                f" Valid selects for this route are: {', '.join(FIELDS)}"
            )
            raise ValidationFailureError("select-not-available", name, message)
    return frozenset(text.split(","))


def pick(work: dict[str, Any], fields: frozenset[str] | None) -> dict[str, Any]:
    """The work with only the selected fields."""
    return work if fields is None else {name: value for name, value in work.items() if name in fields}
