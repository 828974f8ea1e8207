"""Run forms: what cannot be meant is refused, in words, before a flow has done anything."""

from datetime import UTC, datetime
from typing import Any

import pytest
from prefect.utilities.callables import parameter_schema
from pydantic import ValidationError

from flows.backfill import backfill
from flows.executor import executor
from flows.parameters import BackfillParameters, ExecuteParameters, PlanParameters
from flows.planner import planner
from flows.text.refusals import in_labels, read_form
from ingest_core.model.codes import Operation
from ingest_core.model.errors import BadInput

NOW = datetime(2026, 3, 10, 6, 34, tzinfo=UTC)
PERIOD = {"window_from": "2026-01-01", "window_to": "2026-01-02"}


def refusal(form: type[PlanParameters | BackfillParameters | ExecuteParameters], **asked: Any) -> str:
    """Why a form is not taken."""
    with pytest.raises(ValidationError) as refused:
        form(**asked)
    (problem,) = refused.value.errors()
    return f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"window": "last 7 days", **PERIOD}, "give From and To, or the window in words, not both"),
        ({"window": "last days"}, "Window: 'last days' is not a window (write it like: last 7 days, "),
        ({"window_from": "2026-01-02", "window_to": "2026-01-01"}, "is not before To"),
        ({"window_from": "0001-01-01"}, "From: 1-01-01 is out of reach"),
        ({"now": "9999-01-01"}, "Now: 9999-01-01 is out of reach"),
        ({"window_from": "soon"}, "window_from: Input should be a valid datetime"),
        ({"campaign": "winter"}, "Campaign 'winter': a HARVEST has no campaigns"),
        ({"newest_first": True}, "only a BACKFILL runs from the newest down"),
        ({"ids": ["1"]}, "only an UPDATE is asked for ids"),
        ({"priority": 0}, "priority: Input should be greater than or equal to 1"),
        ({"priority": 10}, "priority: Input should be less than or equal to 9"),
        ({"operation": "PURGE"}, "operation: Input should be 'HARVEST', "),
        ({"pace": {"requests_per_second": 0}}, "requests_per_second: Input should be greater than or equal to 0.001"),
        ({"pace": {"pages": 1}}, "pace.pages: Extra inputs are not permitted"),
        (
            {"pace": {"step": "6 hours"}, "overrides": {"window.step": "P1D"}},
            "Step (window.step) is also said under Pace",
        ),
        ({"campain": "winter"}, "campain: Extra inputs are not permitted"),
    ],
    ids=str,
)
def test_what_a_plan_cannot_be_asked_is_said_in_words(asked: dict[str, Any], said: str) -> None:
    assert said in refusal(PlanParameters, source="crossref", **asked)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "window_from: Field required"),
        ({"window_from": "2026-01-02", "window_to": "2026-01-01"}, "is not before To"),
        ({"window_from": "2026-01-01", "campaign": "x" * 129}, "its name has 1 to 128 characters"),
        ({"window_from": "2026-01-01", "operation": "HARVEST"}, "operation: Extra inputs are not permitted"),
        ({"window_from": "2026-01-01", "priority": 10}, "priority: Input should be less than or equal to 9"),
    ],
    ids=str,
)
def test_what_a_backfill_cannot_be_asked_is_said_in_words(asked: dict[str, Any], said: str) -> None:
    assert said in refusal(BackfillParameters, source="crossref", **asked)


@pytest.mark.parametrize(
    "asked",
    [{"max_tasks": 0}, {"max_tasks": 1501}, {"minutes": 0}, {"minutes": 1441}, {"at_once": 0}, {"at_once": 33}],
    ids=str,
)
def test_an_executor_run_has_bounds(asked: dict[str, Any]) -> None:
    assert f"{next(iter(asked))}: Input should be" in refusal(ExecuteParameters, **asked)


def test_a_window_in_words_means_what_it_does_at_the_runs_own_time() -> None:
    request = PlanParameters(source="crossref", window="yesterday").request(NOW)

    assert (request.user_from, request.user_to) == (NOW.replace(day=9, hour=0, minute=0), NOW.replace(hour=0, minute=0))
    assert request.window_words == "yesterday"


def test_the_pace_becomes_settings_of_the_source() -> None:
    pace = {"requests_per_second": 0.5, "page_size": 200, "step": "6 hours"}
    request = PlanParameters(source="crossref", pace=pace, overrides={"window.lag": "PT1M"}).request(NOW)

    assert request.overrides == {
        "rate_limit.requests_per_second": "0.5",
        "pagination.page_size": "200",
        "window.step": "PT6H",
        "window.lag": "PT1M",
    }


@pytest.mark.parametrize(
    ("text", "step"), [("1 day", "P1D"), ("30 Minutes", "PT30M"), (" 2 weeks ", "P2W"), ("PT6H", "PT6H")]
)
def test_a_step_is_said_in_words_or_as_a_source_file_does(text: str, step: str) -> None:
    form = PlanParameters.model_validate({"source": "crossref", "pace": {"step": text}})

    assert form.request(NOW).overrides == {"window.step": step}


def test_a_field_that_was_emptied_is_as_one_that_was_left_alone() -> None:
    emptied = {"endpoint": "", "query": " ", "campaign": "  ", "window": ""}

    assert PlanParameters.model_validate({"source": "crossref", **emptied}).request(NOW) == PlanParameters(
        source="crossref"
    ).request(NOW)


