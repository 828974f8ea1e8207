"""Retry, cancel, pause, resume and fuses, as a person at a shell meets them."""

import pytest

from deployments.sandbox.remote import Sandbox
from tests.support.patra import Patra, Row

pytestmark = pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)

START, END = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def plan(patra: Patra) -> int:
    """A harvest of a day in four slices; the plan's id."""
    patra.apply_crossref(window={"max_window": "PT6H"})
    return int(patra("plan", "crossref", "--from", START, "--to", END)["plan_id"])


def counts(patra: Patra) -> Row:
    (entry,) = [one for one in patra("status", "crossref") if one["operation"] == "HARVEST"]
    return {"control": entry["control"], **{state: number for state, number in entry["counts"].items() if number}}


def test_a_key_that_is_refused_stops_the_source_until_somebody_resumes_it(patra: Patra, quiet_sandbox: Sandbox) -> None:
    plan_id = plan(patra)
    quiet_sandbox.clear_requests()
    quiet_sandbox.script({"kind": "status", "status": 401, "times": 1})
    done = patra("execute", "--until-idle", exit_code=1)
    assert done["tasks"]["failed"] == 1
    assert "patra resume crossref" in done["errors"][0]
    assert counts(patra) == {"control": "FUSED", "QUEUED": 3, "FAILED": 1}
    assert len(quiet_sandbox.requests()) == 1
    patra("execute", "--until-idle")
    refused = patra("plan", "crossref", exit_code=4)
    assert "401" in refused["error"]["message"]
    resumed = patra("resume", "crossref", "--reason", "the new key is in place")
    assert {"provenance": "crossref", "endpoint": "works", "operation": "HARVEST"} in resumed["resumed"]
    assert patra("retry", "--plan", str(plan_id)) == {"scope": "plan", "id": str(plan_id), "tasks": 1}
    assert patra("execute", "--until-idle")["tasks"] == {"succeeded": 4, "partial": 0, "failed": 0}
    patra.assert_truth(quiet_sandbox.truth(from_=START, to=END))


def test_a_cancelled_plan_is_worked_no_more_and_its_time_is_planned_again(patra: Patra, quiet_sandbox: Sandbox) -> None:
    plan_id = plan(patra)
    patra("execute", "--max-tasks", "1")
    assert patra("cancel", "--plan", str(plan_id))["tasks"] == 3
    assert patra("execute", "--until-idle")["tasks"]["succeeded"] == 0
    assert counts(patra) == {"control": "ACTIVE", "SUCCEEDED": 1, "CANCELLED": 3}
    assert plan(patra) != plan_id
    patra("execute", "--until-idle")
    patra.assert_truth(quiet_sandbox.truth(from_=START, to=END))


def test_a_paused_source_rests(patra: Patra, quiet_sandbox: Sandbox) -> None:
    plan(patra)
    quiet_sandbox.clear_requests()
    assert patra("pause", "crossref", "--operation", "HARVEST", "--reason", "they asked us to")["paused"]
    patra("execute", "--until-idle")
    assert quiet_sandbox.requests() == []
    assert "they asked us to" in patra("plan", "crossref", exit_code=4)["error"]["message"]
    patra("resume", "crossref", "--reason", "they are done")
    assert patra("execute", "--until-idle")["tasks"]["succeeded"] == 4


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["retry"], "USAGE"),
        (["cancel", "--plan", "1", "--task", "2"], "USAGE"),
        (["retry", "--plan", "99"], "WORK_UNKNOWN"),
        (["cancel", "--task", "x"], "WORK_UNKNOWN"),
        (["retry", "--flow-run", "nobody"], "WORK_UNKNOWN"),
        (["pause", "nowhere", "--reason", "x"], "SOURCE_UNKNOWN"),
        (["pause", "crossref"], "USAGE"),
        (["pause", "crossref", "--endpoint", "nothing", "--reason", "x"], "ENDPOINT_UNKNOWN"),
    ],
    ids=str,
)
def test_a_wish_that_cannot_be_met_is_named(patra: Patra, arguments: list[str], code: str) -> None:
    assert patra(*arguments, exit_code=2)["error"]["code"] == code
