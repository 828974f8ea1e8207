"""kill -9 in the middle of a harvest: the same rows in the end, and hardly a page twice."""

import json
import signal
import time
from collections import Counter

import pytest

from deployments.sandbox.remote import Sandbox
from ingest_core.store.ledger.run_ledger import SqlRunLedger
from tests.support.patra import Patra, Row

pytestmark = pytest.mark.sqlite_first

START, END = "2026-01-01T00:00:00Z", "2026-01-02T12:00:00Z"
BY_STEP = {"max_window": "PT6H"}
"""No slice is longer than a step, however little it holds."""
IN_FLIGHT = 2
"""The page asked for, and the one fetched ahead."""


class Crash(BaseException):
    """The process is gone."""


def _kill_in_the_middle(patra: Patra, sandbox: Sandbox, after_requests: int) -> None:
    sandbox.clear_requests()
    sandbox.script({"kind": "latency", "seconds": 0.05, "times": None})
    worker = patra.start("execute")
    deadline = time.monotonic() + 60
    while len(sandbox.requests("crossref")) < after_requests:
        assert worker.poll() is None, worker.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    worker.kill()
    worker.communicate()
    time.sleep(0.3)  # what it had asked for is logged when it is answered
    sandbox.script()


def _committed_pages(patra: Patra) -> set[tuple[int, int]]:
    rows = patra.rows("ing_task_run_batch", "run_id", "batch_no", where="status_code = 'SUCCEEDED'")
    return {(row["run_id"], row["batch_no"]) for row in rows}


def _assert_as_if_nothing_happened(patra: Patra, sandbox: Sandbox) -> None:
    truth = sandbox.truth(from_=START, to=END)
    patra.assert_truth(truth)
    ids = [row["provider_id"] for row in patra.rows("ing_item")]
    assert len(ids) == len(set(ids))
    assert {row["status_code"] for row in patra.rows("ing_task")} == {"SUCCEEDED"}
    assert [row["status_code"] for row in patra.rows("ing_plan")] == ["SUCCEEDED"]
    coverage = patra.rows("ing_cursor_event", where="event_type = 'COVERAGE'")
    assert len(coverage) == len(patra.rows("ing_task")) == 6
    (cursor,) = patra("cursor", "list")
    assert cursor["value"] == "2026-01-02T12:00:00.000000Z"
    open_rows = [row for row in patra.rows("ing_task_run_batch") if row["status_code"] == "RUNNING"]
    assert open_rows == []


@pytest.mark.parametrize("after_requests", [3, 10])
def test_a_scroll_begins_its_slice_again_and_no_other(
    patra: Patra, quiet_sandbox: Sandbox, after_requests: int
) -> None:
    patra.apply_crossref(pagination={"page_size": 25}, window=BY_STEP)
    patra("plan", "crossref", "--from", START, "--to", END)
    _kill_in_the_middle(patra, quiet_sandbox, after_requests)
    before = len(quiet_sandbox.requests("crossref"))
    done = patra("execute", "--until-idle")
    assert done["tasks"]["failed"] == 0
    _assert_as_if_nothing_happened(patra, quiet_sandbox)
    log = quiet_sandbox.requests("crossref")
    first, second = log[:before], log[before:]
    finished = {request["query"]["filter"] for request in first} - {first[-1]["query"]["filter"]}
    assert not finished & {request["query"]["filter"] for request in second}
    assert second[0]["query"]["cursor"] == "*"
    _assert_no_page_of_a_scroll_twice(log)


def _assert_no_page_of_a_scroll_twice(log: list[Row]) -> None:
    pages = Counter((request["scroll"], request["page"]) for request in log)
    assert max(pages.values()) == 1


@pytest.mark.parametrize("after_requests", [3, 10])
def test_a_plain_token_goes_on_where_the_last_page_was_committed(
    patra: Patra, quiet_sandbox: Sandbox, after_requests: int
) -> None:
    quiet_sandbox.configure(scroll="token")
    patra.apply_crossref(pagination={"page_size": 25, "position": "CLIENT"}, window=BY_STEP)
    patra("plan", "crossref", "--from", START, "--to", END)
    _kill_in_the_middle(patra, quiet_sandbox, after_requests)
    committed = {f"ing-{run}-{batch}" for run, batch in _committed_pages(patra)}
    before = len(quiet_sandbox.requests("crossref"))
    patra("execute", "--until-idle")
    _assert_as_if_nothing_happened(patra, quiet_sandbox)
    log = quiet_sandbox.requests("crossref")

    def page(request: Row) -> tuple[str, int]:
        return (request["query"]["filter"], request["page"])

    kept = {page(request) for request in log[:before] if request["correlation"] in committed}
    again = [page(request) for request in log[before:]]
    assert not kept & set(again)
    repeated = Counter(page(request) for request in log)
    assert sum(number - 1 for number in repeated.values()) <= IN_FLIGHT


