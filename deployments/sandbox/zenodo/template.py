"""The records the uploads of the corpus are made of."""

import gzip
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

from deployments.sandbox.instant import read_ms
from deployments.sandbox.lucene.stamp import read_stamp

OWN_PREFIX = "10.5281/zenodo."


@dataclass(frozen=True, slots=True)
class Template:
    """A record, and why its update time cannot be used, if it cannot."""

    record: dict[str, Any]
    created_ms: int
    flaw: str | None
    published_ms: int | None

    @property
    def foreign_doi(self) -> str | None:
        """The DOI of one that was published elsewhere before."""
        doi = self.record.get("doi")
        return doi if doi and not doi.startswith(OWN_PREFIX) else None


@cache
def load_templates() -> tuple[Template, ...]:
    """The records, always in the same order."""
    packed = (files(__package__) / "records.jsonl.gz").read_bytes()
    return tuple(_read(orjson.loads(line)) for line in gzip.decompress(packed).splitlines())


def _read(record: dict[str, Any]) -> Template:
    flaw, published = _flaw(record.get("updated")), record["metadata"].get("publication_date")
    return Template(record, read_ms(record["created"]), flaw, _day_ms(published or ""))


def _day_ms(text: str) -> int | None:
    """The beginning of the date; None where it is none, or an interval."""
    try:
        return read_stamp(text)[0]
    except ValueError:
        return None


def _flaw(updated: str | None) -> str | None:
    if not updated:
        return "UPDATED_AT_MISSING"
    try:
        read_ms(updated)
    except ValueError:
        return "UPDATED_AT_INVALID"
    return None
