"""The window of a harvest: `window-resolution` chapter 3 with D2, D4 and D7, case by case."""

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from pydantic import TypeAdapter

from ingest_core.model.cursor import CursorState
from ingest_core.model.errors import BadInput, ExitCode
from ingest_core.model.instant import format_instant, parse_instant
from ingest_core.planning.arithmetic import RULES, written
from ingest_core.planning.request import PlanRequest
from ingest_core.planning.window import WindowDecision, resolve_harvest
from tests.support.specs import at, crossref_spec, watermark


def resolve(
    now: str = "12:34:56",
    cursor: CursorState | None = None,
    user_from: str | None = None,
    user_to: str | None = None,
    **window: Any,
) -> WindowDecision:
    """Resolve with the shipped Crossref's window (lag 10 min, lookback 2 h, one day, whole hours), or another."""
    request = PlanRequest(
        "crossref", user_from=at(user_from) if user_from else None, user_to=at(user_to) if user_to else None
    )
    return resolve_harvest(request, cursor, crossref_spec(window=window).time, at(now))


@dataclass(frozen=True)
class Case:
    """A line of the table: what goes in, and the window that must come out."""

    name: str
    start: str
    end: str
    given: dict[str, Any] = field(default_factory=dict)


CURSOR = watermark("08:00", anchor="2026-03-01")
CALENDAR = {"mode": "CALENDAR", "align_to": "DAY"}

ROUNDED = Case(
    "the user's microseconds",
    "07:00:00.001",
    "09:00:00.001",
    {"cursor": CURSOR, "user_from": "07:00:00.001999", "user_to": "09:00:00.001001"},
)

