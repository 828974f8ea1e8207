"""A source with one phase that gives records by id too, rows it stored under either endpoint, and their merge."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from ingest_core.model.record_merge import RecordMerge
from ingest_core.registry.rows import Rows
from ingest_core.store.records.record_merge import SqlRecordMerge
from ingest_core.store.schema.tables import ing_item
from tests.support.books import SOURCE, at, source_rows
from tests.support.tables import rows
from tests.support.wiring import Stores

RESPONSE = {"items": "$.items", "id": "$.id", "updated_at": "$.at"}
CHUNK = 2
"""Rows merged in one transaction, so that a few rows take several."""


def one_phase(refreshes: str | None = "list", code: str = SOURCE) -> Rows:
    """A source whose search gives whole records, and whose `whole` gives them by id."""
    return source_rows(
        code,
        endpoints=[
            {"name": "list", "path": "/list", "operations": ["HARVEST"], "response": RESPONSE},
            {
                "name": "whole",
                "role": "DETAIL",
                "path": "/whole",
                "operations": ["UPDATE"],
                "refreshes": refreshes,
                "response": RESPONSE,
            },
        ],
        params=[
            {"name": "cursor", "value": "page_token", "for": {"endpoint": "list"}},
            {"name": "ids", "value": "ids", "for": {"endpoint": "whole"}},
        ],
    )


def merging(stores: Stores, most_chunks: int | None = None) -> list[RecordMerge]:
    """Merge what there is, a few rows at a time."""
    return SqlRecordMerge(stores.database, CHUNK).merge([SOURCE], most_chunks)


def merge_of(**counts: int) -> list[RecordMerge]:
    """What a merge of the source's one DETAIL endpoint reports."""
    return [RecordMerge(SOURCE, "whole", "list", **counts)]


def item(endpoint: str, provider_id: str, **values: Any) -> dict[str, Any]:
    """A row of `ing_item`, first stored at hour 1 by run 1."""
    return {
        "provenance_code": SOURCE,
        "endpoint_name": endpoint,
        "provider_id": provider_id,
        "source_updated_at": at(1),
        "source_version": None,
        "payload": f'{{"from": "{endpoint}"}}',
        "payload_hash": endpoint,
        "record": {"title": endpoint},
        "expr_hash": endpoint,
        "state_code": "PRESENT",
        "refresh_checked_at": at(2),
        "first_run_id": 1,
        "first_batch_no": 1,
        "last_run_id": 1,
        "last_batch_no": 1,
        "created_at": at(1),
        "updated_at": at(1),
        "gone_at": None,
        "gone_reason_code": None,
        "merged_into": None,
        **values,
    }


def put(stores: Stores, table: sa.Table, entries: Iterable[dict[str, Any]]) -> None:
    """Write rows past the stores."""
    with stores.database.write() as connection:
        connection.execute(sa.insert(table), list(entries))


def quarantined(endpoint: str, name: str, **values: Any) -> dict[str, Any]:
    """A row of `ing_quarantine`, seen once."""
    return {
        "provenance_code": SOURCE,
        "endpoint_name": endpoint,
        "operation_code": "UPDATE" if endpoint == "whole" else "HARVEST",
        "provider_id": name,
        "reason_code": "RECORD_ERROR",
        "json_path": "$",
        "fragment": "{}",
        "fragment_hash": name,
        **dict.fromkeys(("plan_id", "slice_id", "task_id", "run_id", "batch_no"), 1),
        "state_code": "OPEN",
        "seen_count": 1,
        "created_at": at(1),
        "updated_at": at(1),
        "record_remarks": None,
        **values,
    }


def places(stores: Stores, table: sa.Table = ing_item) -> list[tuple[str, str]]:
    """Endpoint and id of each row."""
    return sorted((row["endpoint_name"], row["provider_id"]) for row in rows(stores.database, table))
