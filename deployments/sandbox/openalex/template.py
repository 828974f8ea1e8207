"""The works the corpus is made of, in OpenAlex's shape."""

from dataclasses import dataclass
from typing import Any

from deployments.sandbox.recording import Recording, update_flaw


@dataclass(frozen=True, slots=True)
class Template:
    """A work, what searches ask of it, and why it cannot be used, if so."""

    work: dict[str, Any]
    type: str
    title: str
    reason: str | None


def _read(work: dict[str, Any]) -> Template:
    title = " ".join((work["title"] or "").lower().split())
    return Template(work=work, type=work["type"], title=title, reason=_reason(work.get("updated_date")))


def _reason(updated: str | None) -> str | None:
    return None if updated == "" else update_flaw(updated)  # the empty one is each version's own to fill in


TEMPLATES = Recording(__package__, "records.jsonl.gz", _read)
