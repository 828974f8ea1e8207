"""The windows of BACKFILL and UPDATE, case by case: `window-resolution` chapters 4 and 5; HARVEST has its own file.

Times are of 10 March 2026 unless they say otherwise. The source filters by the hour, with a lag of 10 minutes; a first
plan reads one day. It is 12:34.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest

from ingest_core.model.codes import Operation
from ingest_core.model.cursor import CursorState
from ingest_core.model.errors import BadInput
from ingest_core.planning.request import PlanRequest
from ingest_core.planning.window import (
    WindowDecision,
    resolve_backfill,
    resolve_harvest,
    resolve_patrol,
    resolve_update,
)
from tests.support.specs import at, crossref_spec

NOW = "12:34"


@dataclass(frozen=True)
class Case:
    """A line of the table: what goes in, and the window that must come out; none where it is empty."""

    name: str
    window: tuple[str, str] | None
    given: dict[str, Any] = field(default_factory=dict)


def request(operation: Operation, user: tuple[str | None, str | None], newest_first: bool = False) -> PlanRequest:
    """A request with bounds of the user's, either or none."""
    start, end = (at(bound) if bound else None for bound in user)
    return PlanRequest("crossref", operation, user_from=start, user_to=end, newest_first=newest_first, campaign="c")


def backfill(
    user: tuple[str | None, str | None] = (None, None),
    watermark: str | None = None,
    forward: str | None = None,
    bounds: tuple[str | None, str | None] = (None, None),
    newest_first: bool = False,
    now: str = NOW,
    began: str | None = None,
    **window: Any,
) -> WindowDecision:
    """The window of a campaign; with a watermark it has begun. `forward`: a harvest's watermark, begun at `began`."""
    low, high = (at(bound) if bound else None for bound in bounds)
    cursor = CursorState(at(watermark), at(watermark), bound_from=low, bound_to=high) if watermark else None
    asked = request(Operation.BACKFILL, user, newest_first)
    ahead = CursorState(at(forward), at(began or forward)) if forward else None
    return resolve_backfill(asked, cursor, crossref_spec(window=window).time, at(now), ahead)


def harvest(
    user: tuple[str | None, str | None] = (None, None),
    watermark: str | None = None,
    before: str | None = None,
    **window: Any,
) -> WindowDecision:
    """The window of a harvest; `before` is where the Registry's query before this one stood."""
    cursor = CursorState(at(watermark), at("2026-03-01")) if watermark else None
    asked = PlanRequest(
        "crossref", user_from=at(user[0]) if user[0] else None, user_to=at(user[1]) if user[1] else None
    )
    return resolve_harvest(asked, cursor, crossref_spec(window=window).time, at(NOW), at(before) if before else None)


def update(
    user: tuple[str | None, str | None] = (None, None), watermark: str | None = None, now: str = NOW, **window: Any
) -> WindowDecision:
    """The window of a refresh by time."""
    cursor = CursorState(at(watermark), at(watermark)) if watermark else None
    return resolve_update(request(Operation.UPDATE, user), cursor, crossref_spec(window=window).time, at(now))


def patrol(user: tuple[str | None, str | None] = (None, None), now: str = NOW) -> WindowDecision:
    """The window of a refresh by id."""
    return resolve_patrol(request(Operation.UPDATE, user), at(now))


def check(decision: WindowDecision, case: Case) -> None:
    """The window of the table, or a reason why there is none."""
    if case.window is None:
        assert decision.window is None
        assert decision.reason
        assert decision.reason.startswith("nothing to ")
    else:
        assert (decision.start, decision.end) == tuple(map(at, case.window))
        assert decision.reason is None


DAY = {"mode": "CALENDAR", "align_to": "DAY"}
OLD = ("2026-01-01", "2026-02-01")
BEGUN = {"watermark": "2026-01-15", "bounds": OLD}

HARVESTED: dict[str, Any] = {"forward": "2026-02-28", "began": "2026-02-10"}

BASELINE, BEFORE = {"baseline": "2026-01-01"}, {"before": "2026-03-05"}
SINCE_FEBRUARY = {"user": ("2026-02-01", None)}

