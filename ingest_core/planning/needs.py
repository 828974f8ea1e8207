"""What of a window still needs reading."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ingest_core.cursor.frontier import fold_frontier
from ingest_core.model.instant import MILLISECOND, UNIT_LENGTH, floor_to
from ingest_core.model.spec import WindowSpec
from ingest_core.model.window import Window, merge_windows, subtract_windows, widen_to, window_or_none
from ingest_core.model.work import Coverage


@dataclass(frozen=True)
class Ground:
    """What is known of a window: what was read and when, and what a live task is about to read."""

    coverage: list[Coverage] = field(default_factory=list)
    live: list[Window] = field(default_factory=list)


def needs_reading(window: Window, ground: Ground, config: WindowSpec, now: datetime) -> list[Window]:
    """The parts of `window` that are not settled, not in a live task and not just read, in whole units."""
    done = _no_need(ground.coverage, config, now)
    unit = UNIT_LENGTH[config.unit]
    whole_units = [widen_to(part, unit, window) for part in subtract_windows(window, [*done, *ground.live])]
    return [part for need in merge_windows(whole_units) for part in subtract_windows(need, ground.live)]


def settled_until(start: datetime, coverage: Iterable[Coverage], config: WindowSpec) -> datetime:
    """How far from `start` every instant is settled, without a hole."""
    return fold_frontier(start, _settled(coverage, config))


def _settled(coverage: Iterable[Coverage], config: WindowSpec) -> list[Window]:
    settle_after = config.lag + config.lookback
    parts = (
        window_or_none(event.window.start, min(event.window.end, _settled_end(event.as_of, settle_after)))
        for event in coverage
    )
    return [part for part in parts if part]


def _no_need(coverage: Sequence[Coverage], config: WindowSpec, now: datetime) -> list[Window]:
    recheck = timedelta(seconds=config.recheck_seconds)
    just_read = [event.window for event in coverage if event.as_of + recheck > now]
    return [*just_read, *_settled(coverage, config)]


def _settled_end(as_of: datetime, settle_after: timedelta) -> datetime:
    """An instant x is settled when it was read at or after `x + settle_after`; whole milliseconds."""
    return floor_to(as_of - settle_after, MILLISECOND) + MILLISECOND
