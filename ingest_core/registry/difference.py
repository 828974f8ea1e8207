"""What a change of rows means, key by key, for people."""

from collections.abc import Iterable, Iterator
from typing import Any

from ingest_core.model.record_merge import PendingMerge, RecordMerge
from ingest_core.model.source_change import RowChange
from ingest_core.registry.rows import Row, scope_text

_SHOWN_CHARS = 60
_NAMES = ("field_code", "op_code", "match_code", "param_name")
_SCOPE = ("provenance_code", "endpoint_name", "operation_code", "effective_from")


def describe_changes(changes: Iterable[RowChange]) -> Iterator[str]:
    """A line for each row that is added, closed or replaced; of a replaced one, the keys that differ."""
    changes = list(changes)
    closed = {_identity(change): change.row for change in changes if change.change == "closed"}
    added = {_identity(change): change.row for change in changes if change.change == "added"}
    for key in sorted(closed.keys() | added.keys(), key=str):
        before, after = closed.get(key), added.get(key)
        place = f"{key[0]} {key[1]}: {_title(after or before or {})}"
        if before is None:
            yield f"+ {place}"
        elif after is None:
            yield f"- {place}"
        else:
            yield from (f"~ {place}: {line}" for line in _changed(before, after))


def announce_merge(merge: PendingMerge) -> str:
    """A line for rows that an apply would merge: stored under a DETAIL endpoint, and owned by a SEARCH endpoint."""
    stored = _numbered(merge.records, "record"), _numbered(merge.quarantined, "quarantined record")
    said = " and ".join(filter(None, stored))
    return f"~ {merge.source}: {said} of {merge.endpoint} will be merged into {merge.into}"


def describe_merge(merge: RecordMerge) -> str:
    """A line for rows that were merged."""
    done = (
        _numbered(merge.merged, "record", "merged"),
        _numbered(merge.moved, "record", "moved"),
        _numbered(merge.quarantined, "quarantined record", "moved or merged"),
    )
    return f"{merge.source}: from {merge.endpoint} into {merge.into}: {', '.join(filter(None, done))}"


def _numbered(number: int, noun: str, verb: str = "") -> str:
    return f"{number} {noun}{'' if number == 1 else 's'} {verb}".rstrip() if number else ""


def _identity(change: RowChange) -> tuple[Any, ...]:
    row = change.row
    names = (row.get(name) for name in (*_NAMES, "endpoint_name", "operation_code", "effective_from"))
    return (change.source, change.table, *map(str, names))


def _title(row: Row) -> str:
    names = _NAMES[:-1] if row.get("op_code") else _NAMES
    named = " ".join(str(row[name]) for name in names if row.get(name))
    if "operation_code" in row:
        return f"{named} [{scope_text({'endpoint_name': None, **row})}]".strip()
    return named or str(row.get("endpoint_name") or row.get("provenance_name") or "")


def _changed(before: Row, after: Row) -> Iterator[str]:
    for column in sorted((before.keys() | after.keys()) - set(_SCOPE) - set(_NAMES)):
        if before.get(column) != after.get(column):
            yield f"{column} {_short(before.get(column))} -> {_short(after.get(column))}"


def _short(value: Any) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"
