"""The records the DOIs of the corpus are made of."""

from dataclasses import dataclass
from typing import Any

from deployments.sandbox.instant import read_ms
from deployments.sandbox.recording import Recording, update_flaw


@dataclass(frozen=True, slots=True)
class Template:
    """A record, and why its update time cannot be used, if it cannot."""

    record: dict[str, Any]
    created_ms: int
    reason: str | None


def _read(record: dict[str, Any]) -> Template:
    attributes = record["attributes"]
    return Template(record, read_ms(attributes["created"]), update_flaw(attributes.get("updated")))


TEMPLATES = Recording(__package__, "records.jsonl.gz", _read)
