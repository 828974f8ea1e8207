"""docs/tutorials/adding-a-source.md, followed to the letter: the example's API on loopback, and its finished file."""

import ast
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import yaml

from flows.cli.main import run
from tests.conftest import DatabaseFactory
from tests.support.patra import Patra

DOCS = Path(__file__).parents[2] / "docs"
API, FILE, PAGE = (
    DOCS / "examples" / "museum_api.py",
    DOCS / "examples" / "museum.yaml",
    DOCS / "tutorials" / "adding-a-source.md",
)
DAY = ("--from", "2026-01-01", "--to", "2026-01-02")
TWO_DAYS = ("--from", "2026-01-01", "--to", "2026-01-03")

MUSEUM = runpy.run_path(str(API))
OBJECTS: list[dict[str, Any]] = MUSEUM["OBJECTS"]


@pytest.fixture(scope="module")
def museum() -> Iterator[str]:
    """The example's API as a process of its own; its address."""
    command = [sys.executable, str(API), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ}) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
            process.wait(10)


@pytest.fixture
def patra(
    museum: str, database_factory: DatabaseFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Patra]:
    """`patra` in a folder of its own, with the museum's key."""
    monkeypatch.setenv("PATRA_UPSTREAM_MUSEUM", museum)
    monkeypatch.setenv("MUSEUM_API_KEY", MUSEUM["KEY"])
    monkeypatch.setenv("PATRA_CREDENTIAL_NAMES", "MUSEUM_API_KEY")
    monkeypatch.chdir(tmp_path)
    patra = Patra(database_factory.fresh("sqlite"), museum, tmp_path, monkeypatch)
    yield patra
    patra.stop_all()


def changed_on(*days: int) -> list[dict[str, Any]]:
    """The museum's objects that changed on these days of January."""
    return [one for one in OBJECTS if _changed(one).day in days]


def _changed(one: dict[str, Any]) -> datetime:
    return datetime.fromtimestamp(one["changed"] / 1000, UTC)


def common_record(one: dict[str, Any]) -> dict[str, Any]:
    """What the page says an object becomes."""
    dated = {} if one["made"] == "undated" else {"dates": {"created": one["made"]}}
    return {
        "title": one["name"],
        "authors": [{"name": "Ida Holm"}, {"name": "Holm & Daughters"}],
        **dated,
        "identifiers": {"object_number": one["objectNumber"]},
        "type": one["department"],
    }


