"""`patra gate`: a cool-down is seen and ended, and a corrected rate counts at once."""

from typing import Any

import pytest

from deployments.sandbox.remote import Sandbox
from tests.support.patra import Patra

pytestmark = pytest.mark.sqlite_first

WINDOW = ("--from", "2026-01-01", "--to", "2026-01-02")


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_a_cool_down_of_days_is_ended_by_an_operator(patra: Patra, quiet_sandbox: Sandbox) -> None:
    unknown = patra("gate", "show", "crossref:-", exit_code=2)["error"]
    assert (unknown["code"], "none was used yet" in unknown["remedy"]) == ("GATE_UNKNOWN", True)
    patra("plan", "crossref", *WINDOW)
    quiet_sandbox.script({"kind": "status", "status": 429, "retry_after": 1e9, "times": 1})
    closed = patra("execute")
    assert closed["tasks"]["succeeded"] == 0
    assert patra("execute", "--until-idle")["tasks"]["succeeded"] == 0
    (entry,) = patra("gate", "list")
    assert entry["key"] == "crossref:-"
    assert entry["open_at"] is not None
    assert patra("gate", "clear", "nosuch", "--reason", "why", exit_code=2)["error"]["remedy"] == "known: crossref:-"
    assert patra("gate", "clear", "crossref:-", "--reason", " ", exit_code=2)["error"]["code"] == "REASON_MISSING"
    (cleared,) = patra("gate", "clear", "crossref:-", "--reason", "their clock was wrong")
    assert (cleared["open_at"], cleared["last_changes"][-1]["reason"]) == (None, "their clock was wrong")
    done = patra("execute", "--until-idle")
    assert (done["tasks"]["failed"], done["tasks"]["succeeded"]) == (0, len(patra.rows("ing_task")))
    (shown,) = patra("gate", "show", "crossref:-")
    changes = [change["change"] for change in shown["last_changes"]]
    assert changes == ["decrease", "closed", "increase", "clear"]
    assert "@" in shown["last_changes"][-1]["by"]


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_a_corrected_rate_counts_at_once(patra: Patra, quiet_sandbox: Sandbox) -> None:
    crawl: dict[str, Any] = {"requests_per_second": 0.000001, "burst": 1}
    patra.apply_crossref(rate_limit=crawl)
    patra("plan", "crossref", *WINDOW)
    assert patra("execute")["tasks"]["succeeded"] == 0  # the next turn is days away
    patra.apply_crossref()
    done = patra("execute", "--until-idle")
    assert (done["tasks"]["failed"], done["tasks"]["succeeded"]) == (0, len(patra.rows("ing_task")))
