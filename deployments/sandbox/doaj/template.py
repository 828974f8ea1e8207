"""The records the articles of the corpus are made of."""

import gzip
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

from deployments.sandbox.instant import read_ms

EPOCH = "2003-05-12T00:00:00Z"
"""Where DOAJ began: for the one record that does not say when it was made."""


@dataclass(frozen=True, slots=True)
class Template:
    """A record, and why its update time cannot be used, if it cannot."""

    record: dict[str, Any]
    created_ms: int
    flaw: str | None


@cache
def load_templates() -> tuple[Template, ...]:
    """The records, always in the same order."""
    packed = (files(__package__) / "records.jsonl.gz").read_bytes()
    return tuple(_read(orjson.loads(line)) for line in gzip.decompress(packed).splitlines())


def _read(record: dict[str, Any]) -> Template:
    return Template(record, read_ms(record.get("created_date", EPOCH)), _flaw(record.get("last_updated")))


def _flaw(updated: str | None) -> str | None:
    if not updated:
        return "UPDATED_AT_MISSING"
    try:
        read_ms(updated)
    except ValueError:
        return "UPDATED_AT_INVALID"
    return None
