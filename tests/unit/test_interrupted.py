"""Ctrl-C says what was stored: in an export, and in any command."""

import json
import logging
from collections.abc import Iterator

import pytest

from flows.cli import work
from flows.cli.export import STDOUT, pump
from flows.cli.main import run
from flows.process.logs import VisibleRecord
from ingest_core.model.errors import ExitCode, PatraError


def pages() -> Iterator[list[int]]:
    """Two pages, and Ctrl-C while the third is read."""
    yield [1, 2]
    yield [3]
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (STDOUT, "interrupted: 3 records written to stdout, the rest is missing"),
        ("out.jsonl", "interrupted: out.jsonl was not written (3 records had been read)"),
    ],
)
def test_an_interrupted_export_says_what_it_leaves(target: str, message: str) -> None:
    written: list[int] = []
    with pytest.raises(PatraError) as interrupted:
        pump(pages(), written.extend, lambda: 9, target=target, as_json=True)
    assert (interrupted.value.code, interrupted.value.message) == ("INTERRUPTED", message)
    assert interrupted.value.exit_code == ExitCode.FAILED
    assert written == [1, 2, 3]


def test_any_other_command_says_that_it_was_interrupted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(work, "open_app", interrupt)
    assert run(["status", "--json"]) == ExitCode.FAILED
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["code"], error["message"]) == ("INTERRUPTED", "interrupted; everything committed before it is kept")


def test_a_line_logged_with_a_trace_where_there_is_none_has_no_trace() -> None:
    record = VisibleRecord("name", logging.ERROR, "path", 1, "failed", (), (None, None, None))
    assert logging.Formatter("%(message)s").format(record) == "failed"
