"""The real works the corpus is made of."""

import gzip
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import orjson


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


@cache
def load_templates() -> tuple[Template, ...]:
    """The recorded works, always in the same order."""
    packed = (files(__package__) / "works.jsonl.gz").read_bytes()
    return tuple(_read(orjson.loads(line)) for line in gzip.decompress(packed).splitlines())


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
