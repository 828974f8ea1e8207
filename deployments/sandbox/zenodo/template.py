"""The records the uploads of the corpus are made of."""

from dataclasses import dataclass
from typing import Any

from deployments.sandbox.lucene.stamp import read_stamp
from deployments.sandbox.recording import Recording, update_flaw

OWN_PREFIX = "10.5281/zenodo."


@dataclass(frozen=True, slots=True)
class Template:
    """A record, and why its update time cannot be used, if it cannot."""

    record: dict[str, Any]
    reason: str | None
    published_ms: int | None

    @property
    def foreign_doi(self) -> str | None:
        """The DOI of one that was published elsewhere before."""
        doi = self.record.get("doi")
        return doi if doi and not doi.startswith(OWN_PREFIX) else None


def _read(record: dict[str, Any]) -> Template:
    reason, published = update_flaw(record.get("updated")), record["metadata"].get("publication_date")
    return Template(record, reason, _day_ms(published or ""))


def _day_ms(text: str) -> int | None:
    """The beginning of the date; None where it is none, or an interval."""
    try:
        return read_stamp(text)[0]
    except ValueError:
        return None


TEMPLATES = Recording(__package__, "records.jsonl.gz", _read)
