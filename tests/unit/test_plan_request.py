"""What a trigger may ask for: what cannot be is refused before anything is written."""

from typing import Any

import pytest

from ingest_core.model.codes import Operation, SchedulerCode
from ingest_core.model.errors import BadInput, ExitCode
from ingest_core.planning.request import MAX_TRIGGER_KEY_CHARS, PlanRequest, Trigger
from tests.support.specs import at

HARVEST, BACKFILL, UPDATE = Operation.HARVEST, Operation.BACKFILL, Operation.UPDATE


@pytest.mark.parametrize(
    ("operation", "asked"),
    [
        (HARVEST, {}),
        (BACKFILL, {}),
        (UPDATE, {}),
        (BACKFILL, {"newest_first": True}),
        (BACKFILL, {"campaign": "old"}),
        (UPDATE, {"campaign": "x" * 128}),
        (UPDATE, {"ids": ("1", "x" * 512)}),
        (HARVEST, {"priority": 1}),
        (HARVEST, {"priority": 9}),
        (UPDATE, {"user_from": at("06:00"), "user_to": at("07:00")}),
    ],
    ids=str,
)
def test_what_can_be_is_asked_for(operation: Operation, asked: dict[str, Any]) -> None:
    assert PlanRequest("crossref", operation, **asked).operation == operation


@pytest.mark.parametrize(
    ("operation", "asked", "said"),
    [
        (HARVEST, {"newest_first": True}, "newest_first 'true': only a BACKFILL runs from the newest down"),
        (UPDATE, {"newest_first": True}, "newest_first 'true': only a BACKFILL runs from the newest down"),
        (HARVEST, {"campaign": "old"}, "campaign 'old': a HARVEST has no campaigns"),
        (BACKFILL, {"campaign": ""}, "campaign '': its name has 1 to 128 characters"),
        (BACKFILL, {"campaign": "x" * 129}, "its name has 1 to 128 characters"),
        (HARVEST, {"ids": ("1",)}, "ids 1: only an UPDATE is asked for ids"),
        (BACKFILL, {"ids": ("1", "2")}, "ids 2: only an UPDATE is asked for ids"),
        (UPDATE, {"ids": ("1", "")}, "ids '': an id has 1 to 512 characters"),
        (UPDATE, {"ids": ("x" * 513,)}, "an id has 1 to 512 characters"),
        (HARVEST, {"priority": 0}, "priority 0: 1 is the most urgent, 9 the least"),
        (BACKFILL, {"priority": 10}, "priority 10: 1 is the most urgent, 9 the least"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_is_refused_with_its_name_value_and_remedy(
    operation: Operation, asked: dict[str, Any], said: str
) -> None:
    with pytest.raises(BadInput) as refused:
        PlanRequest("crossref", operation, **asked)

    assert (refused.value.code, refused.value.exit_code) == ("REQUEST_INVALID", ExitCode.BAD_INPUT)
    assert said in refused.value.message
    assert refused.value.where == f"source 'crossref', {operation}"
    assert refused.value.remedy


@pytest.mark.parametrize("operation", Operation)
@pytest.mark.parametrize(("user_from", "user_to"), [("10:00", "10:00"), ("11:00", "10:00")])
def test_bounds_that_cross_are_refused_for_every_operation(operation: Operation, user_from: str, user_to: str) -> None:
    with pytest.raises(BadInput) as refused:
        PlanRequest("crossref", operation, user_from=at(user_from), user_to=at(user_to))

    assert refused.value.code == "WINDOW_INVALID"


@pytest.mark.parametrize("length", [0, MAX_TRIGGER_KEY_CHARS + 1])
def test_a_trigger_key_without_end_or_beginning_is_refused(length: int) -> None:
    with pytest.raises(BadInput, match=f"this one has {length}"):
        Trigger(SchedulerCode.CLI, "x" * length)


def test_a_plain_request_is_kept_as_it_always_was() -> None:
    """A trigger that is delivered again after an upgrade must find its row, and not another request in it."""
    assert PlanRequest("crossref", user_from=at("06:00")).json() == {
        "source": "crossref",
        "operation": "HARVEST",
        "endpoint": None,
        "from": "2026-03-10T06:00:00.000000Z",
        "to": None,
    }


@pytest.mark.parametrize(
    "asked",
    [
        {"campaign": "old"},
        {"newest_first": True},
        {"query": "type:book"},
        {"overrides": {"window.lag": "PT1M"}},
        {"endpoint": "works"},
        {"user_to": at("06:00")},
        {"priority": 7},
        {"window_words": "yesterday"},
    ],
    ids=str,
)
def test_whatever_is_asked_for_is_in_what_is_kept(asked: dict[str, Any]) -> None:
    assert PlanRequest("crossref", BACKFILL, **asked).json() != PlanRequest("crossref", BACKFILL).json()


def test_of_ids_their_number_and_a_hash_are_kept() -> None:
    kept = [PlanRequest("crossref", UPDATE, ids=ids).json()["ids"] for ids in (("1", "2"), ("1", "3"))]

    assert [one["count"] for one in kept] == [2, 2]
    assert kept[0]["hash"] != kept[1]["hash"]
    assert "ids" not in PlanRequest("crossref", UPDATE).json()


def test_a_window_in_words_is_kept_in_words() -> None:
    """A trigger that is delivered again tomorrow is still the same."""
    said = [
        PlanRequest("crossref", user_from=at(start), user_to=at("23:00"), window_words="today").json()
        for start in ("06:00", "07:00")
    ]

    assert said[0] == said[1]
    assert (said[0]["window"], said[0]["from"], said[0]["to"]) == ("today", None, None)


@pytest.mark.parametrize(("operation", "usual"), [(HARVEST, 3), (UPDATE, 5), (BACKFILL, 7)])
def test_an_operation_has_its_urgency_unless_another_is_asked_for(operation: Operation, usual: int) -> None:
    assert [PlanRequest("crossref", operation, priority=asked).urgency for asked in (None, 1)] == [usual, 1]
