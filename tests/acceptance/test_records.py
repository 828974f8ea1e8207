"""What a harvest stores, record by record, of a source in one phase and one in two, on every database."""

from typing import Any

import pytest

from deployments.sandbox.remote import Sandbox
from tests.support.patra import Patra

START, END = "2026-01-08", "2026-01-11"


def assert_mapped(patra: Patra, truth: list[dict[str, Any]]) -> None:
    """Every usable record is stored in its version with its common record, every other is in quarantine."""
    patra.assert_truth(truth)
    records = {row["provider_id"]: row["record"] for row in patra.rows("ing_item", "id", "provider_id", "record")}
    assert records == {row["id"]: row["record"] for row in truth if row["usable"]}
    reasons = {row["provider_id"]: row["reason_code"] for row in patra.rows("ing_quarantine")}
    assert reasons == {row["id"]: row["reason"] for row in truth if not row["usable"]}


@pytest.mark.parametrize("code", ["crossref", "pubmed"])
def test_a_harvest_arrives_at_the_truth_record_by_record(
    patra: Patra, quiet_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    patra.reach(quiet_sandbox, code, monkeypatch)
    patra("registry", "apply", str(patra.quick_file(code)))
    patra("plan", code, "--from", START, "--to", END, "--now", "2026-01-12")
    done = patra("execute")

    assert done["tasks"]["failed"] == 0
    assert_mapped(patra, quiet_sandbox.truth(code, from_=START, to=END, record=True))
