"""The texts at a dotted path of a record, through lists, as a search index sees them."""

from collections.abc import Iterator
from typing import Any


def texts_at(value: Any, path: str) -> Iterator[str]:
    """Every text or number at the path; none when there is no such path."""
    if isinstance(value, list):
        for one in value:
            yield from texts_at(one, path)
    elif path:
        name, _, rest = path.partition(".")
        if isinstance(value, dict):
            yield from texts_at(value.get(name), rest)
    elif isinstance(value, str | int) and not isinstance(value, bool):
        yield str(value)
