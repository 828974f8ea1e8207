"""`patra plan` and the planner flow leave the same rows, but for ids, times and the scheduler's columns."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from deployments.sandbox.remote import Sandbox
from tests.conftest import DatabaseFactory
from tests.support.patra import Patra, Row
from tests.support.prefect import ROOT, bare_environment
from tests.support.stored_rows import comparable_rows, differences

NOW = "2026-02-06T00:00:00Z"
NO_PROVIDER = "http://127.0.0.1:9"
CASES: dict[str, Row] = {
    "success": {"window_from": "2026-01-05T00:00:00Z", "window_to": "2026-01-06T00:00:00Z"},
    "empty window": {"window_from": "2026-01-05T00:00:00Z", "window_to": "2026-01-06T00:00:00Z"},
    "bad query": {"query": "nothing:1"},
    "bad setting": {"overrides": {"rate": "1"}},
    "unknown source": {"source": "nowhere"},
    "unknown endpoint": {"endpoint": "members"},
    "below the anchor": {"window_from": "2026-01-04T00:00:00Z", "window_to": "2026-01-06T00:00:00Z"},
    "unreachable provider": {"window_from": "2026-01-06T00:00:00Z", "window_to": "2026-01-07T00:00:00Z"},
    "paused source": {"window_from": "2026-01-07T00:00:00Z", "window_to": "2026-01-08T00:00:00Z"},
}
REFUSED = {"bad query": 2, "bad setting": 2, "unknown source": 2, "unknown endpoint": 2, "below the anchor": 2}
REFUSED["paused source"] = 4
RECORDED = len(CASES) - 2
"""A trigger belongs to a source's endpoint: without one there is no row."""

FLOWS = """
import json, os, sys
from flows.cli.main import run
from flows.parameters import PlanParameters
from flows.planner import planner

for step in json.loads(sys.argv[1]):
    if "command" in step:
        assert run([*step["command"], "--json"]) == 0
        continue
    os.environ.update(step["environment"])
    state = planner(PlanParameters(**step["parameters"]), return_state=True)
    print(json.dumps({"case": step["case"], "state": state.type.value, "message": state.message}))
"""


def steps(upstream: str) -> list[Row]:
    """What is done in order, as the script takes it."""
    done: list[Row] = []
    for case, asked in CASES.items():
        if case == "paused source":
            done.append({"command": ["pause", "crossref", "--reason", "quota is used up"]})
        place = NO_PROVIDER if case == "unreachable provider" else upstream
        parameters = {"source": "crossref", "now": NOW, **asked}
        done.append({"case": case, "environment": {"PATRA_UPSTREAM_CROSSREF": place}, "parameters": parameters})
    return done


def options(parameters: Row) -> list[str]:
    """The same on a command line."""
    flags = {"window_from": "--from", "window_to": "--to", "query": "--query", "endpoint": "--endpoint", "now": "--now"}
    given = [part for name, flag in flags.items() if name in parameters for part in (flag, parameters[name])]
    settings = [f"{name}={value}" for name, value in parameters.get("overrides", {}).items()]
    return [parameters["source"], *given, *(part for one in settings for part in ("--set", one))]


@pytest.fixture
def database_of_the_cli(patra: Patra, quiet_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database on which `patra plan` has met every case."""
    for step in steps(quiet_sandbox.url("crossref")):
        if "command" in step:
            patra(*step["command"])
            continue
        for name, value in step["environment"].items():
            monkeypatch.setenv(name, value)
        patra("plan", *options(step["parameters"]), exit_code=REFUSED.get(step["case"], 0))
    return patra.environment["PATRA_DATABASE_URL"]


@pytest.fixture
def said_by_flows(
    database_factory: DatabaseFactory, patra: Patra, quiet_sandbox: Sandbox, tmp_path: Path
) -> tuple[str, dict[str, Any]]:
    """Another database on which the planner flow has met them, and how each run ended."""
    url = database_factory.upgraded("sqlite")
    environment = {
        **bare_environment(),
        **patra.environment,
        "PATRA_DATABASE_URL": url,
        "PREFECT_HOME": str(tmp_path / "prefect"),
        "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "true",
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
    }
    apply = {"command": ["registry", "apply", "--yes", str(patra.quick_file("crossref"))]}
    command = [sys.executable, "-c", FLOWS, json.dumps([apply, *steps(quiet_sandbox.url("crossref"))])]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"case"')]
    return url, {line["case"]: line for line in lines}


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_the_cli_and_the_flow_leave_the_same_rows(
    database_of_the_cli: str, said_by_flows: tuple[str, dict[str, Any]]
) -> None:
    database_of_the_flow, ended = said_by_flows
    assert {case: line["state"] for case, line in ended.items()} == {
        case: "FAILED" if case in REFUSED else "COMPLETED" for case in CASES
    }
    assert "; the provider was not reached, so the sizes are guesses" in ended["unreachable provider"]["message"]
    by_hand, by_prefect = (comparable_rows(url, triggers=False) for url in (database_of_the_cli, database_of_the_flow))
    found = differences(by_prefect, by_hand)
    assert not found, "\n".join(found)
    triggers = by_hand["ing_schedule_instance"]
    assert len(triggers) == RECORDED
    codes = [row.get("record_remarks", {}).get("error", {}).get("code") for row in triggers]
    assert sum(code is not None for code in codes) == RECORDED - len(by_hand["ing_plan"]) == 4
