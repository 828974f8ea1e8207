"""Every shipped source that knows time, harvested from its sandbox: exactly the truth, whatever the quirks."""

import json
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from deployments.sandbox.remote import Sandbox
from deployments.sandbox.server import running
from deployments.sandbox.settings import Settings
from ingest_core.model.instant import parse_instant
from tests.acceptance.test_sources import TIMED
from tests.conftest import DatabaseFactory
from tests.support.patra import Patra, Row

START, END, NOW = "2026-01-08", "2026-01-11", "2026-01-20T00:00:00Z"
PERIOD = ("--from", START, "--to", END, "--now", NOW)
FEW = 20
"""Records a page, so that every slice has several."""
PAGED_BY_PROVIDER = {"biorxiv", "medrxiv"}


@pytest.fixture(scope="module")
def providers() -> Iterator[Sandbox]:
    """Every record there is lies within three days."""
    with running(Settings(works=360, days=3)) as sandbox:
        yield sandbox


@pytest.fixture
def patra(
    database_factory: DatabaseFactory, providers: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Patra:
    """`patra` on a new database, with every provider simulated."""
    patra = Patra(database_factory.upgraded("sqlite"), providers.url("crossref"), tmp_path, monkeypatch)
    for code in TIMED:
        patra.reach(providers, code, monkeypatch)
    monkeypatch.setenv("PATRA_CONTACT", "ops@example.org")
    providers.clear_requests()
    return patra


def lost_answers(code: str) -> list[Row]:
    """Answers that get lost, come cut or come as errors, on first and on later pages."""
    later, first = {"path": f"/{code}/*", "cursor": "later"}, {"path": f"/{code}/*", "cursor": "first"}
    return [
        {"kind": "cut", "match": later},
        {"kind": "status", "status": 503, "match": first},
        {"kind": "drop", "match": later, "after": 2},
        {"kind": "html", "match": later, "after": 4},
        {"kind": "status", "status": 429, "match": first, "after": 1},
    ]


@pytest.mark.parametrize("code", TIMED)
@pytest.mark.parametrize("faulty", [False, pytest.param(True, marks=pytest.mark.long)], ids=["quiet", "faulty"])
def test_a_harvest_arrives_at_exactly_the_truth(patra: Patra, providers: Sandbox, code: str, faulty: bool) -> None:
    patra("registry", "apply", str(file_of(patra, code)))
    plan = patra("plan", code, *PERIOD)
    providers.script(*(lost_answers(code) if faulty else []))
    done = patra("execute", "--until-idle")
    struck = sum(rule["hits"] for rule in providers.faults())
    providers.script()

    assert done["tasks"] == {"succeeded": plan["slices"], "partial": 0, "failed": 0}, done["errors"]
    assert struck >= (3 if faulty else 0)
    assert_exact(patra, providers, code)
    assert_counted(patra)
    assert_xml_parses_alone(patra)


@pytest.mark.parametrize("code", TIMED)
def test_a_check_of_a_shipped_source_warns_of_nothing_about_its_page(patra: Patra, code: str) -> None:
    report = patra("source", "check", str(file_of(patra, code)), "--from", START, "--to", END, "--send")

    assert report["page"]["received"] > 0
    assert report["warnings"] == []


def file_of(patra: Patra, code: str) -> Path:
    """The source with small pages, which does not wait long before it asks again."""
    pages = {} if code in PAGED_BY_PROVIDER else {"pagination": {"page_size": FEW}}
    return patra.quick_file(code, **pages)


def assert_exact(patra: Patra, providers: Sandbox, code: str) -> None:
    """What can be used is stored, all of it and as it is now; what cannot is in quarantine, and why."""
    truth = providers.truth(code, from_=START, to=END, record=True)
    usable = {row["id"]: (parse_instant(row["updated_at"]), row["record"]) for row in truth if row["usable"]}
    stored = {row["provider_id"]: (row["source_updated_at"], row["record"]) for row in patra.rows("ing_item")}
    assert stored == usable
    assert len(usable) > 10 * FEW
    unusable = [row for row in providers.truth(code, record=True) if not row["usable"]]
    named = {(row["id"], row["reason"]) for row in unusable if row["reason"] != "ID_MISSING"}
    set_aside = patra.rows("ing_quarantine")
    assert {(row["provider_id"], row["reason_code"]) for row in set_aside if row["provider_id"]} <= named
    assert {row["reason_code"] for row in set_aside} <= {row["reason"] for row in unusable}
    assert set_aside


def assert_xml_parses_alone(patra: Patra) -> None:
    """Each stored XML record has the namespaces that were declared around it."""
    for row in patra.rows("ing_item"):
        xml = json.loads(row["payload"]).get("xml")
        assert xml is None or ET.fromstring(xml).tag


def assert_counted(patra: Patra) -> None:
    """Every record that came is counted once, and slices had several pages."""
    batches = [row for row in patra.rows("ing_task_run_batch") if row["status_code"] == "SUCCEEDED"]
    runs = [row["stats"] for row in patra.rows("ing_task_run")]
    outcomes = sum(run["inserted"] + run["updated"] + run["skipped"] + run["failed"] for run in runs)
    assert outcomes == sum(run["retCount"] for run in runs)
    assert len(batches) > len(runs)
