"""`patra deploy` on a real server: all of it, once; what a user changed stays."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.workers.process import ProcessWorker

from flows.prefect_api.client import open_prefect
from flows.prefect_api.history import SHOWN_FOR, delete_idle_runs
from tests.support.patra import Patra
from tests.support.prefect import ControlRoom, free_port

pytestmark = pytest.mark.timeout(600)

HARVESTED = {
    "arxiv",
    "biorxiv",
    "clinicaltrials",
    "crossref",
    "datacite",
    "doaj",
    "europepmc",
    "medrxiv",
    "openalex",
    "pubmed",
    "zenodo",
}


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlRoom]:
    """A server nothing was deployed to yet."""
    with ControlRoom(tmp_path_factory.mktemp("room")) as room:
        yield room


@pytest.fixture(scope="module")
def monkeypatch_module() -> Iterator[pytest.MonkeyPatch]:
    """Changes that last as long as the server."""
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module")
def patra(room: ControlRoom, monkeypatch_module: pytest.MonkeyPatch) -> Iterator[Patra]:
    """`patra` in front of the server, with a database at its schema."""
    url = f"sqlite:///{room.folder / 'patra.db'}"
    patra = Patra(url, "http://127.0.0.1:1/crossref", room.folder, monkeypatch_module)
    patra("db", "upgrade")
    with temporary_settings({PREFECT_API_URL: room.api_url}):
        yield patra


def _deployment(room: ControlRoom, name: str) -> dict[str, Any]:
    flow = "planner" if name.startswith("harvest-") else name
    found: dict[str, Any] = room.ask("GET", f"/deployments/name/{flow}/{name}")
    return found


def _schedules(room: ControlRoom, name: str) -> dict[str, dict[str, Any]]:
    return {one["slug"]: one for one in _deployment(room, name)["schedules"]}


def _harvests(room: ControlRoom) -> set[str]:
    """The sources that have a deployment of their own."""
    names = {one["name"] for one in room.ask("POST", "/deployments/filter", {})}
    return {name.removeprefix("harvest-") for name in names if name.startswith("harvest-")}


def _choice(room: ControlRoom, name: str, model: str) -> list[str]:
    source = _deployment(room, name)["parameter_openapi_schema"]["definitions"][model]["properties"]["source"]
    choices: list[str] = source.get("anyOf", [source])[0]["enum"]
    return choices


def _changed(report: dict[str, Any]) -> dict[str, list[tuple[str, str]]]:
    kinds = ("limits", "deployments", "schedules", "automations")
    found = {kind: [(one["name"], one["change"]) for one in report[kind]] for kind in kinds}
    return {kind: changes for kind, changes in found.items() if changes}


def test_a_dry_run_shows_everything_and_makes_nothing(patra: Patra, room: ControlRoom) -> None:
    report = patra("deploy", "--dry-run")
    assert report["dry_run"]
    assert report["pool"] == {"name": "patra", "change": "created"}
    assert {"planner/planner", "executor/executor"} <= {one["name"] for one in report["deployments"]}
    assert "ingest.total" in {one["name"] for one in report["limits"]}
    assert room.limits() == {}
    assert room.ask("POST", "/deployments/filter", {}) == []
    assert room.ask("POST", "/work_pools/filter", {}) == []
    assert room.ask("POST", "/automations/filter", {}) == []


def test_all_is_deployed_once(patra: Patra, room: ControlRoom) -> None:
    report = patra("deploy")
    assert report["server"] == room.api_url
    assert report["pool"] == {"name": "patra", "change": "created"}
    assert {change for kind in _changed(report).values() for _, change in kind} == {"created"}

    planner = _deployment(room, "planner")
    assert planner["entrypoint"] == "flows.planner.planner"
    assert (planner["path"], planner["pull_steps"]) == (None, [])
    assert planner["work_pool_name"] == "patra"
    assert planner["schedules"] == []
    assert _harvests(room) == HARVESTED
    harvests = [_deployment(room, f"harvest-{code}") for code in HARVESTED]
    schedules = [schedule for one in harvests for schedule in one["schedules"]]
    assert [one["active"] for one in schedules] == [False] * len(HARVESTED)
    assert len({one["schedule"]["cron"] for one in schedules}) > len(HARVESTED) / 2
    assert _deployment(room, "harvest-pubmed")["parameters"] == {"parameters": {"source": "pubmed"}}
    assert _choice(room, "planner", "PlanParameters") == sorted([*HARVESTED, "semanticscholar"])
    assert _choice(room, "executor", "ExecuteParameters") == sorted([*HARVESTED, "semanticscholar"])
    executor = _schedules(room, "executor")["executor-1"]
    assert (executor["active"], executor["schedule"]["interval"]) == (True, 300.0)

    limits = {name for name in room.limits() if not name.startswith("deployment:")}
    assert {"ingest.total", "ingest.crossref.works.harvest", "ingest.pubmed.search.backfill"} <= limits
    assert {one["name"] for one in report["limits"]} == limits
    assert _deployment(room, "housekeeping")["concurrency_options"]["collision_strategy"] == "CANCEL_NEW"

    again = patra("deploy")
    assert _changed(again) == {}
    assert again["pool"]["change"] is None
    automations = [one["name"] for one in room.ask("POST", "/automations/filter", {})]
    assert len(automations) == len(set(automations)) == len(report["automations"])


def test_no_flow_run_chooses_its_command_also_in_a_pool_of_an_earlier_version(patra: Patra, room: ControlRoom) -> None:
    default = ProcessWorker.get_default_base_job_template()
    default["variables"]["properties"]["name"]["default"] = "mine"
    room.ask("PATCH", "/work_pools/patra", {"base_job_template": default})
    report = patra("deploy")
    assert report["pool"] == {"name": "patra", "change": "updated"}
    assert patra("deploy")["pool"]["change"] is None
    template = room.ask("GET", "/work_pools/patra")["base_job_template"]
    assert set(template["job_configuration"]) == {"labels", "name", "stream_output"}
    assert template["variables"]["properties"]["name"]["default"] == "mine"
    planner = _deployment(room, "planner")["id"]
    asked = {"parameters": {"parameters": {"source": "crossref"}}, "job_variables": {"command": "touch evil"}}
    answer = httpx.post(f"{room.api_url}/deployments/{planner}/create_flow_run", json=asked)
    assert answer.status_code in (409, 422), answer.text
    assert "command" in answer.text


def test_what_a_user_changed_stays(patra: Patra, room: ControlRoom) -> None:
    harvest = _deployment(room, "harvest-crossref")
    place, mine = f"/deployments/{harvest['id']}/schedules", _schedules(room, "harvest-crossref")["hourly"]["id"]
    nightly = {"cron": "15 2 * * *", "timezone": "Europe/Berlin"}
    room.ask("PATCH", f"{place}/{mine}", {"active": True, "schedule": nightly})
    own = {"schedule": {"interval": 7200}, "active": True, "parameters": {"parameters": {"query": "heart"}}}
    (added,) = room.ask("POST", place, [own])
    (crashed,) = [one for one in room.ask("POST", "/automations/filter", {}) if "heartbeats" in one["name"]]
    room.ask("PATCH", f"/automations/{crashed['id']}", {"enabled": False})
    room.ask("PATCH", f"/deployments/{harvest['id']}", {"paused": True})

    assert _changed(patra("deploy")) == {}

    kept = {one["id"]: one for one in _deployment(room, "harvest-crossref")["schedules"]}
    assert (kept[mine]["active"], kept[mine]["schedule"]["cron"]) == (True, "15 2 * * *")
    assert kept[added["id"]]["active"]
    assert _deployment(room, "harvest-crossref")["paused"]
    assert not room.ask("GET", f"/automations/{crashed['id']}")["enabled"]


def test_what_is_not_as_declared_is_put_right(patra: Patra, room: ControlRoom) -> None:
    executor = _deployment(room, "executor")
    room.ask("PATCH", f"/deployments/{executor['id']}", {"description": "mine", "tags": ["other"]})
    (missed,) = [one for one in room.ask("POST", "/automations/filter", {}) if "Missed" in one["name"]]
    changed = {name: missed[name] for name in ("name", "description", "enabled", "trigger", "actions")}
    room.ask("PUT", f"/automations/{missed['id']}", {**changed, "description": "mine"})

    report = patra("deploy")

    assert report["deployments"] == [{"name": "executor/executor", "change": "updated", "what": "description, tags"}]
    assert _changed(report)["automations"] == [(missed["name"], "updated")]
    assert _deployment(room, "executor")["tags"] == ["patra"]
    assert _changed(patra("deploy")) == {}


def test_an_automation_of_an_earlier_version_goes_and_a_users_stays(patra: Patra, room: ControlRoom) -> None:
    (missed,) = [one for one in room.ask("POST", "/automations/filter", {}) if "Missed" in one["name"]]
    copied = {name: missed[name] for name in ("description", "enabled", "trigger", "actions")}
    for name, tags in (("Patra: an earlier name", ["patra"]), ("Patra: mine", []), ("Alert: mine", ["patra"])):
        room.ask("POST", "/automations/", {**copied, "name": name, "tags": tags})

    report = patra("deploy")

    assert _changed(report) == {"automations": [("Patra: an earlier name", "removed")]}
    left = {one["name"] for one in room.ask("POST", "/automations/filter", {})}
    assert {"Patra: mine", "Alert: mine", missed["name"]} <= left
    assert "Patra: an earlier name" not in left


def test_the_interval_of_an_earlier_version_is_replaced_and_a_users_stays(patra: Patra, room: ControlRoom) -> None:
    housekeeping = _deployment(room, "housekeeping")
    place = f"/deployments/{housekeeping['id']}/schedules/{housekeeping['schedules'][0]['id']}"
    asked = {"parameters": {"parts": ["reap leases"]}}
    room.ask("PATCH", place, {"active": False, "schedule": {"interval": 60}, "parameters": asked})

    report = patra("deploy")

    assert _changed(report) == {"schedules": [("housekeeping/housekeeping housekeeping", "updated")]}
    kept = _schedules(room, "housekeeping")["housekeeping"]
    assert (kept["schedule"]["interval"], kept["active"], kept["parameters"]) == (300.0, False, asked)
    room.ask("PATCH", place, {"schedule": {"interval": 120}, "parameters": asked})
    assert _changed(patra("deploy")) == {}
    assert _schedules(room, "housekeeping")["housekeeping"]["schedule"]["interval"] == 120.0


def test_scheduled_runs_that_did_nothing_are_deleted_after_a_while_and_no_others(
    patra: Patra, room: ControlRoom
) -> None:
    mine = {"patra", "auto-scheduled"}
    idle = [_ended(room, "executor", mine, "nothing was due"), _ended(room, "housekeeping", mine, "nothing to do")]
    others = [
        _ended(room, "executor", mine, "1 task succeeded"),
        _ended(room, "executor", {"patra"}, "nothing was due"),
        _ended(room, "housekeeping", mine, "2 leases released"),
        _ended(room, "housekeeping", {"auto-scheduled"}, "nothing to do"),
        _ended(room, "planner", mine, "nothing to do"),
    ]
    with open_prefect() as client:
        assert delete_idle_runs(client, datetime.now(UTC)) == 0
        assert delete_idle_runs(client, datetime.now(UTC) + SHOWN_FOR) == len(idle)
    left = {run["id"] for run in room.ask("POST", "/flow_runs/filter", {})}
    assert left & {*idle, *others} == set(others)


def _ended(room: ControlRoom, name: str, tags: set[str], message: str) -> str:
    """A run that completed just now."""
    body = {
        "flow_id": _deployment(room, name)["flow_id"],
        "deployment_id": _deployment(room, name)["id"],
        "tags": sorted(tags),
        "state": {"type": "RUNNING"},
    }
    run = room.ask("POST", "/flow_runs/", body)["id"]
    state = {"type": "COMPLETED", "name": "Completed", "message": message}
    room.ask("POST", f"/flow_runs/{run}/set_state", {"state": state, "force": True})
    return str(run)


def test_a_new_source_is_offered_and_one_that_is_gone_is_not(patra: Patra, room: ControlRoom) -> None:
    patra.apply_crossref(source={"code": "museum"})
    report = patra("deploy")
    assert {one["what"] for one in report["deployments"]} == {"parameter_openapi_schema", ""}
    assert ("planner/harvest-museum", "created") in _changed(report)["deployments"]
    assert _changed(report)["schedules"] == [("planner/harvest-museum hourly", "created")]
    assert "museum" in _choice(room, "planner", "PlanParameters")

    patra("registry", "remove", "museum")
    assert ("planner/harvest-museum", "removed") in _changed(patra("deploy"))["deployments"]
    assert "museum" not in _choice(room, "planner", "PlanParameters")
    assert _harvests(room) == HARVESTED


def test_the_server_refuses_a_source_nobody_registered(patra: Patra, room: ControlRoom) -> None:
    for name in ("planner", "executor"):
        body = {"parameters": {"parameters": {"source": "nonesuch"}}}
        place = f"{room.api_url}/deployments/{_deployment(room, name)['id']}/create_flow_run"
        answer = httpx.post(place, json=body, trust_env=False, timeout=60)
        assert answer.status_code == httpx.codes.CONFLICT
        assert "'nonesuch' is not one of" in answer.text


def test_executors_come_and_go_by_number(patra: Patra, room: ControlRoom) -> None:
    added = _changed(patra("deploy", "--executors", "3"))["schedules"]
    assert added == [(f"executor/executor executor-{number}", "created") for number in (2, 3)]
    anchors = {one["schedule"]["anchor_date"] for one in _schedules(room, "executor").values()}
    assert len(anchors) == 3
    assert _changed(patra("deploy")) == {}
    removed = sorted(_changed(patra("deploy", "--executors", "1"))["schedules"])
    assert removed == [(f"executor/executor executor-{number}", "removed") for number in (2, 3)]


def test_another_pool_is_made_and_used(patra: Patra, room: ControlRoom) -> None:
    report = patra("deploy", "--pool", "night")
    assert report["pool"] == {"name": "night", "change": "created"}
    assert {one["what"] for one in report["deployments"]} == {"work_pool_name"}
    assert room.ask("GET", "/work_pools/night")["type"] == "process"


def test_a_server_that_is_not_there_is_said_so(patra: Patra) -> None:
    with temporary_settings({PREFECT_API_URL: f"http://127.0.0.1:{free_port()}/api"}):
        assert patra("deploy", exit_code=3)["error"]["code"] == "PREFECT_UNREACHABLE"
    with temporary_settings(restore_defaults={PREFECT_API_URL}):
        answer = patra("deploy", exit_code=2)["error"]
    assert (answer["code"], answer["where"]) == ("PREFECT_URL_MISSING", "PREFECT_API_URL")


def test_a_database_without_a_schema_is_refused(patra: Patra, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATRA_DATABASE_URL", f"sqlite:///{tmp_path / 'new.db'}")
    assert patra("deploy", exit_code=4)["error"]["code"] == "SCHEMA_OLD"
