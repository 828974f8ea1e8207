"""A record's common fields as people read them."""

from collections.abc import Iterator
from typing import Any

SHOWN_PARTS = 5
"""The authors, or other parts of a list, that are shown."""


def record_facts(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and values in plain text, the title first: authors are their names, dates and ids are named."""
    for name in sorted(record, key=lambda one: (one != "title", one != "authors")):
        yield name, _plain(record[name])


def _plain(value: Any) -> str:
    if isinstance(value, list):
        shown = ", ".join(map(_plain, value[:SHOWN_PARTS]))
        return shown if len(value) <= SHOWN_PARTS else f"{shown} and {len(value) - SHOWN_PARTS} more"
    if isinstance(value, dict):
        return (
            str(value["name"]) if "name" in value else ", ".join(f"{key} {_plain(one)}" for key, one in value.items())
        )
    return str(value)
