"""Messages in a file: whole lines on disk, one for each, whoever else writes and whatever a crash left."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ingest_core.outbox.ports import PublisherUnavailable
from ingest_core.transport.file_publisher import FilePublisher
from tests.support.breaking import together
from tests.support.outbox import message


def ids(path: Path) -> list[str]:
    return [json.loads(line)["payload"]["provider_id"] for line in path.read_bytes().splitlines()]


def test_each_message_is_a_line_and_further_ones_are_appended(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    publisher = FilePublisher(path)
    publisher.publish([message("a", 1), message("b", 2)])
    publisher.publish([message("c", 3)])
    assert ids(path) == ["a", "b", "c"]
    assert json.loads(path.read_bytes().splitlines()[2]) == json.loads(json.dumps(message("c", 3).json()))


@pytest.mark.parametrize("torn", ["{", '{"dedup_key":', '{"dedup_key":"abc","payload":{"x":"' + "y" * 200_000])
@pytest.mark.parametrize("before", ["", '{"dedup_key":"1","payload":{"provider_id":"z"}}\n'], ids=["alone", "after"])
def test_what_a_crash_left_of_a_line_is_cut_off(tmp_path: Path, torn: str, before: str) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text(before + torn)
    FilePublisher(path).publish([message("a")])
    assert ids(path) == [*(["z"] if before else []), "a"]


def test_a_last_line_of_somebody_else_stays(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("first\nlast words")
    FilePublisher(path).publish([message("a")])
    lines = path.read_text().splitlines()
    assert lines[:2] == ["first", "last words"]
    assert json.loads(lines[2])["payload"]["provider_id"] == "a"


def test_it_is_on_disk_before_it_counts_as_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    real = os.fsync

    def sync(file: int) -> None:
        synced.append(os.fstat(file).st_size)
        real(file)

    monkeypatch.setattr(os, "fsync", sync)
    path = tmp_path / "out.jsonl"
    FilePublisher(path).publish([message("a")])
    assert path.stat().st_size in synced


def test_a_write_that_fails_leaves_no_half_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.jsonl"
    FilePublisher(path).publish([message("a")])
    before = path.read_bytes()
    real = os.write

    def full(file: int, data: bytes) -> int:
        real(file, bytes(data)[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(PublisherUnavailable, match="No space left"):
        FilePublisher(path).publish([message("b")])
    monkeypatch.undo()
    assert path.read_bytes() == before


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(PublisherUnavailable, match=r"none/out\.jsonl cannot be written: No such file"):
        FilePublisher(tmp_path / "none" / "out.jsonl").publish([message("a")])


WRITER = """
import sys
from pathlib import Path
from ingest_core.transport.file_publisher import FilePublisher
from tests.support.outbox import message
publisher = FilePublisher(Path(sys.argv[1]))
for number in range(40):
    publisher.publish([message(f"{sys.argv[2]}{number}", number, text="x" * 20_000)])
"""


def test_relays_of_several_processes_do_not_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], cwd=Path(__file__).parents[2])
        for name in ("p", "q")
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    written = ids(path)
    assert len(written) == 80
    for name in ("p", "q"):
        assert [one for one in written if one[0] == name] == [f"{name}{number}" for number in range(40)]


def test_threads_do_not_mix_their_lines_either(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"

    def write(name: str) -> None:
        for number in range(30):
            FilePublisher(path).publish([message(f"{name}{number}", number, text="x" * 5000)])

    together(*(lambda name=name: write(name) for name in "rs"))
    assert len(ids(path)) == 60
