"""The records the corpus is made of, in Europe PMC's shape."""

import gzip
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

Record = dict[str, Any]
NO_DATE = "0000"


@dataclass(frozen=True, slots=True)
class Template:
    """A record, what searches ask of it, and why it cannot be used, if so."""

    record: Record
    source: str
    title: str
    authors: str
    abstract: str
    problem: str | None

    @property
    def revised(self) -> bool:
        """True when its update time is the revision's and not the first indexing's."""
        return "dateOfRevision" in self.record


@cache
def load_templates() -> tuple[Template, ...]:
    """The records, always in the same order."""
    packed = (files(__package__) / "records.jsonl.gz").read_bytes()
    return tuple(_read(orjson.loads(line)) for line in gzip.decompress(packed).splitlines())


def _read(record: Record) -> Template:
    return Template(
        record=record,
        source=record["source"],
        title=record.get("title", "").lower(),
        authors=record.get("authorString", "").lower(),
        abstract=record.get("abstractText", "").lower(),
        problem=_problem(record),
    )


def _problem(record: Record) -> str | None:
    if "id" not in record:
        return "ID_MISSING"
    updated = record.get("dateOfRevision", record.get("firstIndexDate"))
    if updated is None:
        return "UPDATED_AT_MISSING"
    return "UPDATED_AT_INVALID" if updated.startswith(NO_DATE) else None
