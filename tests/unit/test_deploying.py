"""What is declared, and what that means for what a server has."""

import re
import uuid
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from prefect.settings import Settings as PrefectSettings
from prefect.utilities.callables import parameter_schema
from prefect.utilities.schema_tools.validation import validate

from flows.deploying.declared import DeclaredDeployment, declared_automations, declared_deployments
from flows.deploying.forms import form_schema
from flows.deploying.harvests import HARVEST_FIELDS, harvest_deployments, obsolete_harvests
from flows.deploying.report import ChangeKind, Changes, DeployChange, DeployReport, Did
from flows.deploying.schedules import (
    PresentSchedule,
    WantedSchedule,
    declared_schedules,
    executors_present,
    is_missing,
    is_obsolete,
    is_outdated,
)
from flows.planner import planner
from flows.prefect_api.history import SHOWN_FOR
from flows.up.control_room import UpOptions, _prefect_settings
from flows.up.home import room_home
from ingest_core.model.source_summary import EndpointSummary, SourceSummary
from ingest_core.settings import Settings

ROOT = Path(__file__).parents[2]
HISTORY = re.compile("VACUUM|RETENTION")
UNDERSTOOD = {
    "name",
    "description",
    "entrypoint",
    "tags",
    "parameters",
    "work_pool",
    "concurrency_limit",
    "schedules",
}


def _source(code: str, **endpoints: list[str]) -> SourceSummary:
    known = [EndpointSummary(name, operations) for name, operations in endpoints.items()]
    return SourceSummary(code, f"The {code}", known)


def _present(slug: str | None) -> PresentSchedule:
    return PresentSchedule(uuid.uuid4(), uuid.uuid4(), slug)


def test_prefect_yaml_says_nothing_that_is_not_understood() -> None:
    document = yaml.safe_load((ROOT / "prefect.yaml").read_text(encoding="utf-8"))
    assert {key for entry in document["deployments"] for key in entry} <= UNDERSTOOD
    assert document["pull"] == []


def test_prefect_yaml_depends_on_no_folder_and_holds_no_setting_of_ours() -> None:
    told = (ROOT / "prefect.yaml").read_text(encoding="utf-8")
    values = [line.partition("#")[0] for line in told.splitlines()]
    assert not any("PATRA_" in line or " /" in line or ".py" in line for line in values)


def test_another_pool_may_be_named() -> None:
    assert {one.pool for one in declared_deployments()} == {"patra"}
    assert {one.pool for one in declared_deployments("night")} == {"night"}


def test_every_deployment_sends_heartbeats_and_has_the_tag_the_automations_look_for() -> None:
    tag = {"prefect.resource.role": "tag", "prefect.resource.id": "prefect.tag.patra"}
    for one in declared_deployments():
        assert one.job_variables["env"]["PREFECT_FLOWS_HEARTBEAT_FREQUENCY"] == "30"
        assert "patra" in one.tags
    for automation in declared_automations():
        related = automation["trigger"]["match_related"]
        assert tag in (related if isinstance(related, list) else [related])


SOURCES = [
    _source("crossref", works=["BACKFILL", "HARVEST"]),
    _source("semanticscholar", paper=["UPDATE"]),
    _source("museum", objects=["HARVEST"], people=["HARVEST"], labels=["UPDATE"]),
]


def _harvests() -> list[DeclaredDeployment]:
    (planner,) = [one for one in declared_deployments() if one.name == "planner"]
    return harvest_deployments(planner, SOURCES)


def test_each_endpoint_that_can_be_harvested_has_a_deployment_of_its_own() -> None:
    wanted = _harvests()
    assert [(one.name, one.parameters["parameters"]) for one in wanted] == [
        ("harvest-crossref", {"source": "crossref"}),
        ("harvest-museum-objects", {"source": "museum", "endpoint": "objects"}),
        ("harvest-museum-people", {"source": "museum", "endpoint": "people"}),
    ]
    assert {one.entrypoint for one in wanted} == {"flows.planner.planner"}
    assert wanted[1].tags == ["patra", "source:museum"]
    assert "The museum" in wanted[1].description


def test_each_harvest_waits_at_a_minute_of_its_own_until_it_is_wanted() -> None:
    wanted = [schedule for one in _harvests() for schedule in declared_schedules(one.schedules, 1)]
    assert not any(one.active for one in wanted)
    assert len({one.timing["cron"] for one in wanted}) == 3
    assert _harvests() == _harvests()


