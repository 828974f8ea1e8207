"""A provider that misbehaves: nothing is lost, nothing doubled, nothing silent."""

import pytest

from deployments.sandbox.remote import Sandbox
from tests.support.patra import Patra, Row

START, END = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
LATER = {"cursor": "later"}
BY_STEP = {"max_window": "PT6H"}
"""No slice is longer than a step, however little it holds."""

PASSING: dict[str, Row] = {
    "429 without Retry-After": {"kind": "status", "status": 429, "times": 2},
    "429 with Retry-After": {"kind": "status", "status": 429, "retry_after": 1, "times": 1},
    "503": {"kind": "status", "status": 503, "times": 2},
    "503 in the middle": {"kind": "status", "status": 503, "match": LATER},
    "500 in the middle": {"kind": "status", "status": 500, "match": LATER},
    "HTML instead of JSON": {"kind": "html"},
    "HTML in the middle": {"kind": "html", "match": LATER},
    "a cut body": {"kind": "cut"},
    "a cut body in the middle": {"kind": "cut", "match": LATER},
    "a dropped connection": {"kind": "drop"},
    "a dropped connection in the middle": {"kind": "drop", "match": LATER, "times": 2},
    "no answer in time": {"kind": "timeout", "seconds": 5, "match": LATER},
    "a slow answer": {"kind": "latency", "seconds": 0.4, "times": 3},
}


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
@pytest.mark.parametrize("scroll", ["server", pytest.param("token", marks=pytest.mark.long)])
@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING.keys())
def test_a_passing_fault_costs_no_record(patra: Patra, quiet_sandbox: Sandbox, fault: Row, scroll: str) -> None:
    quiet_sandbox.configure(scroll=scroll)
    position = "SERVER" if scroll == "server" else "CLIENT"
    patra.apply_crossref(pagination={"page_size": 40, "position": position}, http={"read_timeout": "PT1S"})
    patra("plan", "crossref", "--from", START, "--to", END)
    quiet_sandbox.script(fault)
    done = patra("execute", "--until-idle")
    assert done["tasks"] == {"succeeded": 4, "partial": 0, "failed": 0}
    assert quiet_sandbox.faults()[0]["hits"] > 0
    patra.assert_truth(quiet_sandbox.truth(from_=START, to=END))


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_an_expired_scroll_starts_the_slice_again(patra: Patra, quiet_sandbox: Sandbox) -> None:
    patra.apply_crossref(pagination={"page_size": 40})
    patra("plan", "crossref", "--from", START, "--to", END)
    quiet_sandbox.script({"kind": "status", "status": 404, "match": LATER})
    done = patra("execute", "--until-idle")
    assert done["tasks"]["succeeded"] == 4
    assert any("token was refused" in error for error in done["errors"])
    patra.assert_truth(quiet_sandbox.truth(from_=START, to=END))


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_records_that_change_between_pages_are_in_the_next_harvest(patra: Patra, quiet_sandbox: Sandbox) -> None:
    quiet_sandbox.move_clock("2026-01-02T00:30:00Z")
    patra.apply_crossref(pagination={"page_size": 40})
    patra("plan", "crossref", "--from", START, "--to", END, "--now", "2026-01-02T00:30:00Z")
    quiet_sandbox.script({"kind": "touch", "works": 10, "match": LATER, "times": 2})
    patra("execute", "--until-idle")
    quiet_sandbox.script()
    quiet_sandbox.move_clock("2026-01-02T02:10:00Z")
    patra("plan", "crossref", "--now", "2026-01-02T02:10:00Z")
    patra("execute", "--until-idle")
    patra.assert_truth(quiet_sandbox.truth(from_=START, to="2026-01-02T02:00:00Z"))


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_a_request_the_provider_refuses_ends_the_task_with_its_words(patra: Patra, quiet_sandbox: Sandbox) -> None:
    patra("plan", "crossref", "--from", START, "--to", "2026-01-01T06:00:00Z")
    quiet_sandbox.script({"kind": "status", "status": 400, "times": None})
    done = patra("execute", exit_code=1)
    assert done["tasks"]["failed"] == 1
    assert "400" in done["errors"][0]
    (task,) = patra.rows("ing_task")
    (run,) = patra.rows("ing_task_run")
    (plan,) = patra.rows("ing_plan")
    assert (task["status_code"], run["status_code"], plan["status_code"]) == ("FAILED", "FAILED", "FAILED")
    assert run["error"]["level"] == "L2"
    (cursor,) = patra("cursor", "list")
    assert cursor["value"] == "2026-01-01T00:00:00.000000Z"


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_what_failed_is_planned_again_and_the_watermark_waits_for_it(patra: Patra, quiet_sandbox: Sandbox) -> None:
    patra.apply_crossref(window=BY_STEP)
    patra("plan", "crossref", "--from", START, "--to", END)
    hole = {"contains": "from-index-date:2026-01-01T06"}
    quiet_sandbox.script({"kind": "status", "status": 400, "times": None, "match": hole})
    patra("execute", exit_code=1)
    (cursor,) = patra("cursor", "list")
    assert cursor["value"] == "2026-01-01T06:00:00.000000Z"
    quiet_sandbox.script()
    again = patra("plan", "crossref", "--from", START, "--to", END)
    assert again["slices"] == 1
    patra("execute")
    (cursor,) = patra("cursor", "list")
    assert cursor["value"] == "2026-01-02T00:00:00.000000Z"
    patra.assert_truth(quiet_sandbox.truth(from_=START, to=END))


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_all_workers_stay_within_the_providers_rate(patra: Patra, quiet_sandbox: Sandbox) -> None:
    patra.apply_crossref(rate_limit={"requests_per_second": 10, "burst": 1}, window=BY_STEP)
    patra("plan", "crossref", "--from", START, "--to", "2026-01-05")
    counts = len(quiet_sandbox.requests("crossref"))
    workers = [patra.start("execute") for _ in range(2)]
    assert [worker.wait(60) for worker in workers] == [0, 0]
    for worker in workers:
        worker.communicate()
    times = sorted(request["monotonic_seconds"] for request in quiet_sandbox.requests("crossref"))
    busiest = max(sum(at <= later < at + 1 for later in times) for at in times)
    assert len(times) == counts + 16
    assert busiest <= 12