HARVEST_BEGINS = [
    # user.from, else where the Registry's query before this one stood, else the baseline, else one window back
    Case("nothing", ("2026-03-09T12:00Z", "12:00")),
    Case("a baseline", ("2026-01-01", "12:00"), BASELINE),
    Case("a query before it", ("2026-03-05", "12:00"), BEFORE),
    Case("a query before it, and a baseline", ("2026-03-05", "12:00"), {**BEFORE, **BASELINE}),
    Case("user.from", ("2026-02-01", "12:00"), SINCE_FEBRUARY),
    Case("user.from, and all of these", ("2026-02-01", "12:00"), {**SINCE_FEBRUARY, **BEFORE, **BASELINE}),
    Case("user.to below the query before it", None, {**BEFORE, "user": (None, "2026-03-04")}),
    Case("it has begun: none of these", ("06:00", "12:00"), {"watermark": "08:00", **BEFORE, **BASELINE}),
]


@pytest.mark.parametrize("case", HARVEST_BEGINS, ids=lambda case: case.name)
def test_where_a_harvest_begins(case: Case) -> None:
    check(harvest(**case.given), case)


def test_a_harvest_that_goes_on_where_another_query_stood_says_so() -> None:
    assert "goes on at the watermark 2026-03-05T00" in harvest(before="2026-03-05").warnings[0]
    assert harvest(("2026-02-01", None), before="2026-03-05").warnings == []
    assert harvest(watermark="08:00", before="2026-03-05").warnings == []


BACKFILL = [
    # upperAnchor = min(user.to?, forwardWM?, now - lag)
    Case("no bound at all: one day back from now - lag", ("2026-03-09T12:00Z", "12:00")),
    Case("user.to", ("2026-01-31", "2026-02-01"), {"user": (None, "2026-02-01")}),
    Case("forward", ("2026-02-27", "2026-02-28"), {"forward": "2026-02-28"}),
    Case(
        "user.to below forward", ("2026-01-31", "2026-02-01"), {"user": (None, "2026-02-01"), "forward": "2026-02-28"}
    ),
    Case(
        "forward below user.to", ("2026-02-27", "2026-02-28"), {"user": (None, "2026-03-05"), "forward": "2026-02-28"}
    ),
    Case("user.to in the future", ("2026-03-09T12:00Z", "12:00"), {"user": (None, "2027-01-01")}),
    Case("forward beyond now - lag", ("2026-03-09T12:00Z", "12:00"), {"forward": "13:00"}),
    # fromCandidate without a watermark: user.from, else one window back
    Case("user.from", ("2026-01-01", "12:00"), {"user": ("2026-01-01", None)}),
    Case("both", OLD, {"user": OLD}),
    # without user.to it ends where the harvest began, exactly; what was begun keeps its end
    Case("up to the anchor", ("2026-01-01", "2026-02-10"), {"user": ("2026-01-01", None), **HARVESTED}),
    Case("one window below the anchor", ("2026-02-09", "2026-02-10"), HARVESTED),
    Case(
        "above the anchor with user.to",
        ("2026-02-20", "2026-02-25"),
        {"user": ("2026-02-20", "2026-02-25"), **HARVESTED},
    ),
    Case("from above the anchor", None, {"user": ("2026-02-20", None), **HARVESTED}),
    Case(
        "newest first, down from the anchor",
        ("2026-01-01", "2026-02-10"),
        {"user": ("2026-01-01", None), "newest_first": True, **HARVESTED},
    ),
    Case(
        "begun with an end above the anchor",
        ("2026-01-15", "2026-02-20"),
        {"watermark": "2026-01-15", "bounds": ("2026-01-01", "2026-02-20"), **HARVESTED},
    ),
    Case(
        "begun and open above: past the anchor",
        ("2026-01-15", "2026-02-28"),
        {"watermark": "2026-01-15", "bounds": ("2026-01-01", None), **HARVESTED},
    ),
    Case(
        "aligned, up to an anchor within a day",
        ("2026-01-01", "2026-02-10T07:00Z"),
        {"user": ("2026-01-01", None), "forward": "2026-02-28", "began": "2026-02-10T07:00Z", **DAY},
    ),
    Case("user.from beyond forward", None, {"user": ("2026-03-01", None), "forward": "2026-02-28"}),
    # with a watermark: max(backfillWM, user.from?), and never beyond what the campaign was begun with
    Case("it goes on where it stopped", ("2026-01-15", "2026-02-01"), BEGUN),
    Case("with the same bounds again", ("2026-01-15", "2026-02-01"), {**BEGUN, "user": OLD}),
    Case("a later start leaves a hole", ("2026-01-20", "2026-02-01"), {**BEGUN, "user": ("2026-01-20", None)}),
    Case("an earlier start is of no use", ("2026-01-15", "2026-02-01"), {**BEGUN, "user": ("2026-01-02", None)}),
    Case("an earlier end", ("2026-01-15", "2026-01-20"), {**BEGUN, "user": (None, "2026-01-20")}),
    Case("all is filled", None, {"watermark": "2026-02-01", "bounds": OLD}),
    Case(
        "open above: up to forward",
        ("2026-01-15", "2026-02-28"),
        {**BEGUN, "bounds": ("2026-01-01", None), "forward": "2026-02-28"},
    ),
    # newest first: the upper end comes down
    Case("newest first, not begun", OLD, {"user": OLD, "newest_first": True}),
    Case("newest first, begun", ("2026-01-01", "2026-01-15"), {**BEGUN, "newest_first": True}),
    Case("newest first, bounds again", ("2026-01-01", "2026-01-15"), {**BEGUN, "user": OLD, "newest_first": True}),
    Case(
        "newest first, a later start",
        ("2026-01-10", "2026-01-15"),
        {**BEGUN, "user": ("2026-01-10", None), "newest_first": True},
    ),
    Case("newest first, all is filled", None, {"watermark": "2026-01-01", "bounds": OLD, "newest_first": True}),
    Case("newest first, no bound at all", ("2026-03-09T12:00Z", "12:00"), {"newest_first": True}),
    # CALENDAR floors both ends; what a campaign newest first has not read stays its upper end
    Case("aligned to days", ("2026-01-01", "2026-01-31"), {"user": ("2026-01-01T07:00Z", "2026-01-31T19:00Z"), **DAY}),
    Case(
        "aligned, newest first, begun",
        ("2026-01-01", "2026-01-15T18:00Z"),
        {"watermark": "2026-01-15T18:00Z", "bounds": OLD, "newest_first": True, **DAY},
    ),
    Case("aligned: less than a day", None, {"user": ("2026-01-01T07:00Z", "2026-01-01T19:00Z"), **DAY}),
]


