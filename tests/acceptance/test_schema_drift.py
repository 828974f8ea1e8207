"""Schema drift as an operator meets it: a harvest stops, says why, and goes on as told, without a traceback."""

import logging
from pathlib import Path

import pytest

from deployments.sandbox.remote import Sandbox
from tests.conftest import DatabaseFactory
from tests.support.patra import Patra
from tests.support.yaml_text import read_yaml, yaml_of

DAY = ("--from", "2026-01-09", "--to", "2026-01-10")


@pytest.fixture
def patra(
    database_factory: DatabaseFactory, sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Patra:
    """Crossref, with thresholds by which a page with any unusable record is schema drift."""
    patra = Patra(database_factory.upgraded("sqlite"), sandbox.url("crossref"), tmp_path, monkeypatch)
    file = patra.quick_file("crossref")
    document = read_yaml(file.read_text(encoding="utf-8"))
    document["source"] |= {"drift_share": 0, "drift_records": 1}
    file.write_text(yaml_of(document), encoding="utf-8")
    patra("registry", "apply", str(file))
    return patra


def controls(patra: Patra) -> set[str]:
    return {row["control"] for row in patra("status", "crossref")}


def test_a_drifted_harvest_is_accepted_page_by_page_to_its_end(
    patra: Patra, sandbox: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    patra("plan", "crossref", *DAY)
    with caplog.at_level(logging.DEBUG):
        stopped = patra("execute", "--until-idle", exit_code=1)
        assert controls(patra) == {"FUSED"}
        assert "patra resume crossref --accept-drift --reason TEXT" in stopped["errors"][0]
        patra("plan", "crossref", *DAY, exit_code=4)

        for _ in range(100):
            patra("resume", "crossref", "--accept-drift", "--reason", "withdrawn works have no date")
            if patra.tried("execute", "--until-idle")["tasks"]["failed"] == 0:
                break

    assert {row["status_code"] for row in patra.rows("ing_task", "status_code")} == {"SUCCEEDED"}
    assert controls(patra) == {"ACTIVE"}
    truth = sandbox.truth("crossref", from_="2026-01-09", to="2026-01-10")
    assert any(not row["usable"] for row in truth)
    patra.assert_truth(truth)
    assert [record for record in caplog.records if record.exc_info] == []


def test_accepting_where_nothing_drifted_says_so(patra: Patra) -> None:
    assert patra("resume", "crossref", "--accept-drift", "--reason", "why not") == {"resumed": [], "tasks": 0}


def test_an_acceptance_needs_a_reason(patra: Patra) -> None:
    refused = patra("resume", "crossref", "--accept-drift", "--reason", " ", exit_code=2)
    assert refused["error"]["code"] == "REASON_MISSING"