def test_a_backfill_is_one_of_low_priority() -> None:
    form = BackfillParameters.model_validate({"source": "crossref", **PERIOD, "campaign": "winter"})
    request = form.request(NOW)

    assert (request.operation, request.campaign, request.urgency) == (Operation.BACKFILL, "winter", 7)
    assert (request.user_from, request.user_to) == (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC))


@pytest.mark.parametrize(
    ("form", "asked", "said"),
    [
        (
            PlanParameters,
            {"window_from": "soon"},
            'From: "soon" should be a valid datetime or date, input is too short',
        ),
        (PlanParameters, {"priority": 12}, "Priority: 12 should be less than or equal to 9"),
        (PlanParameters, {"source": None}, "Source: nothing should be a valid string"),
        (PlanParameters, {"operation": "PURGE"}, "Operation: \"PURGE\" should be 'HARVEST', 'BACKFILL' or 'UPDATE'"),
        (PlanParameters, {"pace": {"page_size": 0}}, "Pace, Page size: 0 should be greater than or equal to 1"),
        (PlanParameters, {"ids": ["a", 7]}, "Ids, item 2: 7 should be a valid string"),
        (PlanParameters, {"campain": "winter"}, "campain is not a field of this form"),
        (PlanParameters, {"campaign": "winter"}, "Campaign 'winter': a HARVEST has no campaigns "),
        (PlanParameters, {"newest_first": True}, "Newest first 'true': only a BACKFILL runs from the newest down "),
        (PlanParameters, {"ids": ["1"]}, "Ids 1: only an UPDATE is asked for ids "),
        (PlanParameters, {"window": "last days"}, "Window: 'last days' is not a window (write it like: last 7 days, "),
        (PlanParameters, {"window": "today", **PERIOD}, "Window: 'today' beside From or To (give From and To, or the "),
        (
            PlanParameters,
            {"window_from": "2026-01-02", "window_to": "2026-01-01"},
            "Window: From 2026-01-02T00:00:00.000000Z is not before To 2026-01-01T00:00:00.000000Z (let From be",
        ),
        (BackfillParameters, {}, "From is missing"),
        (
            BackfillParameters,
            {"window_from": "soon", "priority": 0},
            "; Priority: 0 should be greater than or equal to",
        ),
        (ExecuteParameters, {"minutes": 0, "source": "crossref"}, "Minutes: 0 should be greater than 0"),
        (ExecuteParameters, {"at_once": "many"}, 'At once: "many" should be a valid integer'),
    ],
    ids=str,
)
def test_a_refusal_names_the_labels_that_people_see(form: type[Any], asked: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_form(form, {"source": "crossref", **asked})

    assert said in str(refused.value)
    assert not any(name in str(refused.value) for name in ("window_from", "page_size", "parameters", "newest_first"))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (BadInput("QUERY_INVALID", "column 1: unknown field", where="--query"), "Query: column 1: unknown field"),
        (BadInput("NOW_AHEAD", "it is ahead", where="now"), "Now: it is ahead"),
        (BadInput("X", "'rate' cannot be set", where="overrides"), "Other settings: 'rate' cannot be set"),
        (
            BadInput("X", "pagination.page_size: 9 is too much", where="source 'x'"),
            "source 'x': Page size (pagination.page_size): 9 is too much",
        ),
        (BadInput("X", "no source 'y'", where="source"), "source: no source 'y'"),
    ],
    ids=str,
)
def test_what_the_library_refuses_is_said_with_the_forms_labels(error: BadInput, said: str) -> None:
    assert in_labels(error) == said


def test_a_form_that_can_be_taken_is_read_from_what_the_server_has_of_it() -> None:
    form = read_form(PlanParameters, {"source": "crossref", "window": "yesterday"})

    assert form.request(NOW).user_to == NOW.replace(hour=0, minute=0)
    assert read_form(PlanParameters, form) is form


@pytest.mark.parametrize("flow", [planner, backfill])
def test_every_field_of_a_form_has_a_title_and_a_help_text(flow: Any) -> None:
    definitions = parameter_schema(flow).definitions
    fields = [field for form in definitions.values() for field in form.get("properties", {}).items()]
    bare = {"operation", "pace"}  # a choice and a group speak for themselves

    assert [name for name, field in fields if not field.get("title") and name not in bare] == []
    assert [name for name, field in fields if not field.get("description") and name not in bare] == []


@pytest.mark.parametrize("flow", [planner, backfill, executor])
def test_what_may_be_left_out_is_an_empty_box_and_no_choice_of_types(flow: Any) -> None:
    definitions = parameter_schema(flow).definitions
    fields = [field for form in definitions.values() for field in form.get("properties", {}).items()]

    assert len(fields) > 5
    assert [name for name, field in fields if "anyOf" in field] == []


def test_a_period_is_picked_by_day_and_may_be_left_empty() -> None:
    fields = parameter_schema(backfill).definitions["BackfillParameters"]

    for name in ("window_from", "window_to"):
        shown = fields["properties"][name]
        assert (shown["type"], shown["format"], "default" in shown) == ("string", "date", False)
    assert fields["required"] == ["source", "window_from"]
    form = BackfillParameters.model_validate({"source": "crossref", "window_from": "2026-01-01", "window_to": None})
    assert form.request(NOW).user_from == datetime(2026, 1, 1, tzinfo=UTC)


def test_a_form_begins_with_what_is_asked_most() -> None:
    assert list(PlanParameters.model_fields)[:6] == [
        "source", "operation", "endpoint", "window", "window_from", "window_to"
    ]  # fmt: skip
    assert list(BackfillParameters.model_fields)[:4] == ["source", "window_from", "window_to", "campaign"]
