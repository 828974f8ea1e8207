"""The preprints the corpus is made of."""

from dataclasses import dataclass
from typing import Any

from deployments.sandbox.biorxiv.server import BIORXIV, MEDRXIV
from deployments.sandbox.recording import Recording, update_flaw

Preprint = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Template:
    """A preprint, and why no harvest can use it, if so."""

    preprint: Preprint
    reason: str | None

    def fits(self, category: str) -> bool:
        """True when it is of this subject; none named is every subject."""
        return not category or self.preprint["category"].lower() == category


def _read(preprint: Preprint) -> Template:
    return Template(preprint, _reason(preprint))


def _reason(preprint: Preprint) -> str | None:
    if not preprint["doi"] or not preprint["version"]:
        return "ID_MISSING"
    return update_flaw(preprint["date"])


TEMPLATES = {server: Recording(__package__, f"{server.code}.jsonl.gz", _read) for server in (BIORXIV, MEDRXIV)}