def test_harvests_go_with_their_source_and_what_is_not_a_harvest_stays() -> None:
    present = ["harvest-museum-labels", "harvest-crossref", "planner", "nightly"]
    assert obsolete_harvests(present, _harvests()) == ["harvest-museum-labels"]


DECLARED = [{"slug": "executor-1", "interval": 300, "anchor_date": "2026-01-01T00:00:00+00:00", "timezone": "UTC"}]


@pytest.mark.parametrize(("executors", "offsets"), [(1, [0]), (2, [0, 150]), (5, [0, 150, 75, 225, 37.5])])
def test_executors_begin_in_the_gaps_of_those_there_are(executors: int, offsets: list[float]) -> None:
    wanted = declared_schedules(DECLARED, executors)
    assert [one.slug for one in wanted] == [f"executor-{number}" for number in range(1, executors + 1)]
    assert [_seconds(one) for one in wanted] == offsets


def _seconds(schedule: WantedSchedule) -> float:
    _, minutes, seconds = schedule.timing["anchor_date"].split("T")[1].split("+")[0].split(":")
    return int(minutes) * 60 + float(seconds)


def test_only_executors_are_multiplied() -> None:
    declared = [{**DECLARED[0], "slug": "housekeeping"}]
    assert [one.slug for one in declared_schedules(declared, 4)] == ["housekeeping"]


def test_without_a_number_the_executors_there_are_stay() -> None:
    assert executors_present([]) == 1
    assert executors_present([_present("executor-1"), _present("executor-2"), _present(None)]) == 2
    assert executors_present([_present("executor-2"), _present("executor-night")]) == 2  # the first was deleted


def test_a_schedule_that_is_there_is_its_users() -> None:
    wanted = WantedSchedule("crossref", {}, {})
    assert is_missing(wanted, [])
    assert not is_missing(wanted, [_present("crossref")])


def test_executors_too_many_go_and_a_users_own_schedules_stay() -> None:
    wanted = declared_schedules(DECLARED, 1)
    assert is_obsolete(_present("executor-2"), wanted)
    assert not is_obsolete(_present("executor-1"), wanted)
    assert not is_obsolete(_present(None), wanted)
    assert not is_obsolete(_present("nightly"), wanted)
    assert not is_obsolete(_present("executor-night"), wanted)


def test_a_form_is_headed_by_what_it_is_about_and_its_sources_are_a_choice() -> None:
    text, left_out = {"type": "string", "title": "Source"}, {"anyOf": [{"type": "string"}, {"type": "null"}]}
    schema = {
        "properties": {"parameters": {"title": "parameters", "description": "What to plan."}},
        "definitions": {
            "PlanParameters": {"properties": {"source": text, "query": {"type": "string"}}},
            "ExecuteParameters": {"properties": {"source": left_out}},
            "Operation": {"enum": ["HARVEST"]},
        },
    }
    shown = form_schema(schema, ["pubmed", "crossref"], {})
    assert shown["properties"] == {"parameters": {"title": "What to plan"}}
    chosen = shown["definitions"]
    assert chosen["PlanParameters"]["properties"] == {
        "source": {"type": "string", "title": "Source", "enum": ["crossref", "pubmed"]},
        "query": {"type": "string"},
    }
    assert chosen["ExecuteParameters"]["properties"]["source"]["anyOf"] == [
        {"type": "string", "enum": ["crossref", "pubmed"]},
        {"type": "null"},
    ]
    assert "enum" not in text


def test_a_dry_run_writes_down_and_does_nothing() -> None:
    done: list[str] = []
    change = DeployChange(ChangeKind.POOL, "patra", Did.CREATED)
    for dry_run in (True, False):
        changes = Changes(dry_run)
        changes.make(lambda: done.append("act"), change)
        changes.make(lambda: done.append("nothing to change"))
        assert changes.made == [change]
        report = DeployReport("http://localhost/api", "patra", changes.made, dry_run).json()
        assert report["pool"] == {"name": "patra", "change": "created"}
        assert report["dry_run"] is dry_run
    assert done == ["act"]


def test_a_deployment_that_brings_its_parameters_is_run_without_being_asked_for_them() -> None:
    schema = {"properties": {"parameters": {"title": "parameters"}}, "required": ["parameters"], "definitions": {}}
    assert form_schema(schema, [], {})["required"] == ["parameters"]
    assert form_schema(schema, [], {"parameters": {"source": "crossref"}})["required"] == []
    asked = [one.name for one in declared_deployments() if not one.parameters]
    assert asked == ["planner", "backfill"]


