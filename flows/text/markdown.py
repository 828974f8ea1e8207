"""Pieces of the pages that runs show."""

import re
from collections.abc import Iterable, Sequence

from ingest_core.model.visible import visible

_MARKUP = re.compile(r"<[^<>]*>|[<>\[\]`*#|]")
LONGEST_CAPTION = 200


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose cells are text as it is."""
    lines = [columns, ["---"] * len(columns), *([text(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def text(value: str) -> str:
    """Text as it is: neither markup nor a link nor a cell's end."""
    return re.sub(r"([\\|*_`<>\[\]#&])", r"\\\1", visible(" ".join(value.split())))


def caption(value: str) -> str:
    """Text without any markup, for a place that Prefect draws in one view and shows as it is in another."""
    return visible(" ".join(_MARKUP.sub(" ", value).split()))[:LONGEST_CAPTION]
