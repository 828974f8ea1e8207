"""Which window a plan may cover now, and every step that made it so."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from ingest_core.model.codes import TimeUnit, WindowMode
from ingest_core.model.cursor import CursorState
from ingest_core.model.errors import BadInput
from ingest_core.model.instant import format_instant, parse_instant
from ingest_core.model.spec import WindowSpec
from ingest_core.model.window import Window, window_or_none
from ingest_core.planning.arithmetic import Arithmetic
from ingest_core.planning.request import PlanRequest

PATROL = WindowSpec(
    mode=WindowMode.SLIDING,
    field="refresh_checked_at",
    watermark_key="refresh_checked_at",
    lag_seconds=600,
    lookback_seconds=0,
    recheck_seconds=0,
    window_size_seconds=86_400,
    step_seconds=86_400,
    overlap_seconds=0,
    baseline=None,
    align_to=None,
    unit=TimeUnit.SECOND,
    format="%Y-%m-%dT%H:%M:%S",
    upper_inclusive=False,
    stored_precision=None,
)
"""The pace of a refresh by id, which no time filter bounds."""


@dataclass(frozen=True)
class WindowDecision:
    """The window, or why there is none, with the arithmetic line by line."""

    start: datetime
    end: datetime
    reason: str | None
    audit: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def until(self) -> datetime:
        """Its end as stored: never before its start."""
        return max(self.start, self.end)

    @property
    def window(self) -> Window | None:
        """The window itself; none when it is empty."""
        return window_or_none(self.start, self.end)


def resolve_harvest(
    request: PlanRequest,
    cursor: CursorState | None,
    config: WindowSpec,
    now: datetime,
    predecessor: datetime | None = None,
    lag_why: str = "configured",
) -> WindowDecision:
    """The window a harvest may cover now.

    `predecessor` is where the Registry's query before this one stood: a new query goes on there.
    """
    _refuse_below_anchor(request, cursor)
    sums = _begin(request, config, now, lag_why)
    sums.given("lookback", config.lookback, "how far below the watermark late records are read again")
    sums.given("watermark", cursor.value if cursor else None, "how far this harvest has read without a hole")
    if cursor is None:
        sums.given("predecessor", predecessor, "where the Registry's query before this one stood")
        sums.given("baseline", parse_instant(config.baseline) if config.baseline else None, "the Registry's baseline")
    _upper(sums, request)
    if cursor:
        sums.set("lower", "MINUS", "watermark", "lookback", why="late records are read again")
        sums.set("from", "MAX", "lower", "user.from", why="not below the requested bound")
    else:
        _first(sums, config, ("user.from", "predecessor", "baseline"))
    _align(sums, config)
    if cursor:
        sums.given("anchor", cursor.anchor, "where this harvest began")
        sums.set("from", "MAX", "from", "anchor", why="older time belongs to BACKFILL")
    return _decided(sums, "harvest", _harvest_warnings(request, cursor, predecessor))


def resolve_backfill(
    request: PlanRequest,
    cursor: CursorState | None,
    config: WindowSpec,
    now: datetime,
    forward: CursorState | None = None,
) -> WindowDecision:
    """The window a campaign may cover now.

    `forward` is the cursor of the harvest of the same query. No campaign passes its watermark; a new one without an
    upper bound ends at its anchor, since the harvest reads everything from there on.
    """
    _refuse_outside_campaign(request, cursor)
    sums = _begin(request, config, now, "configured")
    sums.given("watermark", cursor.value if cursor else None, "how far this campaign has read without a hole")
    sums.given("forward", forward.value if forward else None, "the harvest's watermark")
    sums.given("forward.from", forward.anchor if forward else None, "where the harvest began")
    sums.given("campaign.from", cursor.bound_from if cursor else None, "the lower bound the campaign was begun with")
    sums.given("campaign.to", cursor.bound_to if cursor else None, "the upper bound the campaign was begun with")
    sums.set("to", "MIN", "user.to", "campaign.to", "forward", "now_safe", why="never beyond any of them")
    if cursor is None and request.user_to is None and forward:
        sums.set("to", "MIN", "to", "forward.from", why="the harvest reads newer time")
    if request.newest_first:
        _first(sums, config, ("user.from", "campaign.from"), below="to")
    elif cursor:
        sums.set("from", "MAX", "watermark", "user.from", why="older time has been read")
    else:
        _first(sums, config, ("user.from",), below="to")
    _align(sums, config)
    if cursor and request.newest_first:
        sums.set("to", "MIN", "to", "watermark", why="newer time has been read")
    sums.set("from", "MIN", "from", "to", why="never beyond the upper end")
    decision = _decided(sums, "fill", _backfill_warnings(request, cursor, sums))
    return _with_way_out(decision, request, cursor, forward)


def resolve_update(
    request: PlanRequest, cursor: CursorState | None, config: WindowSpec, now: datetime
) -> WindowDecision:
    """The window a refresh by time may cover now; its watermark is that of refreshing."""
    sums = _begin(request, config, now, "configured")
    sums.given("watermark", cursor.value if cursor else None, "up to where records have been refreshed")
    _upper(sums, request)
    if cursor:
        sums.set("from", "MAX", "watermark", "user.from", why="older records have been refreshed")
    else:
        _first(sums, config, ("user.from",))
    _align(sums, config)
    decision = _decided(sums, "refresh")
    if cursor and decision.reason and (request.user_from or request.user_to):
        again = f"{decision.reason} (to refresh it again, name another campaign)"
        return replace(decision, reason=again)
    return decision


def resolve_patrol(request: PlanRequest, now: datetime) -> WindowDecision:
    """The window of a refresh by id: it paces and counts, and filters nothing."""
    sums = _begin(request, PATROL, now, "platform default")
    _upper(sums, request)
    _first(sums, PATROL, ("user.from",))
    _align(sums, PATROL)
    return _decided(sums, "refresh")


def _begin(request: PlanRequest, config: WindowSpec, now: datetime, lag_why: str) -> Arithmetic:
    sums = Arithmetic()
    sums.given("now", now, "the moment of planning")
    sums.given("lag", config.lag, lag_why)
    sums.given("window_size", timedelta(seconds=config.window_size_seconds), "how far back a first plan reads")
    words = f", as {request.window_words!r}" if request.window_words else ""
    sums.given("user.from", request.user_from, f"the requested lower bound{words}")
    sums.given("user.to", request.user_to, f"the requested upper bound{words}")
    sums.set("now_safe", "MINUS", "now", "lag", why="time a record may need to become visible")
    sums.set("now_safe", "FLOOR_UNIT", "now_safe", config.unit, config.time_zone, why="the provider filters by it")
    return sums


def _upper(sums: Arithmetic, request: PlanRequest) -> None:
    why = "not beyond the requested bound" if request.user_to else "as far as is safe"
    sums.set("to", "MIN", "user.to", "now_safe", why=why)


def _first(sums: Arithmetic, config: WindowSpec, candidates: tuple[str, ...], below: str = "now_safe") -> None:
    """The lower end where nothing has been read yet: the first that is there, else one window back."""
    there = next((name for name in candidates if sums.has(name)), None)
    if there:
        sums.set("from", "SAME", there, why="nothing has been read yet")
        return
    sums.set("from", "MINUS", below, "window_size", why="nothing has been read yet: one window back")
    sums.set("from", "FLOOR_UNIT", "from", config.unit, config.time_zone, why="the provider filters by it")


def _align(sums: Arithmetic, config: WindowSpec) -> None:
    for name in ("from", "to"):
        # A campaign that ends where the harvest began ends there exactly: no time may lie between the two.
        meets = name == "to" and sums.values["to"] == sums.values.get("forward.from")
        if config.mode == WindowMode.CALENDAR and config.align_to and not meets:
            sums.set(name, "FLOOR_CALENDAR", name, config.align_to, why="mode CALENDAR")
        moment = sums.values[name]
        assert isinstance(moment, datetime)
        if moment.microsecond % 1000:
            sums.set(name, "FLOOR_MILLIS", name, why="ends are whole milliseconds")


def _decided(sums: Arithmetic, verb: str, warnings: list[str] | None = None) -> WindowDecision:
    start, end = sums.values["from"], sums.values["to"]
    assert isinstance(start, datetime)
    assert isinstance(end, datetime)
    reason = None
    if start >= end:
        reason = f"nothing to {verb} yet: from {format_instant(start)} is not before to {format_instant(end)}"
    return WindowDecision(start, end, reason, sums.steps, warnings or [])


def _refuse_below_anchor(request: PlanRequest, cursor: CursorState | None) -> None:
    if cursor is None:
        return
    below = [
        f"{name} {format_instant(bound)}"
        for name, bound in (("from", request.user_from), ("to", request.user_to))
        if bound and bound < cursor.anchor
    ]
    if below:
        raise BadInput(
            "BELOW_ANCHOR",
            f"{' and '.join(below)} is before this harvest's anchor {format_instant(cursor.anchor)}",
            where=f"source {request.source!r}",
            remedy="time before the anchor is BACKFILL's: plan a BACKFILL for it",
        )


def _refuse_outside_campaign(request: PlanRequest, cursor: CursorState | None) -> None:
    if cursor is None:
        return
    low, high, start, end = cursor.bound_from, cursor.bound_to, request.user_from, request.user_to
    outside = [f"from {format_instant(start)} is before {format_instant(low)}"] if start and low and start < low else []
    if high is None and request.newest_first:
        high = cursor.anchor  # where it began: it never goes up from there
    outside += [f"to {format_instant(end)} is after {format_instant(high)}"] if end and high and end > high else []
    if outside:
        raise BadInput(
            "OUTSIDE_CAMPAIGN",
            f"{' and '.join(outside)}, outside of what the campaign was begun with",
            where=f"campaign {request.campaign!r}",
            remedy="give the new period a campaign of its own",
        )


def _with_way_out(
    decision: WindowDecision, request: PlanRequest, cursor: CursorState | None, forward: CursorState | None
) -> WindowDecision:
    """The decision; where a period without an upper bound is the harvest's already, it says how to read it again."""
    if not decision.reason or cursor or request.user_to or forward is None or request.user_from is None:
        return decision
    if request.user_from < forward.anchor:
        return decision
    began = format_instant(forward.anchor)
    return replace(decision, reason=f"{decision.reason}; the harvest reads from {began} on: to read it again, give to")


