"""The preprints the corpus is made of."""

import gzip
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

from deployments.sandbox.biorxiv.server import Server

Preprint = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Template:
    """A preprint, and why no harvest can use it, if so."""

    preprint: Preprint
    reason: str | None

    def fits(self, category: str) -> bool:
        """True when it is of this subject; none named is every subject."""
        return not category or self.preprint["category"].lower() == category


@cache
def load_templates(server: Server) -> tuple[Template, ...]:
    """The server's preprints, always in the same order."""
    packed = (files(__package__) / f"{server.code}.jsonl.gz").read_bytes()
    return tuple(_read(orjson.loads(line)) for line in gzip.decompress(packed).splitlines())


def _read(preprint: Preprint) -> Template:
    return Template(preprint, _reason(preprint))


def _reason(preprint: Preprint) -> str | None:
    if not preprint["doi"] or not preprint["version"]:
        return "ID_MISSING"
    if not preprint["date"]:
        return "UPDATED_AT_MISSING"
    return "UPDATED_AT_INVALID" if preprint["date"].startswith("0000") else None