CASES = [
    # the upper end: min(user.to?, now - lag), at the start of the provider's unit
    Case("no bound: the hour that holds now - lag", "06:00", "12:00", {"cursor": CURSOR}),
    Case("lag reaches into the hour before", "06:00", "11:00", {"cursor": CURSOR, "now": "12:09:59"}),
    Case("an hour is safe the moment now - lag reaches it", "06:00", "12:00", {"cursor": CURSOR, "now": "12:10"}),
    Case("a user's end below it clips", "06:00", "10:00", {"cursor": CURSOR, "user_to": "10:00"}),
    Case("a user's end above it does not", "06:00", "12:00", {"cursor": CURSOR, "user_to": "18:00"}),
    Case("no lag", "06:00", "12:34:56", {"cursor": CURSOR, "lag_seconds": 0, "unit": "SECOND"}),
    Case("a finer unit", "06:00", "12:24", {"cursor": CURSOR, "unit": "MINUTE"}),
    Case("a coarser unit", "2026-03-09T22:00Z", "00:00", {"cursor": watermark("00:00", "2026-03-01"), "unit": "DAY"}),
    # the lower end with a watermark: max(watermark - lookback, user.from?)
    Case("no lookback", "08:00", "12:00", {"cursor": CURSOR, "lookback_seconds": 0}),
    Case("a user's start above clips", "07:00", "12:00", {"cursor": CURSOR, "user_from": "07:00"}),
    Case("a user's start below does not", "06:00", "12:00", {"cursor": CURSOR, "user_from": "2026-03-05"}),
    Case("both of the user's bounds", "07:00", "09:00", {"cursor": CURSOR, "user_from": "07:00", "user_to": "09:00"}),
    Case("the baseline is for the first plan only", "06:00", "12:00", {"cursor": CURSOR, "baseline": "2020-01-01"}),
    # the lower end without one: user.from, else the baseline, else one window back
    Case("first: the user's start", "2026-02-01", "12:00", {"user_from": "2026-02-01"}),
    Case(
        "first: the user's start before the baseline",
        "2026-02-01",
        "12:00",
        {"user_from": "2026-02-01", "baseline": "2026-01-01"},
    ),
    Case("first: the baseline", "2026-01-01", "12:00", {"baseline": "2026-01-01"}),
    Case("first: one window back from now - lag", "2026-03-09T12:00Z", "12:00"),
    Case("first: one window back, counted from where lag ends", "2026-03-09T11:00Z", "11:00", {"now": "12:05"}),
    Case("first: a window of two hours", "10:00", "12:00", {"window_size_seconds": 7200}),
    Case("first: only the user's end", "2026-03-09T12:00Z", "11:00", {"user_to": "11:00"}),
    # never below the anchor
    Case("lookback stops at the anchor", "07:30", "12:00", {"cursor": watermark("08:00", "07:30")}),
    Case("at the anchor itself", "08:00", "12:00", {"cursor": watermark("08:00", "08:00")}),
    Case(
        "the user may ask from the anchor on",
        "06:00",
        "12:00",
        {"cursor": watermark("08:00", "06:00"), "user_from": "06:00"},
    ),
    # CALENDAR floors both ends
    Case(
        "calendar days",
        "2026-03-08",
        "2026-03-10",
        {"cursor": watermark("2026-03-09", "2026-03-01"), **CALENDAR},
    ),
    Case(
        "calendar: the user's bounds are floored too",
        "2026-03-05",
        "2026-03-07",
        {"user_from": "2026-03-05T18:00Z", "user_to": "2026-03-07T06:00Z", **CALENDAR},
    ),
    Case(
        "calendar: not below the anchor",
        "2026-03-07T06:00Z",
        "2026-03-10",
        {"cursor": watermark("2026-03-07T12:00Z", "2026-03-07T06:00Z"), **CALENDAR},
    ),
    Case(
        "calendar weeks begin on Monday",
        "2026-02-23",
        "2026-03-09",
        {"cursor": watermark("2026-03-02T01:00Z", "2026-01-01"), "mode": "CALENDAR", "align_to": "WEEK"},
    ),
    Case(
        "calendar months begin on the first",
        "2026-01-01",
        "2026-03-01",
        {"cursor": watermark("2026-02-01T01:00Z", "2025-01-01"), "mode": "CALENDAR", "align_to": "MONTH"},
    ),
    Case(
        "the provider's day begins by its own clock",
        "2026-03-08T03:00Z",
        "2026-03-10T04:00Z",
        {"cursor": watermark("2026-03-08T05:00Z", "2026-03-01"), "unit": "DAY", "time_zone": "America/New_York"},
    ),
    Case("sliding: align_to alone does nothing", "06:00", "12:00", {"cursor": CURSOR, "align_to": "DAY"}),
    # window ends are whole milliseconds
    ROUNDED,
    Case(
        "now's microseconds",
        "06:00",
        "12:24:56.789",
        {"cursor": CURSOR, "now": "12:34:56.789012", "unit": "MILLISECOND"},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_window_is(case: Case) -> None:
    decision = resolve(**case.given)

    assert (decision.start, decision.end) == (at(case.start), at(case.end))
    assert decision.window is not None
    assert decision.reason is None


@pytest.mark.parametrize("case", [case for case in CASES if case != ROUNDED], ids=lambda case: case.name)
def test_the_last_step_of_each_end_in_the_audit_trail_is_that_end(case: Case) -> None:
    decision = resolve(**case.given)
    ends = {step["step"]: step["value"] for step in decision.audit}

    assert ends["from"] == format_instant(decision.start)
    assert ends["to"] == format_instant(decision.end)


def test_rounding_to_milliseconds_is_in_the_audit_trail() -> None:
    decision = resolve(**ROUNDED.given)
    ends = {step["step"]: step["value"] for step in decision.audit}

    assert ends["from"] == format_instant(decision.start)
    assert ends["to"] == format_instant(decision.end)


@pytest.mark.parametrize(
    ("given", "reason_names"),
    [
        ({"cursor": watermark("12:00", "2026-03-01"), "lookback_seconds": 0}, ("T12:00:00", "T12:00:00")),
        ({"cursor": CURSOR, "user_from": "15:00"}, ("T15:00:00", "T12:00:00")),
        ({"cursor": CURSOR, "user_to": "05:00"}, ("T06:00:00", "T05:00:00")),
        ({"user_from": "2026-04-01"}, ("2026-04-01", "T12:00:00")),
        ({"baseline": "2027-01-01"}, ("2027-01-01", "T12:00:00")),
        ({"user_from": "09:00", "user_to": "11:00", **CALENDAR}, ("10T00:00:00", "10T00:00:00")),
        ({"cursor": watermark("12:00", "12:00")}, ("T12:00:00", "T12:00:00")),
    ],
    ids=[
        "nothing new yet",
        "the user's start is not safe yet",
        "the user's end is below the lookback",
        "a first plan in the future",
        "a baseline in the future",
        "calendar floors both to the same day",
        "the anchor is the frontier",
    ],
)
def test_an_empty_window_says_why(given: dict[str, Any], reason_names: tuple[str, str]) -> None:
    decision = resolve(**given)

    assert decision.window is None
    assert decision.reason is not None
    start, end = reason_names
    assert "nothing to harvest yet" in decision.reason
    assert start in decision.reason.split("is not before")[0]
    assert end in decision.reason.split("is not before")[1]


def test_below_the_anchor_is_refused_with_the_advice_to_backfill() -> None:
    with pytest.raises(BadInput) as refused:
        resolve(cursor=CURSOR, user_from="2026-02-28T23:59:59.999Z")

    assert refused.value.code == "BELOW_ANCHOR"
    assert refused.value.exit_code == ExitCode.BAD_INPUT
    assert "BACKFILL" in refused.value.remedy
    assert "2026-02-28T23:59:59.999000Z" in str(refused.value)
    assert "2026-03-01T00:00:00.000000Z" in str(refused.value)


def test_a_start_above_the_watermark_leaves_a_hole_and_warns() -> None:
    decision = resolve(cursor=CURSOR, user_from="09:00")

    assert (decision.start, decision.end) == (at("09:00"), at("12:00"))
    assert len(decision.warnings) == 1
    assert "above the watermark 2026-03-10T08:00:00.000000Z" in decision.warnings[0]
    assert "the watermark waits" in decision.warnings[0]


@pytest.mark.parametrize("user_from", [None, "06:00", "08:00"])
def test_no_hole_no_warning(user_from: str | None) -> None:
    assert resolve(cursor=CURSOR, user_from=user_from).warnings == []


def test_a_first_plan_leaves_no_hole_wherever_it_starts() -> None:
    assert resolve(user_from="11:00").warnings == []


def test_the_audit_trail_shows_the_arithmetic_line_by_line() -> None:
    decision = resolve(cursor=CURSOR, user_from="07:00", user_to="10:00")

    assert lines(decision) == [
        "now = 2026-03-10T12:34:56: the moment of planning",
        "lag = PT10M: configured",
        "window_size = P1D: how far back a first plan reads",
        "user.from = 2026-03-10T07:00:00: the requested lower bound",
        "user.to = 2026-03-10T10:00:00: the requested upper bound",
        "now_safe = now - lag = 2026-03-10T12:24:56: time a record may need to become visible",
        "now_safe = start of the HOUR (UTC) that holds now_safe = 2026-03-10T12:00:00: the provider filters by it",
        "lookback = PT2H: how far below the watermark late records are read again",
        "watermark = 2026-03-10T08:00:00: how far this harvest has read without a hole",
        "to = min(user.to, now_safe) = 2026-03-10T10:00:00: not beyond the requested bound",
        "lower = watermark - lookback = 2026-03-10T06:00:00: late records are read again",
        "from = max(lower, user.from) = 2026-03-10T07:00:00: not below the requested bound",
        "anchor = 2026-03-01T00:00:00: where this harvest began",
        "from = max(from, anchor) = 2026-03-10T07:00:00: older time belongs to BACKFILL",
    ]


def lines(decision: WindowDecision) -> list[str]:
    """The trail as people read it, without the fractions of seconds, which are nought."""
    return [written(step).replace(".000000Z", "") for step in decision.audit]


def ends_in(decision: WindowDecision, *names: str) -> list[tuple[str, str]]:
    """What those names came to, step by step."""
    return [(step["step"], step["value"]) for step in decision.audit if step["step"] in names]


@pytest.mark.parametrize(("user_from", "user_to"), [("2026-03-05", "18:00"), ("06:00", "12:00")])
def test_a_bound_that_clips_nothing_is_told_and_changes_no_step(user_from: str, user_to: str) -> None:
    bounded = resolve(cursor=CURSOR, user_from=user_from, user_to=user_to)

    assert ends_in(bounded, "from", "to") == ends_in(resolve(cursor=CURSOR), "from", "to")
    assert ends_in(bounded, "user.from", "user.to") == [
        ("user.from", format_instant(at(user_from))),
        ("user.to", format_instant(at(user_to))),
    ]


def test_an_input_that_is_not_there_is_told_as_none_and_does_not_count() -> None:
    told = {step["step"]: step["value"] for step in resolve().audit if step["rule"] == "GIVEN"}

    assert [name for name, value in told.items() if value is None] == [
        "user.from",
        "user.to",
        "watermark",
        "predecessor",
        "baseline",
    ]
    assert "to = min(user.to, now_safe) = 2026-03-10T12:00:00: as far as is safe" in lines(resolve())


def test_alignment_and_anchor_are_steps_too() -> None:
    cursor = watermark("2026-03-07T12:00Z", "2026-03-07T06:00Z")

    assert lines(resolve(cursor=cursor, **CALENDAR))[-4:] == [
        "from = start of the DAY that holds from = 2026-03-07T00:00:00: mode CALENDAR",
        "to = start of the DAY that holds to = 2026-03-10T00:00:00: mode CALENDAR",
        "anchor = 2026-03-07T06:00:00: where this harvest began",
        "from = max(from, anchor) = 2026-03-07T06:00:00: older time belongs to BACKFILL",
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_step_can_be_done_again_from_what_is_written(case: Case) -> None:
    values: dict[str, Any] = {}
    for step in json.loads(json.dumps(resolve(**case.given).audit)):
        if step["rule"] == "GIVEN":
            values[step["step"]] = read_back(step["value"])
        else:
            values[step["step"]] = RULES[step["rule"]](*(values.get(name, name) for name in step["of"]))
        assert values[step["step"]] == read_back(step["value"])

    assert (values["from"], values["to"]) == (at(case.start), at(case.end))


def read_back(text: str | None) -> datetime | timedelta | None:
    """A value of a trail: an instant, a span, or nothing."""
    if text is None or not text.startswith("P"):
        return parse_instant(text) if text else None
    return TypeAdapter(timedelta).validate_python(text)


@pytest.mark.parametrize(("user_from", "user_to"), [("10:00", "10:00"), ("11:00", "10:00")])
def test_a_request_whose_bounds_cross_is_refused(user_from: str, user_to: str) -> None:
    with pytest.raises(BadInput, match="is not before to"):
        resolve(user_from=user_from, user_to=user_to)


def test_an_end_below_the_anchor_is_refused_too() -> None:
    anchored = CursorState(at("12:00"), at("06:00"))
    with pytest.raises(BadInput) as refused:
        resolve_harvest(PlanRequest("crossref", user_to=at("05:00")), anchored, crossref_spec().time, at("13:00"))
    assert refused.value.code == "BELOW_ANCHOR"
