"""The audit trail recomputes to the window: another reader, doing the sums again, comes to the same."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from ingest_core.model.codes import Operation, TimeUnit, WindowMode
from ingest_core.model.cursor import CursorState
from ingest_core.model.errors import BadInput
from ingest_core.model.instant import unit_grid
from ingest_core.model.slice_codes import CalendarUnit
from ingest_core.model.spec import WindowSpec
from ingest_core.planning.request import PlanRequest
from ingest_core.planning.window import (
    WindowDecision,
    resolve_backfill,
    resolve_harvest,
    resolve_patrol,
    resolve_update,
)
from tests.support.specs import crossref_spec

LENGTHS = {"MILLISECOND": 0.001, "SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86_400}
SPAN = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?")
FIRST, LAST = datetime(2025, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)


def value_of(text: str | None) -> datetime | timedelta | None:
    """What a step's value stands for, read from its text alone."""
    if text is None:
        return None
    if text.endswith("Z"):
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    found = SPAN.fullmatch(text)
    assert found, text
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def floored(moment: datetime, unit: str, zone: str = "UTC") -> datetime:
    """The start of a unit by the clocks of a zone without changes of the clock, of a week, or of a month."""
    local = moment.astimezone(ZoneInfo(zone))
    if unit == "MONTH":
        return local.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    if unit == "WEEK":
        return floored(moment, "DAY") - timedelta(days=moment.weekday())
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
    step = timedelta(seconds=LENGTHS[unit])
    return (midnight + (local - midnight) // step * step).astimezone(UTC)


def done(rule: str, there: list[Any], settings: list[str]) -> Any:
    """What a rule makes of the values that are there."""
    if rule == "MINUS":
        return there[0] - there[1]
    if rule in ("MIN", "MAX"):
        return min(there) if rule == "MIN" else max(there)
    if rule == "SAME":
        return there[0]
    return floored(there[0], *(settings or ["MILLISECOND"]))


def recompute(steps: list[dict[str, Any]]) -> dict[str, Any]:
    """The names and their values, by doing each step again."""
    known: dict[str, Any] = {}
    for step in steps:
        stated = value_of(step["value"])
        there = [known[name] for name in step["of"] if known.get(name) is not None]
        settings = [name for name in step["of"] if name not in known]
        known[step["step"]] = stated if step["rule"] == "GIVEN" else done(step["rule"], there, settings)
        assert known[step["step"]] == stated, step
        assert step["why"]
    return known


def check(decision: WindowDecision) -> None:
    """The trail leads to the window."""
    known = recompute(decision.audit)

    assert (known["from"], known["to"]) == (decision.start, decision.end)
    assert (decision.reason is None) == (known["from"] < known["to"])


moments = st.datetimes(FIRST.replace(tzinfo=None), LAST.replace(tzinfo=None), timezones=st.just(UTC))
whole_millis = moments.map(lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000))


@st.composite
def configs(draw: st.DrawFn) -> WindowSpec:
    """Any settings of a window, in zones that never change their clocks."""
    align = draw(st.none() | st.sampled_from(CalendarUnit))
    return crossref_spec(
        window={
            "mode": WindowMode.CALENDAR if align else WindowMode.SLIDING,
            "align_to": align,
            "unit": draw(st.sampled_from(TimeUnit)),
            "time_zone": draw(st.sampled_from(["UTC", "Asia/Kolkata", "Asia/Tokyo"])),
            "lag_seconds": draw(st.integers(0, 86_400)),
            "lookback_seconds": draw(st.integers(0, 7 * 86_400)),
            "window_size_seconds": draw(st.integers(1, 30 * 86_400)),
            "baseline": draw(st.none() | whole_millis.map(lambda moment: moment.isoformat())),
        }
    ).time


@st.composite
def cursors(draw: st.DrawFn) -> CursorState:
    """A watermark at or above its anchor, of a campaign perhaps."""
    one, other, low, high = sorted(draw(whole_millis) for _ in range(4))
    return CursorState(other, one, bound_from=draw(st.none() | st.just(low)), bound_to=draw(st.none() | st.just(high)))


@st.composite
def requests(draw: st.DrawFn, operation: Operation, newest_first: bool = False) -> PlanRequest:
    """Any bounds a user may give."""
    bounds = sorted(draw(st.lists(moments, min_size=2, max_size=2, unique=True)))
    start, end = (draw(st.none() | st.just(bound)) for bound in bounds)
    return PlanRequest("crossref", operation, user_from=start, user_to=end, newest_first=newest_first)


@given(st.data(), st.none() | cursors(), configs(), moments, st.none() | whole_millis)
def test_of_a_harvest(
    data: st.DataObject, cursor: CursorState | None, config: WindowSpec, now: datetime, before: datetime | None
) -> None:
    request = data.draw(requests(Operation.HARVEST))
    try:
        decision = resolve_harvest(request, cursor, config, now, before)
    except BadInput:
        assert cursor
        return
    check(decision)


@given(st.data(), st.none() | cursors(), configs(), moments, st.none() | cursors(), st.booleans())
def test_of_a_campaign(
    data: st.DataObject,
    cursor: CursorState | None,
    config: WindowSpec,
    now: datetime,
    forward: CursorState | None,
    newest_first: bool,
) -> None:
    request = data.draw(requests(Operation.BACKFILL, newest_first))
    try:
        decision = resolve_backfill(request, cursor, config, now, forward)
    except BadInput:
        assert cursor
        return
    check(decision)
    assert forward is None or decision.end <= forward.value
    if forward and cursor is None and request.user_to is None:
        assert decision.end <= forward.anchor, "what the harvest reads is read again"
        safe = unit_grid(config.unit, config.time_zone).floor(now - config.lag)
        assert decision.end == forward.anchor or forward.anchor > safe, "time lies between campaign and harvest"


@given(requests(Operation.UPDATE), st.none() | cursors(), configs(), moments)
def test_of_a_refresh_by_time(
    request: PlanRequest, cursor: CursorState | None, config: WindowSpec, now: datetime
) -> None:
    check(resolve_update(request, cursor, config, now))


@given(requests(Operation.UPDATE), moments)
def test_of_a_refresh_by_id(request: PlanRequest, now: datetime) -> None:
    check(resolve_patrol(request, now))