@pytest.mark.parametrize("case", BACKFILL, ids=lambda case: case.name)
def test_a_campaign(case: Case) -> None:
    check(backfill(**case.given), case)


@pytest.mark.parametrize(
    ("user", "message"),
    [
        (("2025-12-31", None), "from 2025-12-31.* is before 2026-01-01"),
        ((None, "2026-02-02"), "to 2026-02-02.* is after 2026-02-01"),
        (("2025-12-31", "2026-02-02"), "before 2026-01-01.* and .*after 2026-02-01"),
    ],
)
@pytest.mark.parametrize("newest_first", [False, True])
def test_a_campaign_is_not_asked_for_more_than_it_was_begun_with(
    user: tuple[str | None, str | None], message: str, newest_first: bool
) -> None:
    with pytest.raises(BadInput, match=message) as refused:
        backfill(user, "2026-01-15", bounds=OLD, newest_first=newest_first)

    assert refused.value.code == "OUTSIDE_CAMPAIGN"
    assert "campaign of its own" in refused.value.remedy


def test_a_campaign_newest_first_is_not_asked_for_more_than_where_it_began() -> None:
    begun = CursorState(at("2026-01-15"), at("2026-02-01"), bound_from=at("2026-01-01"))
    asked = request(Operation.BACKFILL, (None, "2026-03-01"), newest_first=True)
    with pytest.raises(BadInput, match="2026-03-01"):
        resolve_backfill(asked, begun, crossref_spec().time, at(NOW))


def test_a_period_that_the_harvest_reads_is_told_with_the_way_to_read_it_again() -> None:
    reason = backfill(("2026-02-20", None), **HARVESTED).reason
    assert reason is not None
    assert reason.endswith("the harvest reads from 2026-02-10T00:00:00.000000Z on: to read it again, give to")


