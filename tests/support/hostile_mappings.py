"""Values and expressions that would make a mapping slow or large, and what each pair costs."""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ingest_core.model.redaction import redact
from ingest_core.registry.bounds import (
    BoundExceeded,
)
from ingest_core.registry.extraction import compile_value
from ingest_core.registry.values import FUNCTION_NAMES


def _nested(n: int) -> list[Any]:
    value: list[Any] = ["x"] * n
    for _ in range(900):
        value = [value]
    return value


def _nested_text(n: int) -> dict[str, Any]:
    value: Any = "x" * n
    for _ in range(900):
        value = {"#text": value}
    return {"#text": value}


def _nested_dates(n: int) -> Any:
    value: Any = "2020"
    for _ in range(min(n, 5000)):
        value = [{"date-parts": value}]
    return value


HOSTILE: dict[str, Callable[[int], Any]] = {
    "letters": lambda n: "a" * n,
    "letters then a slash": lambda n: "a" * n + "/",
    "an orcid and spaces": lambda n: "0" * 16 + " " * n + "x",
    "digits": lambda n: "1" * n,
    "spaces": lambda n: "x" + " " * n + "x",
    "semicolons": lambda n: ";" * n,
    "prefixes": lambda n: "doi:" * n,
    "growing capitals": lambda n: "ΐ" * n,
    "a long list": lambda n: ["a"] * n,
    "a list of numbers": lambda n: list(range(n)),
    "a deep list": _nested,
    "a deep object": _nested_text,
    "a list of dates": lambda n: [[2020] * n],
    "an inverted index": lambda n: {"w": list(range(n))},
    "one long word often": lambda n: {"w" * n: [0] * n},
    "dates in dates": _nested_dates,
}
NAMES = [name.replace("...", argument) for name in FUNCTION_NAMES for argument in ((";", "[^/]+$")["match" in name],)]
EXPRESSIONS: list[dict[str, Any]] = [
    *({"path": "$.v", "as": name} for name in NAMES),
    {"collect": ["$.v", "$.v[*]"]},
    {"join": ["$.v", "$.v[*]"], "with": "; " * 100},
    {"all": ["$.v", "$.v"]},
    {"any": ["$.none", "$.v"]},
    {"each": "$.v", "name": "$.x", "literal": {"value": "l" * 1000}},
    {"path": "$..v"},
]


def costs(n: int) -> dict[str, float]:
    """Processor seconds of every function on every hostile value of that size."""
    found: dict[str, float] = {}
    getters = [(json.dumps(one)[:60], compile_value(one)) for one in EXPRESSIONS]
    for name, hostile in HOSTILE.items():
        value = hostile(n)
        found |= {f"{expression} on {name}": _seconds(get, {"v": value}) for expression, get in getters}
        if isinstance(value, str):
            found[f"redact on {name}"] = _seconds(redact, f"@ {value} %40")
    return found


def _seconds(work: Callable[[Any], Any], value: Any) -> float:
    started = time.process_time()
    with suppress(BoundExceeded, RecursionError):
        work(value)
    return time.process_time() - started
