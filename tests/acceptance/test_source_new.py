"""`patra source new` writes a file that compiles, whatever it is told."""

import json
from pathlib import Path

import pytest

from flows.cli.main import run
from ingest_core.registry.draft import PAGING


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own to write to."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("paging", [kind.value for kind in PAGING])
@pytest.mark.parametrize("name", ["My API", "A: \"b\" #c {d} $e %f 'g'"], ids=["plain", "odd"])
def test_the_file_can_be_checked_at_once(paging: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["source", "new", "--code", "mine", "--name", name, "--paging", paging, "--json"]) == 0
    capsys.readouterr()
    assert run(["source", "check", "mine.yaml", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)

    assert report["requests"][0]["url"].startswith("https://api.example.org/records?")
    assert {setting["key"] for setting in report["settings"]} >= {"pagination.type", "window.step"}


def test_a_file_that_is_there_is_not_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.yaml").write_text("mine", encoding="utf-8")

    assert run(["source", "new", "--code", "mine", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "FILE_EXISTS"
    assert (folder / "mine.yaml").read_text(encoding="utf-8") == "mine"
    assert run(["source", "new", "--code", "mine", "--force", "--json"]) == 0
    assert "code: mine" in (folder / "mine.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("wrong", [["--code", "Not A Code"], ["--paging", "TIME"], ["--items", "items"]])
def test_a_wrong_answer_is_refused_and_nothing_is_written(folder: Path, wrong: list[str]) -> None:
    assert run(["source", "new", *wrong]) == 2
    assert list(folder.iterdir()) == []
