"""The works the corpus is made of, in OpenAlex's shape."""

import gzip
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

NO_DATE = "0000"


@dataclass(frozen=True, slots=True)
class Template:
    """A work, what searches ask of it, and why it cannot be used, if so."""

    work: dict[str, Any]
    type: str
    title: str
    problem: str | None


@cache
def load_templates() -> tuple[Template, ...]:
    """The works, always in the same order."""
    packed = (files(__package__) / "records.jsonl.gz").read_bytes()
    return tuple(_read(orjson.loads(line)) for line in gzip.decompress(packed).splitlines())


def _read(work: dict[str, Any]) -> Template:
    title = " ".join((work["title"] or "").lower().split())
    return Template(work=work, type=work["type"], title=title, problem=_problem(work.get("updated_date")))


def _problem(updated: str | None) -> str | None:
    if updated is None:
        return "UPDATED_AT_MISSING"
    return "UPDATED_AT_INVALID" if updated.startswith(NO_DATE) else None
