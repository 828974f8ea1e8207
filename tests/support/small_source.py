"""The smallest source that compiles, and short ways to say what is different about it."""

from collections.abc import Mapping
from copy import deepcopy
from datetime import datetime
from typing import Any

import pytest

from ingest_core.model.codes import Operation
from ingest_core.registry.compile import Compiled, CompileRequest, compile_source
from ingest_core.registry.merge import read_overrides
from ingest_core.registry.problems import Problem, SpecInvalid
from ingest_core.registry.read import read_source
from ingest_core.registry.rows import Rows, rows_of
from tests.support.specs import NOW
from tests.support.yaml_text import yaml_of

Document = dict[str, Any]

_SMALL: Document = {
    "source": {"code": "small", "name": "Small"},
    "endpoints": [
        {
            "name": "works",
            "path": "/works",
            "operations": ["HARVEST", "BACKFILL"],
            "response": {"items": "$.items", "id": "$.id", "updated_at": "$.updated"},
        }
    ],
    "http": {"base_url": "https://api.example.org"},
    "pagination": {"type": "TOKEN", "max_page_size": 100, "next_token": "$.next"},
    "window": {
        "field": "updated",
        "watermark_key": "updated",
        "step": "PT6H",
        "unit": "HOUR",
        "format": "%Y-%m-%dT%H",
        "upper_inclusive": False,
    },
    "params": [{"name": "cursor", "value": "page_token"}],
    "fields": [{"name": "updated", "type": "DATETIME"}],
    "render_rules": [{"field": "updated", "op": "RANGE", "param": "filter", "template": "from:{from},to:{to}"}],
}


def small_document(**changes: Any) -> Document:
    """The document; a mapping changes keys of its block (None takes one out), anything else replaces the block."""
    document = deepcopy(_SMALL)
    for name, change in changes.items():
        if isinstance(change, dict) and isinstance(document.get(name), dict):
            merged = {**document[name], **change}
            document[name] = {key: value for key, value in merged.items() if value is not None}
        else:
            document[name] = deepcopy(change)
    return document


def small_endpoint(**changes: Any) -> Document:
    """Its endpoint; a key that is None is taken out, those of `response` are changed one by one."""
    endpoint: Document = deepcopy(_SMALL["endpoints"][0])
    endpoint["response"] |= changes.pop("response", {})
    endpoint["response"] = {key: value for key, value in endpoint["response"].items() if value is not None}
    return {key: value for key, value in {**endpoint, **changes}.items() if value is not None}


def rows_from(document: Document) -> Rows:
    """The Registry's rows of a document."""
    return rows_of(read_source(yaml_of(document), "small.yaml"))


def compiled(
    document: Document,
    operation: Operation = Operation.HARVEST,
    endpoint: str = "works",
    query: str | None = None,
    overrides: Mapping[str, str] | None = None,
    now: datetime = NOW,
    **asked: Any,
) -> Compiled:
    """What a document compiles to."""
    rows = rows_from(document)
    request = CompileRequest("small", endpoint, operation, query, read_overrides(overrides or {}), **asked)
    return compile_source(rows, request, now)


def problems_of(document: Document, **asked: Any) -> list[Problem]:
    """Everything the compiler has against a document."""
    with pytest.raises(SpecInvalid) as refused:
        compiled(document, **asked)
    return refused.value.problems
