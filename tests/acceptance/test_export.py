"""Records and quarantine taken out as files, compared with the provider's truth."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from deployments.sandbox.remote import Sandbox
from flows.cli.main import run
from ingest_core.model.instant import parse_instant
from tests.support.patra import Patra

pytestmark = pytest.mark.sqlite_first

START, END = "2026-01-08", "2026-01-11"
FORMATS = ("jsonl", "csv", "parquet")


def read(file: Path) -> list[dict[str, Any]]:
    """The rows of an exported file, tables' cells as JSON lines would have them."""
    if file.suffix == ".jsonl":
        return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n")[:-1]]
    if file.suffix == ".csv":
        rows: list[dict[str, Any]] = list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"), newline="")))
    else:
        rows = pq.read_table(file).to_pylist()
    return [
        {**row, "payload": json.loads(row["payload"]), "dates": row["dates"] and json.loads(row["dates"])}
        for row in rows
    ]


@pytest.fixture
def harvested(patra: Patra, quiet_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What a harvest of three days should have stored."""
    patra("plan", "crossref", "--from", START, "--to", END, "--now", "2026-01-12")
    assert patra("execute")["tasks"]["failed"] == 0
    return quiet_sandbox.truth("crossref", from_=START, to=END, record=True)


def test_every_format_holds_the_truth(patra: Patra, harvested: list[dict[str, Any]], tmp_path: Path) -> None:
    truth = {row["id"]: row for row in harvested if row["usable"]}
    stored = {row["provider_id"]: json.loads(row["payload"]) for row in patra.rows("ing_item")}
    for form in FORMATS:
        file = tmp_path / f"out.{form}"
        summary = patra("items", "export", "crossref", "--format", form, "--output", str(file))
        assert summary == {"source": "crossref", "format": form, "path": str(file), "records": len(truth)}
        rows = {row["provider_id"]: row for row in read(file)}
        assert rows.keys() == truth.keys()
        for name, row in rows.items():
            moment = row["source_updated_at"]
            known = parse_instant(moment) if isinstance(moment, str) else moment
            assert known == parse_instant(truth[name]["updated_at"])
            assert row["payload"] == stored[name]
            assert (row.get("title") or None) == truth[name]["record"].get("title")
            assert (row.get("dates") or None) == truth[name]["record"].get("dates")
            assert row["state"] == "PRESENT"
    assert [file.name for file in tmp_path.iterdir() if file.suffix == ".part"] == []


def test_bounds_choose_by_the_sources_time(patra: Patra, harvested: list[dict[str, Any]], tmp_path: Path) -> None:
    file = tmp_path / "day.jsonl"
    bounds = ("--since", "2026-01-09", "--until", "2026-01-10", "--endpoint", "works")
    patra("items", "export", "crossref", *bounds, "--output", str(file))
    expected = {row["id"] for row in harvested if row["usable"] and "2026-01-09" <= row["updated_at"] < "2026-01-10"}
    assert expected
    assert {row["provider_id"] for row in read(file)} == expected


def test_what_cannot_be_exported_is_said(patra: Patra, tmp_path: Path) -> None:
    file = tmp_path / "out.csv"
    assert patra("items", "export", "nowhere", "--output", str(file), exit_code=2)["error"]["code"] == "SOURCE_UNKNOWN"
    wrong = patra("items", "export", "crossref", "--endpoint", "no", "--output", str(file), exit_code=2)
    assert wrong["error"]["code"] == "ENDPOINT_UNKNOWN"
    assert patra("items", "export", "crossref", exit_code=2)["error"]["code"] == "USAGE"
    turned = ("--since", "2026-01-02", "--until", "2026-01-01")
    assert patra("items", "export", "crossref", *turned, exit_code=2)["error"]["code"] == "WINDOW_INVALID"
    assert not file.exists()
    assert patra("items", "export", "crossref", "--format", "csv", "--output", str(file))["records"] == 0
    assert read(file) == []
    again = patra("items", "export", "crossref", "--format", "csv", "--output", str(file), exit_code=2)
    assert again["error"]["code"] == "FILE_EXISTS"
    assert patra("items", "export", "crossref", "--format", "csv", "--output", str(file), "--force")["records"] == 0


def test_lines_go_down_a_pipe_until_the_reader_has_enough(patra: Patra, harvested: list[dict[str, Any]]) -> None:
    command = [sys.executable, "-m", "flows.cli", "items", "export", "crossref"]
    process = subprocess.Popen(
        command, env={**os.environ, **patra.environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert json.loads(process.stdout.readline())["state"] == "PRESENT"
    process.stdout.close()
    assert (process.wait(60), process.stderr.read()) == (0, b"")
    process.stderr.close()


def test_quarantine_is_listed_exported_settled_and_asked_for_again(
    patra: Patra, harvested: list[dict[str, Any]], tmp_path: Path
) -> None:
    unusable = {row["id"] for row in harvested if not row["usable"]}
    listed = patra("quarantine", "list", "crossref", "--state", "OPEN")
    assert {row["provider_id"] for row in listed} == unusable
    for form in ("jsonl", "csv"):
        file = tmp_path / f"bad.{form}"
        assert patra("quarantine", "export", "crossref", "--format", form, "--output", str(file))["records"] == len(
            listed
        )
    with (tmp_path / "bad.csv").open(encoding="utf-8", newline="") as stream:
        assert {row["provider_id"] for row in csv.DictReader(stream)} == unusable
    first, second = listed[0]["id"], listed[1]["id"]
    assert patra("quarantine", "discard", str(first), "--reason", "a test") == {
        "changed": [{"id": first, "from": "OPEN", "to": "DISCARDED"}]
    }
    retried = patra("quarantine", "retry", str(second))
    assert retried["retried"][0]["operation"] == "BACKFILL"
    assert retried["next"] == ["patra execute --source crossref"]
    assert patra("quarantine", "show", str(second))["state"] == "RETRYING"
    patra("execute", "--source", "crossref")
    shown = patra("quarantine", "show", str(second))
    assert (shown["state"], shown["seen_count"]) == ("OPEN", 2)
    assert patra("quarantine", "show", str(first))["state"] == "DISCARDED"
    missing = patra("quarantine", "release", "999999", "--reason", "x", exit_code=2)
    assert missing["error"]["code"] == "QUARANTINE_UNKNOWN"


def test_bad_records_of_two_phases_are_refreshed_by_id(
    patra: Patra, quiet_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    patra.reach(quiet_sandbox, "pubmed", monkeypatch)
    patra("registry", "apply", str(patra.quick_file("pubmed")))
    patra("plan", "pubmed", "--from", START, "--to", END, "--now", "2026-01-12")
    patra("execute")
    before = patra("quarantine", "list", "pubmed")
    assert before
    retried = patra("quarantine", "retry", "pubmed")
    assert retried["next"] == ["patra plan pubmed --endpoint fetch --operation UPDATE", "patra execute --source pubmed"]
    assert patra(*retried["next"][0].split()[1:])["slices"] == 1
    done = patra("execute", "--source", "pubmed")
    assert (done["tasks"]["failed"], done["records"]["quarantined"]) == (0, len(before))
    assert {row["state"] for row in patra("quarantine", "list", "pubmed")} == {"OPEN"}
    patra.assert_truth(quiet_sandbox.truth("pubmed", from_=START, to=END))


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_a_row_of_quarantine_is_shown_in_words(
    patra: Patra, harvested: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert harvested
    (row, *_) = patra("quarantine", "list", "crossref", "--limit", "1")
    capsys.readouterr()
    assert run(["quarantine", "show", str(row["id"])]) == 0
    shown = capsys.readouterr().out
    names = {line.split("  ")[0].strip() for line in shown.splitlines()}
    assert {"source", "reason", "path", "state", "times seen", "created at"} <= names
    assert not any("_" in name for name in names), names
    assert "None" not in shown
    assert re.search(r"created at +20\d\d-\d\d-\d\d \d\d:\d\d(:\d\d)? UTC", shown)