def test_a_harvest_that_began_above_the_end_of_a_campaign_is_told() -> None:
    later = backfill(watermark="2026-02-01", bounds=OLD, **HARVESTED)
    (warning,) = later.warnings
    assert warning.startswith("this campaign ends at 2026-02-01T00:00:00.000000Z and the harvest began at 2026-02-10T")
    assert warning.endswith("a BACKFILL from 2026-02-01T00:00:00.000000Z reads the rest")
    assert backfill(watermark="2026-02-01", bounds=("2026-01-01", "2026-02-10"), **HARVESTED).warnings == []
    assert backfill((None, "2026-02-01"), watermark="2026-02-01", bounds=OLD, **HARVESTED).warnings == []


UPDATE = [
    # to = min(user.to?, now - lag); from = max(updateWM?, user.from?), else one window back
    Case("no bound at all", ("2026-03-09T12:00Z", "12:00")),
    Case("user.from", ("2026-03-01", "12:00"), {"user": ("2026-03-01", None)}),
    Case("user.to", ("2026-03-09T12:00Z", "11:00"), {"user": (None, "11:00")}),
    Case("both", ("2026-03-01", "2026-03-02"), {"user": ("2026-03-01", "2026-03-02")}),
    Case("user.to in the future", ("2026-03-01", "12:00"), {"user": ("2026-03-01", "2027-01-01")}),
    Case("a watermark", ("08:00", "12:00"), {"watermark": "08:00"}),
    Case("no lookback: it is no harvest", ("08:00", "12:00"), {"watermark": "08:00", "lookback_seconds": 7200}),
    Case("a watermark above user.from", ("08:00", "12:00"), {"watermark": "08:00", "user": ("2026-03-01", None)}),
    Case("a watermark below user.from", ("09:00", "12:00"), {"watermark": "08:00", "user": ("09:00", None)}),
    Case("nothing since the watermark", None, {"watermark": "12:00"}),
    Case("a period that was refreshed", None, {"watermark": "08:00", "user": ("2026-03-01", "2026-03-02")}),
    Case("aligned to days", ("2026-03-09", "2026-03-10"), {"watermark": "2026-03-09T05:00Z", **DAY}),
]


@pytest.mark.parametrize("case", UPDATE, ids=lambda case: case.name)
def test_a_refresh_by_time(case: Case) -> None:
    check(update(**case.given), case)


PATROLS = [
    Case("no bound at all: one day back from now - lag", ("2026-03-09T12:24Z", "12:24")),
    Case("user.from", ("2026-03-01", "12:24"), {"user": ("2026-03-01", None)}),
    Case("user.to", ("2026-03-09T12:24Z", "11:00"), {"user": (None, "11:00")}),
    Case("both", ("2026-03-01", "2026-03-02"), {"user": ("2026-03-01", "2026-03-02")}),
    Case("user.to in the future", ("2026-03-01", "12:24"), {"user": ("2026-03-01", "2027-01-01")}),
    Case("all of it in the future", None, {"user": ("2027-01-01", "2027-01-02")}),
]


@pytest.mark.parametrize("case", PATROLS, ids=lambda case: case.name)
def test_a_refresh_by_id(case: Case) -> None:
    check(patrol(**case.given), case)


CALENDARS = [
    ("MINUTE", "2026-03-01T10:20Z", "2026-03-10T12:24Z"),
    ("HOUR", "2026-03-01T10:00Z", "2026-03-10T12:00Z"),
    ("DAY", "2026-03-01", "2026-03-10"),
    ("WEEK", "2026-02-23", "2026-03-09"),
    ("MONTH", "2026-03-01", "2026-03-01"),
]


@pytest.mark.parametrize(("align_to", "start", "end"), CALENDARS, ids=[one[0] for one in CALENDARS])
def test_a_calendar_floors_both_ends(align_to: str, start: str, end: str) -> None:
    user = ("2026-03-01T10:20:30Z", None)
    decision = update(user, mode="CALENDAR", align_to=align_to, unit="SECOND")

    assert (decision.start, decision.end) == (at(start), at(end))
    assert (decision.window is None) == (start == end)