def test_a_worker_that_lost_its_lease_commits_nothing(patra: Patra, quiet_sandbox: Sandbox) -> None:
    patra.apply_crossref(pagination={"page_size": 25}, http={"read_timeout": "PT30S"})
    patra("plan", "crossref", "--from", START, "--to", "2026-01-01T06:00:00Z")
    quiet_sandbox.script({"kind": "latency", "seconds": 6, "after": 2})
    worker = patra.start("execute")
    deadline = time.monotonic() + 30
    while len(_committed_pages(patra)) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(0.3)  # it waits for the third page now, and holds no lock
    worker.send_signal(signal.SIGSTOP)  # it lives, but renews nothing
    time.sleep(2.5)
    done = patra("execute", "--until-idle")
    assert done["tasks"]["succeeded"] == 1
    items = patra.rows("ing_item")
    worker.send_signal(signal.SIGCONT)  # back from the dead
    worker.communicate(timeout=60)
    assert patra.rows("ing_item") == items
    runs = patra.rows("ing_task_run", "attempt_no", "status_code")
    assert [(run["attempt_no"], run["status_code"]) for run in runs] == [(1, "FAILED"), (2, "SUCCEEDED")]
    patra.assert_truth(quiet_sandbox.truth(from_=START, to="2026-01-01T06:00:00Z"))


@pytest.mark.parametrize(("scroll", "position"), [("server", "SERVER"), ("token", "CLIENT")])
@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_a_crash_between_the_last_page_and_the_end_asks_for_nothing(
    patra: Patra, quiet_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, scroll: str, position: str
) -> None:
    quiet_sandbox.configure(scroll=scroll)
    patra.apply_crossref(pagination={"page_size": 25, "position": position})
    patra("plan", "crossref", "--from", START, "--to", "2026-01-01T06:00:00Z")

    def crash(*_: object) -> None:
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr(SqlRunLedger, "finish", crash)
        with pytest.raises(Crash):
            patra("execute")
    quiet_sandbox.clear_requests()
    done = patra("execute", "--until-idle")
    assert (done["tasks"]["succeeded"], quiet_sandbox.requests("crossref")) == (1, [])
    patra.assert_truth(quiet_sandbox.truth(from_=START, to="2026-01-01T06:00:00Z"))
    (cursor,) = patra("cursor", "list")
    assert cursor["value"] == "2026-01-01T06:00:00.000000Z"


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_is_asked_to_stop_gives_the_task_back_at_once(
    patra: Patra, quiet_sandbox: Sandbox, number: signal.Signals
) -> None:
    patra.apply_crossref(pagination={"page_size": 25})
    patra("plan", "crossref", "--from", START, "--to", END)
    quiet_sandbox.clear_requests()
    quiet_sandbox.script({"kind": "latency", "seconds": 0.2, "times": None})
    worker = patra.start("execute")
    while len(quiet_sandbox.requests("crossref")) < 3:
        time.sleep(0.02)
    worker.send_signal(number)
    printed, _ = worker.communicate(timeout=60)
    assert worker.returncode == 1
    pages = len(patra.rows("ing_task_run_batch", "id", where="status_code = 'SUCCEEDED'"))
    stored = len(patra.rows("ing_item", "id"))
    message = json.loads(printed)["error"]["message"]
    assert message.startswith(f"interrupted: {pages} page{'' if pages == 1 else 's'} stored (")
    assert f" {stored} inserted" in message
    assert message.endswith("; 0 tasks succeeded, 1 queued again")
    assert {row["status_code"] for row in patra.rows("ing_task")} == {"QUEUED"}
    assert {row["status_code"] for row in patra.rows("ing_task_run_batch")} <= {"SUCCEEDED", "FAILED"}


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_a_page_limit_ends_partial_and_says_so(patra: Patra, quiet_sandbox: Sandbox) -> None:
    patra.apply_crossref(pagination={"page_size": 25, "max_page": 2})
    unaware = ("--set", "slicing.probe_budget=0")
    patra("plan", "crossref", "--from", START, "--to", "2026-01-01T06:00:00Z", *unaware)
    done = patra("execute")
    assert done["tasks"]["partial"] == 1
    assert "max_page 2" in done["errors"][0]
    assert len(quiet_sandbox.requests("crossref")) == 2
    (cursor,) = patra("cursor", "list")
    assert cursor["value"] == "2026-01-01T00:00:00.000000Z"
    (wish,) = patra.rows("ing_reslice_request")
    assert (wish["reason_code"], wish["status_code"]) == ("PAGE_CAP", "OPEN")
