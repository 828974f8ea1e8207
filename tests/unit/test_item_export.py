"""Records as JSON lines, CSV and Parquet: nothing lost, nothing rewritten, whatever the values."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ingest_core.model.errors import BadInput
from ingest_core.model.instant import parse_instant
from ingest_core.model.stored_item import StoredItem
from ingest_core.readside import item_export
from ingest_core.readside.item_export import item_writer
from ingest_core.readside.output_file import refuse_existing, whole_file
from ingest_core.readside.tables import FileFormat

FIELDS = ("title", "authors", "dates")
MOMENT = "2026-01-09T00:00:28.000001Z"

HOSTILE: dict[str, Any] = {
    "commas": "a, b; c\td",
    "quotes": "she said \"yes\" and 'no' \\ and `so`",
    "line ends": "one\ntwo\r\nthree\rfour",
    "unicode": "é 漢字 😀 \u2028 \u0085 \u200b ﷽",
    "looks like a formula": '=HYPERLINK("x")',
    "plus": "+1",
    "minus": "-1",
    "at": "@SUM(A1)",
    "looks like a number": "007",
    "looks like nothing": "NA",
    "looks like null": "null",
    "empty": "",
    "blank": "  ",
    "big number": 12345678901234567890123456789,
    "number": 7,
    "fraction": 0.1,
    "truth": True,
    "list": ["a", ["b", {"c": None}], 1.5],
    "object": {"b": 1, "a": {"nested": ["é\n"]}},
}


def item(payload: str = '{"a":1}', provider_id: str = "x", version: str | None = None, **record: Any) -> StoredItem:
    return StoredItem(provider_id, "works", parse_instant(MOMENT), version, "PRESENT", record, payload)


def written(form: FileFormat, *items: StoredItem, fields: tuple[str, ...] = FIELDS) -> bytes:
    stream = io.BytesIO()
    writer = item_writer(form, stream, fields)
    writer.write(items)
    writer.close()
    return stream.getvalue()


def lines(*items: StoredItem) -> list[dict[str, Any]]:
    text = written(FileFormat.JSONL, *items)
    assert text.count(b"\n") == len(items)
    return [json.loads(line) for line in text.decode().split("\n")[:-1]]


def table(*items: StoredItem, fields: tuple[str, ...] = FIELDS) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(written(FileFormat.CSV, *items, fields=fields).decode(), newline="")))


def frame(*items: StoredItem, fields: tuple[str, ...] = FIELDS) -> pa.Table:
    return pq.read_table(io.BytesIO(written(FileFormat.PARQUET, *items, fields=fields)))


def as_text(value: Any) -> str:
    """A value as a cell shows it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE)
class TestHostileValues:
    def test_json_lines_keep_it(self, value: Any) -> None:
        (row,) = lines(item(title=value))
        assert row["title"] == value
        assert type(row["title"]) is type(value)

    def test_csv_keeps_its_text(self, value: Any) -> None:
        first, second = table(item(title=value, provider_id="1"), item(provider_id="2"))
        assert (first["title"], first["provider_id"]) == (as_text(value), "1")
        assert (second["title"], second["provider_id"]) == ("", "2")

    def test_parquet_keeps_its_text(self, value: Any) -> None:
        assert frame(item(title=value), item())["title"].to_pylist() == [as_text(value), None]

    def test_it_may_be_in_the_payload_and_the_id(self, value: Any) -> None:
        payload = json.dumps({"v": value})
        odd = item(payload, provider_id=as_text(value))
        assert lines(odd)[0]["payload"] == {"v": value}
        assert (table(odd)[0]["payload"], table(odd)[0]["provider_id"]) == (payload, as_text(value))
        assert frame(odd)["payload"].to_pylist() == [payload]


def test_a_payload_is_the_providers_own_text() -> None:
    raw = '{"f": 1.10, "n": 123456789012345678901234567890, "e": 1E400, "u": "\\u00e9", "z": [ ]}'
    line = written(FileFormat.JSONL, item(raw))
    assert line.endswith(b',"payload":' + raw.encode() + b"}\n")
    assert table(item(raw))[0]["payload"] == raw
    assert frame(item(raw))["payload"].to_pylist() == [raw]


def test_a_payload_over_several_lines_stands_on_one() -> None:
    pretty = '{\r\n  "a": "b\\nc",\n\t"d": [1,\n2]\r}'
    (row,) = lines(item(pretty))
    assert row["payload"] == {"a": "b\nc", "d": [1, 2]}
    assert table(item(pretty))[0]["payload"] == pretty


