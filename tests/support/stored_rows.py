"""All that is stored, without ids, times and durations: for comparing what two ways of working leave behind."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from ingest_core.model.canonical import hash_of
from ingest_core.model.instant import format_instant
from ingest_core.store.engine.database import Database
from tests.support.tables import contents

Row = dict[str, Any]

REAL_TIME = datetime(2026, 6, 1, tzinfo=UTC)
"""Tests plan for times before it; what is later was read from a clock."""

LEFT_OUT = {"ing_rate_gate", "ing_quota_ledger", "ing_schema_info"}
"""They hold the moment's pace, and the schema's level."""

REFERENCES = {
    "schedule_instance_id": "ing_schedule_instance",
    "plan_id": "ing_plan",
    "slice_id": "ing_plan_slice",
    "task_id": "ing_task",
    "run_id": "ing_task_run",
    "first_run_id": "ing_task_run",
    "last_run_id": "ing_task_run",
    "batch_id": "ing_task_run_batch",
}
NAME_THE_TRIGGER = {
    "scheduler_code", "scheduler_job_id", "scheduler_log_id", "trigger_type_code", "plan_key", "idempotent_key",
}  # fmt: skip
"""The scheduler's columns, and the keys that are hashes of the trigger's."""

KEYED_BY_IDS = {"ing_cursor_event", "ing_task_run_batch", "ing_reslice_request"}
"""Their idempotent keys are hashes of ids."""

HASHED = {
    "expr_snapshot", "fragment", "id_hashes", "origins", "payload", "provenance_config_snapshot", "record", "sample",
}  # fmt: skip
"""Long values, which are compared by their hashes."""

RENEWED = {"lease_count"}
"""How often depends on how long the work took."""

OWNERS = {"lease_owner", "expired_owner"}
DURATIONS = re.compile(r"(Ms|_ms)$")
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")
PLACES = ((re.compile(r"http://127\.0\.0\.1:\d+"), "<upstream>"), (re.compile(r"\bing-\d+-\d+\b"), "<correlation>"))


def comparable_rows(database_url: str, *, triggers: bool = True) -> dict[str, list[Row]]:
    """The rows of every filled `ing_` table, without what is null; if so asked, also without what names the trigger."""
    database = Database(database_url)
    try:
        stored = {name: rows for name, rows in contents(database).items() if rows and name not in LEFT_OUT}
    finally:
        database.close()
    ranks = {name: {row["id"]: rank for rank, row in enumerate(rows, 1)} for name, rows in stored.items()}
    left_out = {"id", *RENEWED} if triggers else {"id", *RENEWED, *NAME_THE_TRIGGER}
    return {
        name: [
            {
                column: _cell(name, column, value, ranks)
                for column, value in row.items()
                if value is not None and column not in left_out
            }
            for row in rows
        ]
        for name, rows in stored.items()
    }


def _cell(table: str, column: str, value: Any, ranks: Mapping[str, Mapping[int, int]]) -> Any:
    if column in REFERENCES:
        return f"{REFERENCES[column]} {ranks[REFERENCES[column]].get(value)}"
    if column in OWNERS:
        return "<owner>"
    if column == "idempotent_key" and table in KEYED_BY_IDS:
        return "<key>"
    if column in HASHED:
        return f"hash {hash_of(value.hex() if isinstance(value, bytes) else value)[:12]}"
    return _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _inner(name, one) for name, one in value.items() if one is not None}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, datetime):
        return "<time>" if value >= REAL_TIME else format_instant(value)
    return _text(value) if isinstance(value, str) else value


def _inner(name: str, value: Any) -> Any:
    if name in HASHED:
        return f"hash {hash_of(value)[:12]}"
    if DURATIONS.search(name):
        return "<duration>"
    if name == "query" and isinstance(value, list):  # PostgreSQL keeps the keys of render rules in an order of its own
        return sorted(map(_plain, value))
    return _plain(value)


def _text(text: str) -> str:
    for place, name in PLACES:
        text = place.sub(name, text)
    later: Callable[[re.Match[str]], str] = lambda found: found[0] if found[0] < "2026-06" else "<time>"  # noqa: E731
    return INSTANT.sub(later, text)


def differences(written: Mapping[str, list[Row]], wanted: Mapping[str, list[Row]]) -> list[str]:
    """Where the rows differ, column by column."""
    found = []
    for name in sorted({*written, *wanted}):
        mine, other = written.get(name, []), wanted.get(name, [])
        if len(mine) != len(other):
            found.append(f"{name}: {len(mine)} rows, wanted {len(other)}")
        for number, (row, known) in enumerate(zip(mine, other, strict=False), 1):
            columns = sorted({*row, *known})
            found += [
                f"{name}, row {number}, {column}: {row.get(column)!r}, wanted {known.get(column)!r}"
                for column in columns
                if row.get(column) != known.get(column)
            ]
    return found
