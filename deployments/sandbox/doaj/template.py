"""The records the articles of the corpus are made of."""

from dataclasses import dataclass
from typing import Any

from deployments.sandbox.instant import read_ms
from deployments.sandbox.recording import Recording, update_flaw

EPOCH = "2003-05-12T00:00:00Z"
"""Where DOAJ began: for the one record that does not say when it was made."""


@dataclass(frozen=True, slots=True)
class Template:
    """A record, and why its update time cannot be used, if it cannot."""

    record: dict[str, Any]
    created_ms: int
    reason: str | None


def _read(record: dict[str, Any]) -> Template:
    return Template(record, read_ms(record.get("created_date", EPOCH)), update_flaw(record.get("last_updated")))


TEMPLATES = Recording(__package__, "records.jsonl.gz", _read)
