"""Stored records as files: the common fields beside the payload, as received."""

from collections.abc import Iterable, Sequence
from typing import BinaryIO

from ingest_core.model.stored_item import StoredItem
from ingest_core.readside.cells import json_bytes, one_line
from ingest_core.readside.tables import Cells, Csv, FileFormat, Parquet, RowWriter

FIRST = ("provider_id", "endpoint", "source_updated_at", "source_version", "state")
LAST = ("more_fields", "payload")
FLAGS = "flags"
GROUP_ROWS = 5_000
GROUP_CHARS = 4 * 1024 * 1024


def column_of(field: str) -> str:
    """A common field's column: its own name, unless a column of ours has it."""
    return f"record.{field}" if field in (*FIRST, *LAST) else field


class ItemLines:
    """JSON lines whose payload is the provider's own text, never read and written anew."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, items: Sequence[StoredItem]) -> None:
        """Add these records."""
        self._stream.writelines(map(_line, items))

    def close(self) -> None:
        """Nothing is left to be written."""


def _line(item: StoredItem) -> bytes:
    fields = {column_of(name): value for name, value in item.record.items()}
    return json_bytes(_first(item) | fields)[:-1] + b',"payload":' + one_line(item.payload) + b"}\n"


def _first(item: StoredItem) -> Cells:
    return {name: getattr(item, name) for name in FIRST}


class ItemTable:
    """Records as rows of a table whose columns are known beforehand; what has none stands in `more_fields`."""

    def __init__(self, table: RowWriter, fields: Sequence[str]) -> None:
        self._table = table
        self._fields = frozenset(fields)
        self._waiting: list[Cells] = []
        self._chars = 0

    def write(self, items: Sequence[StoredItem]) -> None:
        """Add these records; they are written in groups of a good size."""
        for item in items:
            self._waiting.append(self._row(item))
            self._chars += len(item.payload)
            if len(self._waiting) >= GROUP_ROWS or self._chars >= GROUP_CHARS:
                self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._table.write(self._waiting)
        self._waiting, self._chars = [], 0

    def close(self) -> None:
        """Finish the table."""
        self._flush()
        self._table.close()

    def _row(self, item: StoredItem) -> Cells:
        known = {column_of(name): value for name, value in item.record.items() if name in self._fields}
        more = {name: value for name, value in item.record.items() if name not in self._fields}
        return {**_first(item), **known, "more_fields": more or None, "payload": item.payload}


ItemOutput = ItemLines | ItemTable


def item_writer(form: FileFormat, stream: BinaryIO, fields: Iterable[str]) -> ItemOutput:
    """A writer of that format; `fields` are the common fields of the source."""
    if form == FileFormat.JSONL:
        return ItemLines(stream)
    names = sorted({*fields, FLAGS})
    columns = [*FIRST, *map(column_of, names), *LAST]
    if form == FileFormat.CSV:
        return ItemTable(Csv(stream, columns), names)
    return ItemTable(Parquet(stream, columns, frozenset({"source_updated_at"})), names)
