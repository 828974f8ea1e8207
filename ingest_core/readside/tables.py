"""Rows as files, a chunk at a time: JSON lines, CSV and Parquet; pandas is loaded only for tables."""

import csv
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from ingest_core.readside.cells import cell, json_bytes

if TYPE_CHECKING:
    import pandas as pd

Cells = dict[str, Any]


class FileFormat(StrEnum):
    """What people can take out."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"


class RowWriter(Protocol):
    """Takes rows until it is closed; what it wrote is then a valid file, even without a row."""

    def write(self, rows: Sequence[Cells]) -> None:
        """Add these rows."""

    def close(self) -> None:
        """Finish the file; the stream stays open."""


class JsonLines:
    """One object a line."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, rows: Iterable[Cells]) -> None:
        """Add these rows."""
        self._stream.writelines(json_bytes(row) + b"\n" for row in rows)

    def close(self) -> None:
        """Nothing is left to be written."""


class Csv:
    """A header, then rows; every cell is quoted, so that no text can break a row."""

    def __init__(self, stream: BinaryIO, columns: Sequence[str]) -> None:
        self._stream = stream
        self._columns = columns
        self._put([], header=True)

    def write(self, rows: Sequence[Cells]) -> None:
        """Add these rows."""
        self._put(rows, header=False)

    def _put(self, rows: Sequence[Cells], *, header: bool) -> None:
        cells = [{name: cell(row.get(name)) for name in self._columns} for row in rows]
        frame = _frame(cells, self._columns)
        text = frame.to_csv(None, header=header, index=False, quoting=csv.QUOTE_ALL, lineterminator="\n")
        self._stream.write(text.encode())

    def close(self) -> None:
        """Nothing is left to be written."""


class Parquet:
    """Text columns and times, the same in every chunk; a chunk is a row group."""

    def __init__(self, stream: BinaryIO, columns: Sequence[str], times: frozenset[str] = frozenset()) -> None:
        import pyarrow as pa  # noqa: PLC0415 - slow to load, and seldom needed
        import pyarrow.parquet as pq  # noqa: PLC0415

        kinds: list[tuple[str, pa.DataType]] = [
            (name, pa.timestamp("us", tz="UTC") if name in times else pa.large_string()) for name in columns
        ]
        self._columns, self._times = columns, times
        self._schema: pa.Schema = pa.schema(kinds)
        self._writer = pq.ParquetWriter(stream, self._schema, compression="zstd")

    def write(self, rows: Sequence[Cells]) -> None:
        """Add these rows as a group."""
        import pyarrow as pa  # noqa: PLC0415

        plain = [
            {name: row.get(name) if name in self._times else cell(row.get(name)) for name in self._columns}
            for row in rows
        ]
        frame = _frame(plain, self._columns)
        self._writer.write_table(pa.Table.from_pandas(frame, schema=self._schema, preserve_index=False))

    def close(self) -> None:
        """Write the footer, without which it is no file."""
        self._writer.close()


def _frame(rows: list[Cells], columns: Sequence[str]) -> "pd.DataFrame":
    """Rows as they are: nothing is taken for a number or a date."""
    import pandas as pd  # noqa: PLC0415 - slow to load, and seldom needed

    return pd.DataFrame(rows, columns=list(columns), dtype=object)