def test_every_record_says_whose_it_is_and_of_when() -> None:
    (row,) = lines(item(version="v2", title="T"))
    assert list(row) == ["provider_id", "endpoint", "source_updated_at", "source_version", "state", "title", "payload"]
    assert (row["source_updated_at"], row["source_version"], row["state"]) == (MOMENT, "v2", "PRESENT")
    assert table(item())[0]["source_updated_at"] == MOMENT
    found = frame(item())
    assert found.schema.field("source_updated_at").type == pa.timestamp("us", tz="UTC")
    assert found["source_updated_at"].to_pylist() == [parse_instant(MOMENT)]


def test_a_field_that_has_no_column_is_not_lost() -> None:
    (row,) = table(item(title="T", colour="red", flags=["F"]))
    assert (row["title"], row["flags"], row["more_fields"]) == ("T", '["F"]', '{"colour":"red"}')
    assert table(item(title="T"))[0]["more_fields"] == ""
    assert lines(item(colour="red"))[0]["colour"] == "red"


def test_a_field_named_like_a_column_of_ours_has_another_name() -> None:
    odd = item(state="solid", payload_size=3, endpoint="e")
    (row,) = lines(odd)
    assert (row["state"], row["record.state"], row["record.endpoint"]) == ("PRESENT", "solid", "e")
    assert row["payload"] == {"a": 1}
    (cells,) = table(odd, fields=("state", "endpoint"))
    assert (cells["state"], cells["record.state"], cells["record.endpoint"]) == ("PRESENT", "solid", "e")


def test_the_columns_are_the_same_in_every_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_export, "GROUP_ROWS", 2)
    many = [item(provider_id=str(number)) for number in range(5)]
    many[1::2] = [item(provider_id=str(number), title=[number]) for number in (1, 3)]
    stream = io.BytesIO()
    writer = item_writer(FileFormat.PARQUET, stream, FIELDS)
    for one in many:
        writer.write([one])
    writer.close()
    file = pq.ParquetFile(stream)
    assert [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)] == [2, 2, 1]
    assert file.read()["title"].to_pylist() == [None, "[1]", None, "[3]", None]
    assert [row["provider_id"] for row in table(*many)] == ["0", "1", "2", "3", "4"]


def test_large_payloads_make_smaller_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_export, "GROUP_CHARS", 100)
    found = pq.ParquetFile(io.BytesIO(written(FileFormat.PARQUET, *(item(f'"{"x" * 60}"') for _ in range(4)))))
    assert found.num_row_groups == 2


@pytest.mark.parametrize("form", FileFormat)
def test_nothing_is_a_valid_file_too(form: FileFormat) -> None:
    text = written(form)
    if form == FileFormat.JSONL:
        assert text == b""
    elif form == FileFormat.CSV:
        assert text.decode().splitlines() == [
            (
                '"provider_id","endpoint","source_updated_at","source_version","state",'
                '"authors","dates","flags","title","more_fields","payload"'
            )
        ]
    else:
        assert pq.read_table(io.BytesIO(text)).num_rows == 0


class TestTheFile:
    def test_it_is_there_when_it_is_whole(self, tmp_path: Path) -> None:
        file = tmp_path / "out.jsonl"
        with whole_file(file) as stream:
            stream.write(b"one")
            assert not file.exists()
        assert file.read_bytes() == b"one"
        assert list(tmp_path.iterdir()) == [file]

    @pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
    def test_an_interrupted_one_leaves_nothing_new(self, tmp_path: Path, error: type[BaseException]) -> None:
        file = tmp_path / "out.jsonl"
        file.write_bytes(b"before")

        def half() -> None:
            with whole_file(file) as stream:
                stream.write(b"half")
                raise error

        with pytest.raises(error):
            half()
        assert file.read_bytes() == b"before"
        assert list(tmp_path.iterdir()) == [file]

    def test_one_that_is_there_is_kept_unless_forced(self, tmp_path: Path) -> None:
        file = tmp_path / "out.jsonl"
        refuse_existing(file, force=False)
        file.touch()
        with pytest.raises(BadInput, match="--force"):
            refuse_existing(file, force=False)
        refuse_existing(file, force=True)
        with pytest.raises(BadInput, match="folder"):
            refuse_existing(tmp_path, force=True)

    def test_a_folder_that_is_not_there_is_said_to_be_so(self, tmp_path: Path) -> None:
        with pytest.raises(BadInput) as failed, whole_file(tmp_path / "no" / "out"):
            pass
        assert failed.value.code == "FILE_UNWRITABLE"
