"""Which window a harvest may cover now, and every step that made it so."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from ingest_core.model.codes import WindowMode
from ingest_core.model.errors import BadInput
from ingest_core.model.instant import MILLISECOND, floor_to, floor_to_unit, format_instant, parse_instant
from ingest_core.model.spec import WindowSpec
from ingest_core.model.window import Window, window_or_none
from ingest_core.model.work import CursorState
from ingest_core.planning.request import PlanRequest


@dataclass(frozen=True)
class WindowDecision:
    """The window, or why there is none, with the arithmetic line by line."""

    start: datetime
    end: datetime
    reason: str | None
    audit: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def window(self) -> Window | None:
        """The window itself; none when it is empty."""
        return window_or_none(self.start, self.end)


class _Arithmetic:
    """Writes down each step it takes."""

    def __init__(self) -> None:
        self.steps: list[dict[str, Any]] = []

    def note(self, step: str, value: datetime | timedelta | None, why: str) -> None:
        shown = format_instant(value) if isinstance(value, datetime) else (None if value is None else str(value))
        self.steps.append({"step": step, "value": shown, "why": why})

    def earlier(self, name: str, current: datetime, bound: datetime | None, why: str) -> datetime:
        if bound is None or bound >= current:
            return current
        self.note(name, bound, why)
        return bound

    def later(self, name: str, current: datetime, bound: datetime | None, why: str) -> datetime:
        if bound is None or bound <= current:
            return current
        self.note(name, bound, why)
        return bound


def resolve_harvest(
    request: PlanRequest,
    cursor: CursorState | None,
    config: WindowSpec,
    now: datetime,
    predecessor: datetime | None = None,
) -> WindowDecision:
    """The window a harvest may cover now, and every clip that made it so.

    `predecessor` is where the Registry's query before this one stood: a new query goes on there.
    """
    _refuse_below_anchor(request, cursor)
    sums = _Arithmetic()
    sums.note("now", now, "the moment of planning")
    end = _upper(sums, request, config, now)
    start = _lower(sums, request, cursor or predecessor, config, now)
    if config.mode == WindowMode.CALENDAR and config.align_to:
        start, end = floor_to_unit(start, config.align_to), floor_to_unit(end, config.align_to)
        sums.note("from", start, f"CALENDAR: floored to {config.align_to}")
        sums.note("to", end, f"CALENDAR: floored to {config.align_to}")
    start = sums.earlier("from", start, floor_to(start, MILLISECOND), "whole milliseconds")
    end = sums.earlier("to", end, floor_to(end, MILLISECOND), "whole milliseconds")
    if cursor:
        start = sums.later("from", start, cursor.anchor, "never below the anchor")
    reason = None
    if start >= end:
        reason = f"nothing to harvest yet: from {format_instant(start)} is not before to {format_instant(end)}"
    return WindowDecision(start, end, reason, sums.steps, _warnings(request, cursor, predecessor))


def _upper(sums: _Arithmetic, request: PlanRequest, config: WindowSpec, now: datetime) -> datetime:
    safe = now - config.lag
    sums.note("to", safe, f"now - lag {config.lag}")
    end = floor_to_unit(safe, config.unit)
    if end != safe:
        sums.note("to", end, f"start of the provider's {config.unit} that holds it")
    return sums.earlier("to", end, request.user_to, "the user's upper bound")


def _lower(
    sums: _Arithmetic, request: PlanRequest, cursor: CursorState | datetime | None, config: WindowSpec, now: datetime
) -> datetime:
    if isinstance(cursor, CursorState):
        start = cursor.value - config.lookback
        sums.note("from", start, f"watermark {format_instant(cursor.value)} - lookback {config.lookback}")
        return sums.later("from", start, request.user_from, "the user's lower bound")
    if request.user_from:
        sums.note("from", request.user_from, "no watermark yet: the user's lower bound")
        return request.user_from
    if cursor:
        sums.note("from", cursor, "no watermark of this query yet: that of the Registry's query before it")
        return cursor
    if config.baseline:
        baseline = parse_instant(config.baseline)
        sums.note("from", baseline, "no watermark yet: the Registry's baseline")
        return baseline
    size = timedelta(seconds=config.window_size_seconds)
    start = floor_to_unit(now - config.lag - size, config.unit)
    sums.note("from", start, f"no watermark yet: now - lag - window size {size}, floored to {config.unit}")
    return start


def _refuse_below_anchor(request: PlanRequest, cursor: CursorState | None) -> None:
    if cursor is None:
        return
    below = [
        f"{name} {format_instant(bound)}"
        for name, bound, beyond in (
            ("from", request.user_from, request.user_from and request.user_from < cursor.anchor),
            ("to", request.user_to, request.user_to and request.user_to < cursor.anchor),
        )
        if bound and beyond
    ]
    if below:
        raise BadInput(
            "BELOW_ANCHOR",
            f"{' and '.join(below)} is before this harvest's anchor {format_instant(cursor.anchor)}",
            where=f"source {request.source!r}",
            remedy="time before the anchor is BACKFILL's: plan a BACKFILL for it",
        )


def _warnings(request: PlanRequest, cursor: CursorState | None, predecessor: datetime | None) -> list[str]:
    if cursor is None and predecessor and not request.user_from:
        return [f"the Registry's query changed: this harvest goes on at the watermark {format_instant(predecessor)}"]
    if cursor and request.user_from and request.user_from > cursor.value:
        bounds = f"from {format_instant(request.user_from)} is above the watermark {format_instant(cursor.value)}"
        return [f"{bounds}: the watermark waits there until the hole is harvested"]
    return []