def test_the_draft_compiles_and_would_ask_a_get(patra: Patra) -> None:
    shown = re.findall(
        r"^\$ patra (source new [^\\\n]+(?:\\\n[^\\\n]+)*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    (command,) = shown
    patra(*shlex.split(command.replace("\\\n", " ")))

    (request,) = patra("source", "check", "museum.yaml", *DAY)["requests"]
    assert (request["method"], urlsplit(request["url"]).path) == ("GET", "/search")
    assert dict(parse_qsl(urlsplit(request["url"]).query)) == {
        "from": "2026-01-01",
        "to": "2026-01-02",
        "page": "1",
        "size": "35",
    }


def test_checking_the_file_shows_the_documented_request_without_the_key(patra: Patra) -> None:
    report = patra("source", "check", str(FILE), *DAY)
    (request,) = report["requests"]

    (shown,) = re.findall(r"^  body: (\{.+\})$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)

    assert (request["method"], request["headers"]["x-museum-key"]) == ("POST", "***")
    assert request["url"].endswith("/search")
    assert request["body"] == ast.literal_eval(shown)


def test_sending_it_shows_one_page_mapped_and_what_is_set_aside(patra: Patra) -> None:
    page = patra("source", "check", str(FILE), *DAY, "--limit", "50", "--send")["page"]
    asked, day = changed_on(1)[:35], changed_on(1)

    assert (page["status"], page["received"], page["total"]) == (200, 35, len(day))
    assert [one["provider_id"] for one in page["rejected"]] == [one["objectNumber"] for one in asked if _withheld(one)]
    assert {one["provider_id"]: one["record"] for one in page["records"]} == {
        one["objectNumber"]: common_record(one) for one in asked if not _withheld(one)
    }


def test_a_check_warns_of_settings_that_would_end_a_harvest_early(
    patra: Patra, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    document["endpoints"][0]["response"]["total"] = "$.page.totl"
    (tmp_path / "misspelt.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")

    assert patra("source", "check", str(FILE), *DAY, "--send")["warnings"] == []
    assert patra("source", "check", "misspelt.yaml", *DAY, "--send")["warnings"] == [
        "response.total $.page.totl found no total on the page. Check the path, or remove `response.total`."
    ]
    assert patra("source", "check", "misspelt.yaml", *DAY)["warnings"] == []
    capsys.readouterr()
    assert run(["source", "check", "misspelt.yaml", *DAY, "--send"]) == 0
    assert "warning: response.total $.page.totl found no total" in capsys.readouterr().err


def _withheld(one: dict[str, Any]) -> bool:
    return "withheld" in one


def test_a_harvest_stores_what_the_museum_has(patra: Patra) -> None:
    patra("db", "upgrade")
    assert patra("registry", "validate", str(FILE))["files"][0]["ok"]
    assert patra("registry", "diff", str(FILE))["changes"]
    patra("registry", "apply", str(FILE), "--yes")
    assert patra("registry", "diff", str(FILE))["changes"] == []
    sizes = patra("plan", "museum", *TWO_DAYS)["sizes"]
    done = patra("execute", "--source", "museum")
    stored = {row["provider_id"]: row for row in patra.rows("ing_item")}
    kept = {one["objectNumber"]: one for one in changed_on(1, 2) if not _withheld(one)}

    assert (sizes["estimated_records"], sizes["methods"]) == (len(changed_on(1, 2)), {"COUNT": 1})
    assert done["tasks"] == {"succeeded": 1, "partial": 0, "failed": 0}
    assert {name: row["record"] for name, row in stored.items()} == {
        name: common_record(one) for name, one in kept.items()
    }
    assert {name: row["source_updated_at"] for name, row in stored.items()} == {
        name: _changed(one) for name, one in kept.items()
    }
    set_aside = {(row["provider_id"], row["reason_code"]) for row in patra.rows("ing_quarantine")}
    assert set_aside == {(one["objectNumber"], "RECORD_ERROR") for one in changed_on(1, 2) if _withheld(one)}
    (cursor,) = patra("cursor", "list")
    assert cursor["value"] == "2026-01-03T00:00:00.000000Z"


def test_a_query_narrows_it_and_has_its_own_watermark(patra: Patra) -> None:
    patra("db", "upgrade")
    patra("registry", "apply", str(FILE), "--yes")
    patra("plan", "museum", *TWO_DAYS, "--query", "department:Prints 4")
    patra("execute", "--source", "museum")
    wanted = {one["objectNumber"] for one in changed_on(1, 2) if one["department"] == "Prints" and "4" in one["name"]}

    assert wanted
    assert set(patra.items()) == {name for name in wanted if not _withheld(_by_number(name))}
    patra("plan", "museum", *TWO_DAYS)
    assert len(patra("cursor", "list")) == 2


def _by_number(name: str) -> dict[str, Any]:
    return next(one for one in OBJECTS if one["objectNumber"] == name)


def test_without_the_key_nothing_is_asked_anonymously(patra: Patra, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MUSEUM_API_KEY")
    refused = patra("source", "check", str(FILE), *DAY, "--send", exit_code=1)

    assert refused["error"]["code"] == "CREDENTIAL_MISSING"
    assert "MUSEUM_API_KEY" in refused["error"]["message"]


def test_an_error_that_comes_with_status_200_is_told_in_the_museums_words(patra: Patra, tmp_path: Path) -> None:
    document = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    document["pagination"]["max_page_size"] = 200
    (tmp_path / "greedy.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    refused = patra("source", "check", "greedy.yaml", *DAY, "--send", exit_code=1)

    assert refused["error"]["code"] == "STATED_ERROR"
    assert "a page has at most 50 objects" in refused["error"]["message"]


def with_body(template: dict[str, Any], folder: Path, *dropped: str) -> str:
    """The finished file with a body template, and without these parameters."""
    document = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    document["endpoints"][0]["body"]["template"] = template
    document["params"] = [one for one in document["params"] if one["name"] not in dropped]
    (folder / "nested.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    return str(folder / "nested.yaml")


def test_a_body_template_may_carry_the_number_of_the_page(patra: Patra, tmp_path: Path) -> None:
    nested = {"paging": {"page": "{page_number}", "size": "{page_size}"}}
    (request,) = patra("source", "check", with_body(nested, tmp_path, "page", "size"), *DAY)["requests"]

    assert request["body"]["paging"] == {"page": 0, "size": 35}


def test_a_name_that_a_body_template_does_not_know_is_refused(patra: Patra, tmp_path: Path) -> None:
    file = with_body({"pagesize": "{pagesize}"}, tmp_path)

    assert "TEMPLATE_NAME_UNKNOWN" in str(patra("registry", "validate", file, exit_code=2))


def test_the_blocks_the_page_shows_are_those_of_the_finished_file() -> None:
    finished = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    shown: dict[str, Any] = {}
    for block in re.findall(r"^```yaml\n(.+?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        shown |= yaml.safe_load(block)

    assert shown == finished
