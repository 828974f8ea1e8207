"""The real works the corpus is made of."""

from dataclasses import dataclass
from typing import Any

from deployments.sandbox.recording import Recording


@dataclass(frozen=True, slots=True)
class Template:
    """A recorded work, and what searches ask of it."""

    work: dict[str, Any]
    doi: str
    prefix: str
    type: str
    title: str
    deposited_ms: int
    dated: bool


def _read(work: dict[str, Any]) -> Template:
    return Template(
        work=work,
        doi=work["DOI"],
        prefix=work["DOI"].partition("/")[0],
        type=work["type"],
        title=" ".join(work.get("title") or ()).lower(),
        deposited_ms=work["deposited"]["timestamp"],
        dated="date-time" in work["indexed"],
    )


TEMPLATES = Recording(__package__, "works.jsonl.gz", _read)
