"""The same harvest through real Prefect flows: the demo on every database, and a server with a worker."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from deployments.sandbox.remote import Sandbox
from tests.conftest import DatabaseFactory
from tests.support.patra import Patra, Row, StoredRows
from tests.support.prefect import ROOT, ControlRoom, bare_environment

LINEAGE = {"id", "run_id", "last_run_id", "first_run_id", "created_at", "updated_at", "refresh_checked_at"}


def _demo(environment: dict[str, str], *options: str) -> dict[str, Any]:
    result = subprocess.run(
        [sys.executable, "-m", "flows.cli", "demo", "--json", *options],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    summary: dict[str, Any] = json.loads(result.stdout)
    return summary


def _assert_adds_up(summary: dict[str, Any]) -> None:
    """Each record received is in one count, and what was inserted and quarantined is there afterwards."""
    rounds, check = summary["rounds"], summary["check"]
    counts = [one["records"] for one in rounds]
    assert all(one["received"] == sum(one.values()) - one["received"] for one in counts)
    assert check["stored"] == summary["before"]["stored"] + sum(one["inserted"] for one in counts)
    new = sum(one["records"]["quarantined"] - one["quarantined_again"] for one in rounds)
    assert check["quarantined"] == summary["before"]["quarantined"] + new
    assert (check["usable"], check["unusable"]) == (check["stored"], check["quarantined"])
    assert summary["example"]["record"]["title"]


def _content(rows: list[Row], *besides: str) -> list[Row]:
    return [{name: value for name, value in row.items() if name not in LINEAGE | set(besides)} for row in rows]


@pytest.mark.parametrize(
    "dialect",
    ["sqlite", *(pytest.param(name, marks=pytest.mark.long) for name in ("postgresql", "mysql"))],
    indirect=True,
)
def test_a_demo_ends_complete_and_the_command_line_gives_the_same_rows(
    patra: Patra, dialect: str, database_factory: DatabaseFactory, quiet_sandbox: Sandbox, tmp_path: Path
) -> None:
    other = database_factory.fresh(dialect)
    summary = _demo({"PATRA_DATABASE_URL": other, "PATRA_HOME": str(tmp_path / "demo")})
    assert summary["complete"] is True
    assert summary["check"]["usable"] > 3900
    assert summary["check"]["unusable"] > 100
    first, second = summary["rounds"]
    assert (first["slices"], second["slices"]) == (13, 1)
    _assert_adds_up(summary)
    assert 0 < second["records"]["inserted"] < 400
    assert second["watermark"]["before"] == first["watermark"]["after"]

    for entry in (first, second):
        quiet_sandbox.move_clock(entry["now"])
        start = () if entry["watermark"]["before"] else ("--from", "2026-01-01")
        plan = patra("plan", "crossref", *start, "--now", entry["now"], "--set", "slicing.target_records=2000")
        assert plan["window"] == entry["window"]
        assert patra("execute")["records"] == entry["records"]
    flows = StoredRows(other)
    for table in ("ing_item", "ing_quarantine", "ing_plan_slice", "ing_cursor"):
        assert _content(patra.rows(table)) == _content(flows.rows(table)), table
    events = ("as_of", "idempotent_key")
    assert _content(patra.rows("ing_cursor_event"), *events) == _content(flows.rows("ing_cursor_event"), *events)
    run = flows.rows("ing_task_run")[0]
    assert run["flow_run_id"]
    assert run["flow_task_run_id"]


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_a_demo_leaves_other_databases_alone(patra: Patra) -> None:
    before = patra.rows("reg_provenance")
    answer = patra("demo", exit_code=4)
    assert answer["error"]["code"] == "DATABASE_IN_USE"
    assert patra.rows("reg_provenance") == before


@pytest.mark.long  # executor runs begin the same way
@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
def test_deployments_of_the_checkout_run_on_a_server_with_a_worker(
    patra: Patra, quiet_sandbox: Sandbox, tmp_path: Path
) -> None:
    with ControlRoom(tmp_path / "room", patra.environment) as room:
        room.command("work-pool", "create", "patra", "--type", "process")
        room.command("deploy", "--all", "--no-prompt")
        room.command("deployment", "schedule", "clear", "--accept-yes", "executor/executor")  # it would take the tasks
        room.worker()
        window = {"source": "crossref", "window_from": "2026-01-01T00:00:00Z", "window_to": "2026-01-02T00:00:00Z"}
        planned = room.run("planner/planner", window)
        assert planned["state_type"] == "COMPLETED", planned["state"]["message"]
        worked = room.run("executor/executor", {"source": "crossref"})
        assert worked["state_type"] == "COMPLETED", worked["state"]["message"]
        refused = room.run("planner/planner", {"source": "second"})
        assert refused["state_type"] == "FAILED"
        assert "no source 'second' is registered" in refused["state"]["message"]
        patra.apply_crossref(source={"code": "second"})
        retried = room.retry(refused["id"])
        assert retried["state_type"] == "COMPLETED", retried["state"]["message"]
    patra.assert_truth(quiet_sandbox.truth(from_="2026-01-01T00:00:00Z", to="2026-01-02T00:00:00Z"))
    instances = patra.rows("ing_schedule_instance")
    assert [instance["scheduler_log_id"] for instance in instances] == [planned["id"], retried["id"]]
    assert {(instance["scheduler_code"], instance["scheduler_job_id"]) for instance in instances} == {
        ("PREFECT", "planner")
    }
    assert {run["flow_run_id"] for run in patra.rows("ing_task_run")} == {worked["id"]}


FLOW = """
import json, sys
from flows.parameters import PlanParameters
from flows.planner import planner
print(json.dumps(planner(PlanParameters(**json.loads(sys.argv[1])))))
"""


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_the_planner_flow_runs_a_campaign_and_logs_its_arithmetic(patra: Patra, tmp_path: Path) -> None:
    bounds = {"window_from": "2026-01-01T00:00:00Z", "window_to": "2026-01-05T00:00:00Z"}
    now = "2026-01-07T06:34:56Z"
    parameters = {"source": "crossref", "operation": "BACKFILL", "campaign": "winter", "now": now, **bounds}
    environment = {
        **bare_environment(),
        **patra.environment,
        "PREFECT_HOME": str(tmp_path / "prefect"),
        "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "true",
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
    }
    command = [sys.executable, "-c", FLOW, json.dumps(parameters)]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    report, log = json.loads(done.stdout.splitlines()[-1]), done.stderr

    assert "now_safe = now - lag = 2026-01-07T06:24:56.000000Z: time a record may need to become visible" in log
    assert "from = user.from = 2026-01-01T00:00:00.000000Z: nothing has been read yet" in log
    assert "the provider gave 1 size" in log
    assert (report["campaign"], report["operation"], report["sizes"]["methods"]) == ("winter", "BACKFILL", {"COUNT": 1})
    (instance,) = patra.rows("ing_schedule_instance")
    assert (instance["scheduler_code"], instance["trigger_params"]["campaign"]) == ("PREFECT", "winter")
    (cursor,) = patra("cursor", "list")
    assert (cursor["operation"], cursor["value"]) == ("BACKFILL", "2026-01-01T00:00:00.000000Z")
    same = ("--operation", "BACKFILL", "--campaign", "winter", "--from", "2026-01-01", "--to", "2026-01-05")
    assert "in a live task" in patra("plan", "crossref", *same, "--now", now)["reason"]
