"""What a flow run is called: a name that a person typed stays, and one that Prefect invented is replaced."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from coolname.data import config as slug_words
from prefect import runtime
from prefect.context import FlowRunContext
from pydantic import BaseModel

from flows.text.wording import shortened

_LEFT_BY_A_FORM = re.compile(
    "(Awesome|Rustic|Small|Gorgeous|Fantastic|Sleek|Intelligent|Unbranded|Refined|Licensed|Generic|Practical"
    r"|Ergonomic|Handcrafted|Tasty|Handmade|Incredible)-[A-Z]\w{1,5}"
    r"|(alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|omicron|pi|rho|sigma|tau|upsilon|phi"
    r"|chi|psi|omega)\d*-[a-z-]+"
)
"""The names with which Prefect's two pages fill in the field Run Name."""

_EXECUTION = re.compile(r"execute [\w, ]+: ")
"""How the names of executor runs begin once they have worked."""


def starting_name(flow: str, parameters: Mapping[str, Any]) -> str | None:
    """The name of a run of which only the form is known, such as `crossref harvest`; None for other flows."""
    if flow == "housekeeping":
        return flow
    form = parameters.get("parameters")
    asked = form if isinstance(form, Mapping) else {}
    source = asked.get("source") or ""
    if flow == "executor":
        return shortened(f"execute {source or 'all sources'}")
    if flow in ("planner", "backfill"):
        operation = asked.get("operation") or ("HARVEST" if flow == "planner" else "BACKFILL")
        return shortened(f"{source} {str(operation).lower()}".strip())
    return None


def is_invented(name: str) -> bool:
    """Whether Prefect made the name: its pages for the field Run Name, or its server where none was given."""
    first, _, second = name.partition("-")
    adjectives, nouns = _slugs()
    return bool(_LEFT_BY_A_FORM.fullmatch(name)) or (first in adjectives and second in nouns)


@cache
def _slugs() -> tuple[frozenset[str], frozenset[str]]:
    entries: Mapping[str, Any] = slug_words
    first, second = entries["an"]["lists"]
    return frozenset(_words(entries, first)), frozenset(_words(entries, second))


def _words(entries: Mapping[str, Any], kind: str) -> Iterator[str]:
    entry = entries[kind]
    yield from entry.get("words", ())
    for one in entry.get("lists", ()):
        yield from _words(entries, one)


def name_at_start() -> str:
    """What a run is called when it begins: as its user typed it, otherwise after what it is about."""
    context = FlowRunContext.get()
    run = context.flow_run if context else None
    assert run, "Prefect asks within the run"
    label, name, retried = _label(), run.name, bool(run.run_count)
    return label if is_invented(name) or (retried and _is_ours(name, label)) else name


def is_typed() -> bool:
    """Whether this run has begun under a name that its user typed."""
    return bool(runtime.flow_run.name != _label())


def _label() -> str:
    form = runtime.flow_run.parameters.get("parameters")
    fields = form.model_dump() if isinstance(form, BaseModel) else form
    return starting_name(str(runtime.flow_run.flow_name), {"parameters": fields}) or str(runtime.flow_run.flow_name)


def _is_ours(name: str, label: str) -> bool:
    """Whether an earlier attempt was called so: the label, and what the attempt came to know."""
    return name.startswith(f"{label} ") or bool(_EXECUTION.match(name))
