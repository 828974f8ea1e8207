"""The Registry as people use it, and what a plan keeps of it."""

from pathlib import Path

import pytest
import yaml

from deployments.sandbox.remote import Sandbox
from ingest_core.shipped import shipped_sources
from tests.support.patra import Patra

START, END = "2026-01-08", "2026-01-11"
PERIOD = ("--from", START, "--to", END)


@pytest.fixture
def dialect() -> str:
    """One database will do: what the store promises of the Registry is a contract test on every one."""
    return "sqlite"


def test_a_change_of_the_registry_changes_nothing_in_a_plan_that_is_made(patra: Patra, quiet_sandbox: Sandbox) -> None:
    patra.apply_crossref(pagination={"page_size": 90})
    patra("plan", "crossref", *PERIOD, "--now", "2026-01-12")
    other = {"params": [{"name": "cursor", "value": "page_token"}, {"name": "rows", "value": "page_size"}]}
    document = yaml.safe_load(shipped_sources()["crossref.yaml"])
    document["http"]["query"] = {"mailto": "changed@example.org"}
    document["pagination"]["page_size"] = 11
    document["params"] = other["params"]
    document["rate_limit"] = {"requests_per_second": 2000, "burst": 100}
    file = patra.quick_file("crossref")
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    patra("registry", "apply", str(file))
    quiet_sandbox.clear_requests()
    patra("execute")
    asked = quiet_sandbox.requests("crossref")

    assert asked
    assert {request["query"]["rows"] for request in asked} == {"90"}
    assert not any("mailto" in request["query"] for request in asked)
    patra.assert_truth(quiet_sandbox.truth(from_=START, to=END))


def test_a_plan_says_where_each_setting_came_from(patra: Patra) -> None:
    patra("plan", "crossref", *PERIOD, "--now", "2026-01-12", "--set", "pagination.page_size=77")
    (plan,) = patra.rows("ing_plan")
    origins = plan["record_remarks"]["origins"]

    assert origins["pagination.page_size"] == "trigger"
    assert origins["retry.max_attempts"] == "platform default"
    assert origins["http.base_url"] == "http block for ALL, endpoint any (reg_prov_http_cfg)"
    assert plan["record_remarks"]["degradations"] == []


def test_a_setting_for_one_plan_reaches_its_requests(patra: Patra, quiet_sandbox: Sandbox) -> None:
    patra("plan", "crossref", *PERIOD, "--now", "2026-01-12", "--set", "pagination.page_size=77")
    quiet_sandbox.clear_requests()
    patra("execute", "--max-tasks", "1")

    assert quiet_sandbox.requests("crossref")[0]["query"]["rows"] == "77"


@pytest.mark.parametrize(
    ("setting", "code"),
    [("rate_limit.burst=100", "OVERRIDE_UNKNOWN"), ("pagination.page_size=many", "OVERRIDE_INVALID")],
)
def test_what_cannot_be_set_for_one_plan_is_refused(patra: Patra, setting: str, code: str) -> None:
    refused = patra("plan", "crossref", *PERIOD, "--set", setting, exit_code=2)

    assert refused["error"]["code"] == code
    assert patra.rows("ing_plan") == []


def test_a_query_has_its_own_watermark_and_reaches_only_what_matches(patra: Patra, quiet_sandbox: Sandbox) -> None:
    patra("plan", "crossref", *PERIOD, "--now", "2026-01-12", "--query", "type:journal-article")
    patra("execute")
    stored = patra.rows("ing_item", "id", "record")

    assert stored
    assert {row["record"]["type"] for row in stored} == {"journal-article"}
    assert len(stored) < sum(row["usable"] for row in quiet_sandbox.truth(from_=START, to=END))
    patra("plan", "crossref", *PERIOD, "--now", "2026-01-12")
    assert len(patra("cursor", "list")) == 2


def test_a_compile_that_fails_leaves_no_plan_and_its_reason_on_the_trigger(patra: Patra) -> None:
    refused = patra("plan", "crossref", "--query", "type:a,b", "--trigger-key", "bad", exit_code=2)
    (instance,) = patra.rows("ing_schedule_instance")

    assert refused["error"]["code"] == "QUERY_INVALID"
    assert "'a,b' does not match" in instance["record_remarks"]["error"]["message"] or "column" in str(instance)
    assert patra.rows("ing_plan") == []


def test_what_was_applied_can_be_exported_and_applied_again(patra: Patra, tmp_path: Path) -> None:
    for code in ("crossref", "pubmed", "arxiv"):
        file = tmp_path / f"out-{code}.yaml"
        patra("registry", "export", code, "--output", str(file))

        assert patra("registry", "diff", str(file)) == {"changes": [], "merges": []}
        assert patra("registry", "apply", str(file)) == {"changes": [], "merges": []}


def test_an_export_is_not_written_over_a_file_unless_forced(patra: Patra, tmp_path: Path) -> None:
    file = tmp_path / "precious"
    file.write_text("mine")
    refused = patra("registry", "export", "crossref", "--output", str(file), exit_code=2)["error"]
    assert (refused["code"], file.read_text()) == ("FILE_EXISTS", "mine")

    patra("registry", "export", "crossref", "--output", str(file), "--force")
    assert "crossref" in file.read_text()


