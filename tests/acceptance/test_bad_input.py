"""Bad input: a clear message, a non-zero exit, nothing half-written."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ingest_core.shipped import shipped_sources
from tests.support.patra import Patra

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)

CROSSREF = shipped_sources()["crossref.yaml"]


def _counts(patra: Patra) -> list[int]:
    tables = ("ing_schedule_instance", "ing_plan", "ing_task", "ing_cursor", "reg_provenance", "reg_prov_http_cfg")
    return [len(patra.rows(table)) for table in tables]


def test_a_wrong_type_in_a_source_file_is_named_with_file_line_value_and_expectation(
    patra: Patra, tmp_path: Path
) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text(CROSSREF.replace("max_page_size: 1000", "max_page_size: many"), encoding="utf-8")
    line = next(number for number, text in enumerate(file.read_text().splitlines(), 1) if "max_page_size" in text)
    before = _counts(patra)
    error = patra("registry", "apply", str(file), exit_code=2)["error"]
    assert f"{file}:{line}" in error["message"]
    assert "pagination.max_page_size" in error["message"]
    assert "'many'" in error["message"]
    assert "integer" in error["message"]
    assert _counts(patra) == before


def test_one_broken_file_keeps_the_others_out(patra: Patra, tmp_path: Path) -> None:
    good = tmp_path / "good.yaml"
    good.write_text(CROSSREF.replace("code: crossref", "code: second"), encoding="utf-8")
    bad = tmp_path / "bad.yaml"
    bad.write_text(CROSSREF.replace("type: TOKEN", "type: MAGIC"), encoding="utf-8")
    before = _counts(patra)
    patra("registry", "apply", str(good), str(bad), exit_code=2)
    assert _counts(patra) == before


def test_an_unknown_source_names_the_known_ones(patra: Patra) -> None:
    before = _counts(patra)
    for command in (("plan", "nowhere"), ("registry", "show", "nowhere"), ("execute", "--source", "nowhere")):
        error = patra(*command, exit_code=2)["error"]
        assert error["code"] == "SOURCE_UNKNOWN"
        assert "'nowhere'" in error["message"]
        assert "crossref" in error["remedy"]
    assert _counts(patra) == before


def test_an_unknown_endpoint_names_the_known_ones(patra: Patra) -> None:
    error = patra("plan", "crossref", "--endpoint", "members", exit_code=2)["error"]
    assert (error["code"], "works" in error["remedy"]) == ("ENDPOINT_UNKNOWN", True)


def test_a_missing_file_is_named(patra: Patra) -> None:
    error = patra("registry", "apply", "no/such/file.yaml", exit_code=2)["error"]
    assert error["where"] == "no/such/file.yaml"


@pytest.mark.parametrize("window", [("2026-01-02", "2026-01-01"), ("2026-01-01", "2026-01-01")])
def test_a_window_that_ends_before_it_begins_leaves_no_row(patra: Patra, window: tuple[str, str]) -> None:
    before = _counts(patra)
    error = patra("plan", "crossref", "--from", window[0], "--to", window[1], exit_code=2)["error"]
    assert error["code"] == "WINDOW_INVALID"
    assert _counts(patra) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", "crossref", "--from", "yesterday"),
        ("plan", "crossref", "--operation", "DESTROY"),
        ("plan", "crossref", "--operation", "UPDATE"),
        ("plan",),
        ("execute", "--max-tasks", "0"),
        ("frobnicate",),
        ("plan", "crossref", "--no-such-option"),
    ],
)
def test_words_that_mean_nothing_are_refused(patra: Patra, arguments: tuple[str, ...]) -> None:
    before = _counts(patra)
    error = patra(*arguments, exit_code=2)["error"]
    assert error["message"]
    assert _counts(patra) == before


def test_an_unreachable_database_is_said_without_its_password(patra: Patra, monkeypatch: pytest.MonkeyPatch) -> None:
    for url in ("postgresql://me:hunter2@127.0.0.1:1/patra", "mysql://me:hunter2@127.0.0.1:1/patra"):
        monkeypatch.setenv("PATRA_DATABASE_URL", url)
        error = patra("status", exit_code=3)["error"]
        assert error["code"] == "DATABASE_UNREACHABLE"
        assert "hunter2" not in json.dumps(error)
    monkeypatch.setenv("PATRA_DATABASE_URL", "sqlite:////no/such/folder/patra.db")
    assert patra("status", exit_code=3)["error"]["code"] == "DATABASE_UNREACHABLE"
    monkeypatch.setenv("PATRA_DATABASE_URL", "oracle://somewhere/else")
    assert patra("status", exit_code=2)["error"]["code"] == "DATABASE_URL_INVALID"


def test_a_database_without_schema_is_refused_with_the_way_out(
    patra: Patra, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATRA_DATABASE_URL", f"sqlite:///{tmp_path}/empty.db")
    error = patra("status", exit_code=4)["error"]
    assert "patra db upgrade" in error["remedy"]
    monkeypatch.delenv("PATRA_DATABASE_URL")
    patra("status", exit_code=4)
    assert not (tmp_path / "home").exists()


def test_an_unreachable_upstream_leaves_every_task_queued(patra: Patra, monkeypatch: pytest.MonkeyPatch) -> None:
    patra.apply_crossref(window={"max_window": "PT6H"})
    patra("plan", "crossref", "--from", "2026-01-01", "--to", "2026-01-02")
    monkeypatch.setenv("PATRA_UPSTREAM_CROSSREF", "http://127.0.0.1:1/crossref")
    error = patra("execute", exit_code=3)["error"]
    assert error["code"] == "UPSTREAM_UNREACHABLE"
    assert "127.0.0.1:1" in error["message"]
    assert {task["status_code"] for task in patra.rows("ing_task")} == {"QUEUED"}
    assert patra.rows("ing_item") == []
    monkeypatch.setenv("PATRA_UPSTREAM_CROSSREF", patra.environment["PATRA_UPSTREAM_CROSSREF"])
    assert patra("execute")["tasks"]["succeeded"] == 4


def test_plain_http_is_refused_unless_it_is_allowed(patra: Patra, tmp_path: Path) -> None:
    file = tmp_path / "plain.yaml"
    file.write_text(CROSSREF.replace("https://api.crossref.org\n", "http://api.crossref.org\n"), encoding="utf-8")
    error = patra("registry", "apply", str(file), exit_code=2)["error"]
    assert "is not https" in error["message"]
    allowed = file.read_text().replace("http:\n", "http:\n  allow_plain_http: true\n", 1)
    file.write_text(allowed, encoding="utf-8")
    assert patra("registry", "apply", str(file))["changes"]


def test_a_mistake_is_told_to_people_in_plain_words_without_a_traceback(patra: Patra) -> None:
    command = [sys.executable, "-m", "flows.cli", "plan", "nowhere"]
    result = subprocess.run(
        command, env={**os.environ, **patra.environment}, capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert result.stdout == ""
    assert "no source 'nowhere' is registered" in result.stderr
    assert "Traceback" not in result.stderr


def test_applying_a_source_twice_changes_nothing(patra: Patra, tmp_path: Path) -> None:
    file = tmp_path / "again.yaml"
    file.write_text(CROSSREF, encoding="utf-8")
    assert patra("registry", "apply", str(file))["changes"]
    assert patra("registry", "apply", str(file))["changes"] == []
    assert patra("registry", "show", "crossref")["code"] == "crossref"
    assert [source["code"] for source in patra("registry", "list")].count("crossref") == 1


def test_a_source_file_cannot_name_a_secret_that_nobody_allowed(patra: Patra, tmp_path: Path) -> None:
    file = tmp_path / "curious.yaml"
    credential = "credential: {auth: BEARER, ref: 'env:PATRA_DATABASE_URL'}\n"
    file.write_text(CROSSREF.replace("code: crossref", "code: curious") + credential, encoding="utf-8")
    before = _counts(patra)
    for command in (("registry", "apply"), ("registry", "diff"), ("source", "check")):
        error = patra(*command, str(file), exit_code=2)["error"]
        assert error["code"] == "SPEC_INVALID"
        assert "CREDENTIAL_REFUSED" in error["message"]
    assert _counts(patra) == before


def test_a_source_file_says_which_name_to_allow(patra: Patra, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "own.yaml"
    credential = "credential: {auth: BEARER, ref: 'env:OWN_TOKEN'}\n"
    file.write_text(CROSSREF.replace("code: crossref", "code: own") + credential, encoding="utf-8")
    error = patra("registry", "apply", str(file), exit_code=2)["error"]
    assert "add OWN_TOKEN to PATRA_CREDENTIAL_NAMES" in error["message"]

    monkeypatch.setenv("PATRA_CREDENTIAL_NAMES", "OWN_TOKEN")
    patra("registry", "apply", str(file))
    assert patra("db", "upgrade")["warnings"] == []
    monkeypatch.delenv("PATRA_CREDENTIAL_NAMES")
    (warning,) = patra("db", "upgrade")["warnings"]
    assert "add OWN_TOKEN to PATRA_CREDENTIAL_NAMES" in warning
