"""The test source `books`, in hourly slices, and what a plan of it runs on."""

from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from ingest_core.model.codes import Operation
from ingest_core.model.namespace import harvest_namespace
from ingest_core.model.partition import Partition
from ingest_core.model.spec import SpecSnapshot
from ingest_core.registry.compile import Compiled
from ingest_core.registry.rows import Rows, rows_of
from ingest_core.registry.source_file import SourceFile
from tests.support.compiling import compile_spec

A = TypeVar("A")
B = TypeVar("B")

SOURCE = "books"

PARTITION = Partition(SOURCE, "list", Operation.HARVEST)

MIDNIGHT = datetime(2020, 1, 1, tzinfo=UTC)


def at(hours: float) -> datetime:
    """So many hours after midnight."""
    return MIDNIGHT + timedelta(hours=hours)


def source_rows(code: str = SOURCE, **blocks: Any) -> Rows:
    """The rows of a source with hourly slices; a block given replaces the usual one."""
    document: dict[str, Any] = {
        "source": {"code": code, "name": code.title()},
        "endpoints": [
            {
                "name": "list",
                "path": "/list",
                "operations": ["HARVEST"],
                "response": {"items": "$.items", "id": "$.id", "updated_at": "$.at", "total": "$.total"},
            }
        ],
        "http": {"base_url": "https://books.example"},
        "pagination": {"type": "TOKEN", "max_page_size": 100, "initial_token": "*", "next_token": "$.next"},
        "window": {
            "field": "changed_at",
            "watermark_key": "changed_at",
            "step": "PT1H",
            "unit": "SECOND",
            "format": "%Y-%m-%dT%H:%M:%S",
            "upper_inclusive": False,
        },
        "rate_limit": {"requests_per_second": 5, "burst": 1},
        "params": [{"name": "rows", "value": "page_size"}, {"name": "cursor", "value": "page_token"}],
        "fields": [{"name": "changed_at", "type": "DATETIME"}],
        "render_rules": [{"field": "changed_at", "op": "RANGE", "param": "range", "template": "{from}..{to}"}],
        "mapping": {"title": "$.title"},
    }
    return rows_of(SourceFile.model_validate({**document, **blocks}))


def source_block(code: str = SOURCE, **changes: Any) -> dict[str, Any]:
    """The `source` block, changed."""
    return {"code": code, "name": code.title(), **changes}


def compiled(code: str = SOURCE, **blocks: Any) -> SpecSnapshot:
    """What a plan of the source runs on."""
    return compile_spec(source_rows(code, **blocks), code, "list", Operation.HARVEST, MIDNIGHT)


def as_compiled(spec: SpecSnapshot) -> Compiled:
    """The snapshot as the planner takes it, with nothing to say about how it came about."""
    return Compiled(spec, settings=[], warnings=[], degradations=[])


SPEC = compiled()

NAMESPACE = harvest_namespace(SPEC)
