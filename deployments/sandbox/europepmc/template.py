"""The records the corpus is made of, in Europe PMC's shape."""

from dataclasses import dataclass
from typing import Any

from deployments.sandbox.recording import Recording, update_flaw

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Template:
    """A record, what searches ask of it, and why it cannot be used, if so."""

    record: Record
    source: str
    title: str
    authors: str
    abstract: str
    reason: str | None

    @property
    def revised(self) -> bool:
        """True when its update time is the revision's and not the first indexing's."""
        return "dateOfRevision" in self.record


def _read(record: Record) -> Template:
    return Template(
        record=record,
        source=record["source"],
        title=record.get("title", "").lower(),
        authors=record.get("authorString", "").lower(),
        abstract=record.get("abstractText", "").lower(),
        reason=_reason(record),
    )


def _reason(record: Record) -> str | None:
    if "id" not in record:
        return "ID_MISSING"
    updated = record.get("dateOfRevision", record.get("firstIndexDate"))
    return None if updated == "" else update_flaw(updated)  # the empty one is each version's own to fill in


TEMPLATES = Recording(__package__, "records.jsonl.gz", _read)
