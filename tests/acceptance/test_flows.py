"""The same harvest through real Prefect flows: the demo on every database, and a server with a worker."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from deployments.sandbox.remote import Sandbox
from tests.conftest import DatabaseFactory
from tests.support.patra import Patra, Row, StoredRows

ROOT = Path(__file__).resolve().parents[2]
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


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _process(command: list[str], environment: dict[str, str], log: Path) -> Iterator[None]:
    with log.open("w") as output:
        process = subprocess.Popen(
            command, env=environment, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(20)


def _until(ready: Callable[[], bool], seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline, f"{what} took longer than {seconds} s"
        time.sleep(0.5)


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


class Prefect:
    """A private server with a worker, spoken to by its own command line and API."""

    def __init__(self, environment: dict[str, str], api: str) -> None:
        self._environment = environment
        self._api = api

    def command(self, *arguments: str) -> str:
        """What `prefect` prints."""
        result = subprocess.run(
            [str(Path(sys.executable).with_name("prefect")), *arguments],
            env=self._environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    def run(self, deployment: str, parameters: Row) -> Row:
        """A finished flow run of a deployment."""
        with httpx.Client(base_url=self._api, trust_env=False, timeout=30) as client:
            found = client.get(f"/deployments/name/{deployment}").json()
            body = {"parameters": {"parameters": parameters}, "state": {"type": "SCHEDULED"}}
            run = client.post(f"/deployments/{found['id']}/create_flow_run", json=body).raise_for_status().json()
        return self._ended(run["id"], runs=1)

    def retry(self, run_id: str) -> Row:
        """The same flow run, run once more as the Retry button does."""
        self.command("flow-run", "retry", run_id)
        return self._ended(run_id, runs=2)

    def _ended(self, run_id: str, runs: int) -> Row:
        with httpx.Client(base_url=self._api, trust_env=False, timeout=30) as client:

            def ended() -> bool:
                run = client.get(f"/flow_runs/{run_id}").json()
                final = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}
                return run["run_count"] >= runs and run["state_type"] in final

            _until(ended, 120, f"flow run {run_id}")
            final: Row = client.get(f"/flow_runs/{run_id}").json()
            return final


@pytest.fixture(scope="module")
def prefect_environment(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], str, int, Path]:
    folder = tmp_path_factory.mktemp("prefect")
    port = _free_port()
    api = f"http://127.0.0.1:{port}/api"
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")},
        "PREFECT_HOME": str(folder),
        "PREFECT_API_URL": api,
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_WORKER_QUERY_SECONDS": "1",
        "DO_NOT_TRACK": "1",
    }
    return environment, api, port, folder


@pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)
def test_deployments_of_the_checkout_run_on_a_server_with_a_worker(
    patra: Patra, quiet_sandbox: Sandbox, prefect_environment: tuple[dict[str, str], str, int, Path]
) -> None:
    environment, api, port, folder = prefect_environment
    environment = {**environment, **patra.environment}
    prefect_script = str(Path(sys.executable).with_name("prefect"))
    server = [prefect_script, "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    with _process(server, environment, folder / "server.log"):
        _until(lambda: _answers(f"{api}/health"), 90, "the Prefect server")
        prefect = Prefect(environment, api)
        prefect.command("work-pool", "create", "patra", "--type", "process")
        prefect.command("deploy", "--all", "--no-prompt")
        worker = [prefect_script, "worker", "start", "--pool", "patra"]
        with _process(worker, environment, folder / "worker.log"):
            window = {"source": "crossref", "window_from": "2026-01-01T00:00:00Z", "window_to": "2026-01-02T00:00:00Z"}
            planned = prefect.run("planner/planner", window)
            assert planned["state_type"] == "COMPLETED", planned["state"]["message"]
            worked = prefect.run("executor/executor", {"source": "crossref"})
            assert worked["state_type"] == "COMPLETED", worked["state"]["message"]
            refused = prefect.run("planner/planner", {"source": "second"})
            assert refused["state_type"] == "FAILED"
            assert "no source 'second' is registered" in refused["state"]["message"]
            patra.apply_crossref(source={"code": "second"})
            retried = prefect.retry(refused["id"])
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
        **{name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")},
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

    assert "now_safe = now - lag = 2026-01-07T06:24:56.000000Z: a record may need so long to become visible" in log
    assert "from = user.from = 2026-01-01T00:00:00.000000Z: nothing has been read yet" in log
    assert "the provider was asked for 1 sizes" in log
    assert (report["campaign"], report["operation"], report["sizes"]["methods"]) == ("winter", "BACKFILL", {"COUNT": 1})
    (instance,) = patra.rows("ing_schedule_instance")
    assert (instance["scheduler_code"], instance["trigger_params"]["campaign"]) == ("PREFECT", "winter")
    (cursor,) = patra("cursor", "list")
    assert (cursor["operation"], cursor["value"]) == ("BACKFILL", "2026-01-01T00:00:00.000000Z")
    same = ("--operation", "BACKFILL", "--campaign", "winter", "--from", "2026-01-01", "--to", "2026-01-05")
    assert "in a live task" in patra("plan", "crossref", *same, "--now", now)["reason"]