def _backfill_warnings(request: PlanRequest, cursor: CursorState | None, sums: Arithmetic) -> list[str]:
    """What a campaign leaves out, and a reader may expect in it."""
    return [*_left_below_the_harvest(request, cursor, sums), *_left_above(request, cursor, sums)]


def _left_below_the_harvest(request: PlanRequest, cursor: CursorState | None, sums: Arithmetic) -> list[str]:
    """A harvest that began after the campaign may have begun above its end."""
    harvest = sums.values["forward.from"]
    if request.user_to or cursor is None or cursor.bound_to is None or not isinstance(harvest, datetime):
        return []
    if harvest <= cursor.bound_to:
        return []
    end, began = format_instant(cursor.bound_to), format_instant(harvest)
    return [f"this campaign ends at {end} and the harvest began at {began}: a BACKFILL from {end} reads the rest"]


def _left_above(request: PlanRequest, cursor: CursorState | None, sums: Arithmetic) -> list[str]:
    """A campaign that runs down begins where it could begin at first."""
    began = cursor.anchor if cursor else sums.values["to"]
    if not request.newest_first or request.user_to is None or not isinstance(began, datetime):
        return []
    if request.user_to <= began:
        return []
    return [f"newest first, this campaign begins at {format_instant(began)}: newer time is not part of it"]


def _harvest_warnings(request: PlanRequest, cursor: CursorState | None, predecessor: datetime | None) -> list[str]:
    if cursor is None and predecessor and not request.user_from:
        return [f"the Registry's query changed: this harvest goes on at the watermark {format_instant(predecessor)}"]
    if cursor and request.user_from and request.user_from > cursor.value:
        bounds = f"from {format_instant(request.user_from)} is above the watermark {format_instant(cursor.value)}"
        return [f"{bounds}: the watermark waits there until the hole is harvested"]
    return []