def test_apply_closes_old_rows_and_history_keeps_them(patra: Patra) -> None:
    before = len(patra("registry", "history", "crossref"))
    patra.apply_crossref(window={"lookback": "PT3H"})
    entries = patra("registry", "history", "crossref")
    closed = [entry for entry in entries if entry["closed_at"] and entry["table"] == "reg_prov_window_offset_cfg"]

    assert len(entries) == before + 1
    assert closed[-1]["row"]["lookback_seconds"] == 7200
    assert patra("registry", "show", "crossref")["tables"]["reg_prov_window_offset_cfg"][0]["lookback_seconds"] == 10800


def test_what_does_not_compile_is_not_applied(patra: Patra) -> None:
    before = patra("registry", "show", "crossref")
    file = patra.quick_file("crossref", pagination={"page_size": 5000})
    refused = patra("registry", "apply", str(file), exit_code=2)

    assert refused["error"]["code"] == "SPEC_INVALID"
    assert "PAGE_SIZE_ABOVE_CAP" in refused["error"]["message"]
    assert patra("registry", "show", "crossref") == before
    (result,) = patra("registry", "validate", str(file), exit_code=2)["files"]
    assert [problem["rule"] for problem in result["problems"]] == ["PAGE_SIZE_ABOVE_CAP"]


def test_rows_that_will_be_in_force_later_must_compile_too(patra: Patra) -> None:
    file = patra.quick_file("crossref")
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    later = {"effective_from": "2030-01-01T00:00:00Z", "page_size": 5000}
    document["pagination"] = [document["pagination"], later]
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    refused = patra("registry", "apply", str(file), exit_code=2)

    assert "PAGE_SIZE_ABOVE_CAP" in refused["error"]["message"]


def test_a_removed_source_comes_back_only_when_it_is_applied(patra: Patra) -> None:
    removed = patra("registry", "remove", "crossref")
    assert removed["code"] == "crossref"
    assert {change["change"] for change in removed["changes"]} == {"closed"}
    assert patra("db", "upgrade")["sources_applied"] == []
    assert "crossref" not in {source["code"] for source in patra("registry", "list")}
    assert patra("registry", "history", "crossref")

    unknown = patra("plan", "crossref", *PERIOD, exit_code=2)["error"]
    assert (unknown["code"], unknown["message"]) == ("SOURCE_UNKNOWN", "source 'crossref' was removed")
    assert "patra registry apply" in unknown["remedy"]

    patra("registry", "apply", "--shipped")
    assert "crossref" in {source["code"] for source in patra("registry", "list")}


def test_a_source_with_live_tasks_is_not_removed(patra: Patra) -> None:
    patra.apply_crossref()
    plan = patra("plan", "crossref", *PERIOD, "--now", "2026-01-12", "--set", "slicing.probe_budget=0")
    refused = patra("registry", "remove", "crossref", exit_code=4)["error"]
    assert refused["code"] == "SOURCE_IN_USE"
    patra("cancel", "--plan", str(plan["plan_id"]))
    assert patra("registry", "remove", "crossref")["changes"]


def test_upgrading_again_adds_shipped_sources_and_changes_none(patra: Patra) -> None:
    patra.apply_crossref(window={"lookback": "PT3H"})
    assert patra("db", "upgrade")["sources_applied"] == []
    rows = patra("registry", "show", "crossref")["tables"]
    assert rows["reg_prov_window_offset_cfg"][0]["lookback_seconds"] == 10800
    assert patra("registry", "diff", "--shipped")["changes"]


def test_a_source_that_cannot_filter_by_time_is_read_in_order_and_filtered_here(
    patra: Patra, quiet_sandbox: Sandbox
) -> None:
    by_order = {"sort": "indexed", "order": "asc"}
    patra.apply_crossref(window={"supports_updated_since": False, "stable_order": True}, http={"query": by_order})
    plan = patra("plan", "crossref", *PERIOD, "--now", "2026-01-12")
    done = patra("execute")
    (stored,) = patra.rows("ing_plan")
    truth = quiet_sandbox.truth(from_=START, to=END)

    assert plan["slices"] == 1
    assert any("one slice per plan" in note for note in stored["record_remarks"]["degradations"])
    assert set(patra.items()) == {row["id"] for row in truth if row["usable"]}
    assert done["records"]["skipped"] > 0
    assert not any("filter" in request["query"] for request in quiet_sandbox.requests("crossref"))


def test_a_changed_standing_query_goes_on_at_the_old_watermark(patra: Patra) -> None:
    patra("plan", "crossref", "--from", "2026-01-08", "--to", "2026-01-09", "--now", "2026-01-12")
    patra("plan", "crossref", *PERIOD, "--now", "2026-01-12", "--query", "type:book")
    patra("execute")
    file = patra.quick_file("crossref")
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    document["endpoints"][0]["query"] = "type:journal-article"
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    patra("registry", "apply", str(file))
    plan = patra("plan", "crossref", "--now", "2026-01-12")

    assert plan["window"]["from"] == "2026-01-09T00:00:00.000000Z"
    assert plan["warnings"] == [
        "the Registry's query changed: this harvest goes on at the watermark 2026-01-09T00:00:00.000000Z"
    ]
    assert patra("plan", "crossref", "--now", "2026-01-12", "--query", "heart")["warnings"] == []
