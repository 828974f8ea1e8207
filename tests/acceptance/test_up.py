"""`patra up` as a person runs it: one command, and after Ctrl-C nothing of it is left."""

import json
import signal
import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.objects import FlowRun

from deployments.sandbox.remote import Sandbox
from tests.support.patra import StoredRows
from tests.support.prefect import free_port, until
from tests.support.up import START_SECONDS, Up

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
RUN_SECONDS = 240


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """A room that is open."""
    up = Up(tmp_path_factory.mktemp("up"))
    try:
        up.start()
        yield up
    finally:
        up.kill()


@pytest.fixture
def client(up: Up) -> Iterator[SyncPrefectClient]:
    """A client of the room that is open."""
    with up.client() as client:
        yield client


def _begin(client: SyncPrefectClient, deployment: str) -> FlowRun:
    return client.create_flow_run_from_deployment(client.read_deployment_by_name(deployment).id)


def _ended(client: SyncPrefectClient, run: FlowRun) -> FlowRun:
    until(lambda: _state(client, run).is_final(), RUN_SECONDS, f"flow run {run.name}")
    return client.read_flow_run(run.id)


def _state(client: SyncPrefectClient, run: FlowRun) -> Any:
    return client.read_flow_run(run.id).state


def _running(client: SyncPrefectClient) -> list[str]:
    return [run.name for run in client.read_flow_runs() if run.state and run.state.is_running()]


def _items(up: Up) -> int:
    return len(StoredRows(up.room["database"]).rows("ing_item", "id"))


def test_everything_is_there(up: Up, client: SyncPrefectClient) -> None:
    assert up.room["ui"] == f"http://127.0.0.1:{up.port}"
    with urllib.request.urlopen(f"{up.room['ui']}/ui-settings") as answer:
        assert json.load(answer)["api_url"] == up.room["api"]
    with urllib.request.urlopen(up.room["ui"]) as answer:
        assert b"Prefect" in answer.read()
    names = {one.name for one in client.read_deployments()}
    assert {"planner", "executor", "backfill", "housekeeping", "harvest-crossref", "harvest-pubmed"} <= names
    assert len(client.read_automations()) == len(up.room["deployed"]["automations"]) == 3
    assert {"ingest.total", "ingest.crossref.works.harvest"} <= {
        one.name for one in client.read_global_concurrency_limits(limit=200, offset=0)
    }
    until(lambda: bool(client.read_workers_for_work_pool("patra")), START_SECONDS, "the worker")
    assert str(up.folder / "home/sandbox") == up.room["home"]


def test_a_second_one_is_refused(up: Up) -> None:
    code, error = up.refused(port=free_port())
    assert (code, error["code"], error["where"]) == (4, "ALREADY_UP", up.room["home"])
    code, error = up.refused(home="other")
    assert (code, error["code"]) == (2, "PORT_IN_USE")
    assert str(up.port) in error["message"]
    assert "--port" in error["remedy"]


def test_ctrl_c_leaves_nothing_though_a_run_is_in_work(up: Up, client: SyncPrefectClient) -> None:
    until(lambda: bool(_running(client)), RUN_SECONDS, "the executor that begins with the room")
    _assert_ends(up, signal.SIGINT, group=True)


def _assert_ends(up: Up, number: signal.Signals, *, group: bool) -> None:
    assert up.end(number, group=group) == 0
    assert up.left() == []
    for url in (up.room["ui"], up.room["sandbox"]):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", int(url.rpartition(":")[2])))


@pytest.mark.alone
def test_a_room_harvests_drains_and_is_opened_again(tmp_path: Path) -> None:
    up = Up(tmp_path)
    try:
        up.start()
        with up.client() as client:
            _harvest(up, client)
            _begin_slow_work(up, client)
        _assert_ends(up, signal.SIGTERM, group=False)
        items = _items(up)
        up.start()
        assert up.room["deployed"]["pool"]["change"] is None
        assert up.room["deployed"]["deployments"] == up.room["deployed"]["automations"] == []
        assert _items(up) >= items > 500
        with up.client() as client:
            states = [run.state for run in client.read_flow_runs() if run.start_time and run.state]
            assert {state.type for state in states if state.type != "RUNNING"} == {"COMPLETED"}, states
        _assert_ends(up, signal.SIGINT, group=True)
    finally:
        up.kill()


def _harvest(up: Up, client: SyncPrefectClient) -> None:
    planned = _ended(client, _begin(client, "planner/harvest-crossref"))
    assert planned.state_type == "COMPLETED", planned.state
    until(lambda: _items(up) > 500, RUN_SECONDS, "the harvest")


def _begin_slow_work(up: Up, client: SyncPrefectClient) -> None:
    """Plan a source that answers slowly, and see the executor at work on it."""
    with Sandbox(up.room["sandbox"]) as sandbox:
        sandbox.script({"kind": "latency", "seconds": 5, "match": {"path": "/openalex/*"}, "times": 1000})
    _begin(client, "planner/harvest-openalex")
    at_work = "provenance_code = 'openalex' and status_code = 'EXECUTING'"
    stored = StoredRows(up.room["database"])
    until(lambda: bool(stored.rows("ing_task", "id", where=at_work)), 2 * RUN_SECONDS, "a slow task")