def _with_interval(slug: str, interval: timedelta | None) -> PresentSchedule:
    return replace(_present(slug), interval=interval)


def test_an_interval_of_an_earlier_version_is_replaced_and_one_that_a_user_chose_stays() -> None:
    (wanted,) = declared_schedules([{**DECLARED[0], "slug": "housekeeping"}], 1)
    assert is_outdated(_with_interval("housekeeping", timedelta(minutes=1)), wanted)
    assert not is_outdated(_with_interval("housekeeping", timedelta(minutes=5)), wanted)
    assert not is_outdated(_with_interval("housekeeping", timedelta(minutes=2)), wanted)
    assert not is_outdated(_with_interval("housekeeping", None), wanted)
    assert not is_outdated(_with_interval("mine", timedelta(minutes=1)), wanted)


def test_a_default_installation_starts_at_most_300_housekeeping_runs_a_day() -> None:
    (housekeeping,) = [one for one in declared_deployments() if one.name == "housekeeping"]
    runs = [timedelta(days=1) / timedelta(seconds=one["interval"]) for one in housekeeping.schedules]
    assert 0 < sum(runs) <= 300


def test_no_schedule_of_ours_has_parameters_that_a_switch_in_the_ui_could_empty() -> None:
    declared = [*declared_deployments(), *_harvests()]
    assert [one.name for one in declared if any(schedule.get("parameters") for schedule in one.schedules)] == []


def _history() -> dict[str, str]:
    """The variables by which `patra up` limits Prefect's history."""
    home = room_home(Settings(home=Path("home")), sandbox=False)
    settings = _prefect_settings(home, UpOptions(4200, sandbox=False))
    return {name: value for name, value in settings.items() if HISTORY.search(name)}


def test_prefect_limits_its_history_as_the_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in _history().items():
        monkeypatch.setenv(name, value)
    server = PrefectSettings().server
    vacuum = server.services.db_vacuum
    assert vacuum.enabled_vacuum_types == {"events", "flow_runs", "orphans"}
    assert vacuum.retention_period == timedelta(days=30)
    assert server.events.retention_period == timedelta(days=7)
    assert vacuum.event_retention_overrides == {"prefect.flow-run.heartbeat": timedelta(days=1)}
    assert timedelta(minutes=30) == SHOWN_FOR


def test_every_server_that_we_configure_limits_its_history_alike() -> None:
    ours = _history()
    assert len(ours) == 4
    compose = yaml.safe_load((ROOT / "deployments/docker/compose.yaml").read_text(encoding="utf-8"))["x-server"]
    manifest = (ROOT / "deployments/kubernetes/base/config.yaml").read_text(encoding="utf-8")
    maps = {one["metadata"]["name"]: one["data"] for one in yaml.safe_load_all(manifest)}
    page = (ROOT / "docs/how-to/scale-out.md").read_text(encoding="utf-8")
    for name, value in ours.items():
        assert compose[name] == maps["patra-server"][name] == value
        assert f"`{value}`" in page


def _harvest_form() -> dict[str, Any]:
    wanted = _harvests()[1]
    schema = parameter_schema(planner).model_dump(exclude_unset=True)
    return form_schema(schema, ["crossref", "museum"], wanted.parameters, wanted.fields)


def test_a_harvests_form_has_only_what_a_harvest_needs() -> None:
    form = _harvest_form()["definitions"]["PlanParameters"]
    titles = [field.get("title", name) for name, field in form["properties"].items()]
    assert titles == ["Window", "From", "To", "Query", "Priority", "pace", "Other settings", "Dry run"]
    assert set(form["properties"]) == set(HARVEST_FIELDS)


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"source": "museum", "endpoint": "objects"}, None),
        ({"source": "museum", "endpoint": "objects", "window": "last 6 hours", "dry_run": True}, None),
        ({"source": "crossref", "endpoint": "objects"}, "'crossref' is not one of"),
        ({"source": "museum", "operation": "BACKFILL"}, "'operation' does not match any of the regexes"),
        ({"source": "museum", "campaign": "winter"}, "'campaign' does not match any of the regexes"),
        ({"source": "museum", "priority": 12}, "12 is greater than the maximum of 9"),
    ],
    ids=str,
)
def test_the_server_takes_of_a_harvest_what_its_form_and_its_deployment_give(
    asked: dict[str, Any], problem: str | None
) -> None:
    problems = [error.message for error in validate({"parameters": asked}, _harvest_form())]
    assert len(problems) == (problem is not None)
    assert problem is None or problem in problems[0]
