"""What of a window still needs reading."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from ingest_core.cursor.frontier import fold_frontier, whole_coverage
from ingest_core.model.cursor import Coverage
from ingest_core.model.id_range import IdRange, missing_ranges
from ingest_core.model.instant import MILLISECOND, floor_to, unit_grid
from ingest_core.model.spec import WindowSpec
from ingest_core.model.window import Window, merge_windows, subtract_each, subtract_windows, widen_to, window_or_none

LONG_SETTLED = datetime(9000, 1, 1, tzinfo=UTC)
"""As good as read now, and for ever: what late arrivals have long had their time for."""


@dataclass(frozen=True)
class Ground:
    """Facts about a window: parts that were read and when, windows with ranges only, and parts in live tasks."""

    coverage: list[Coverage] = field(default_factory=list)
    live: list[Window] = field(default_factory=list)
    parts: dict[Window, list[Coverage]] = field(default_factory=dict)


@dataclass(frozen=True)
class Need:
    """A window that needs reading: all of it, or the ranges that are missing."""

    window: Window
    ranges: tuple[IdRange, ...] = ()


def survey(coverage: Iterable[Coverage], live: Iterable[Window], config: WindowSpec) -> Ground:
    """The ground from streams in order of time: neighbours of the same state become one, however many there are.

    What is live is read first: a task that ends meanwhile is then seen as live, as read, or as both, never as neither.
    """
    joined = _joined(live)
    readings: list[Coverage] = []
    parts: dict[Window, list[Coverage]] = {}
    for event in coverage:
        if event.range is not None:
            parts.setdefault(event.window, []).append(event)
        elif counted := event.counted:
            _append(readings, _condensed(Coverage(counted, event.as_of), config))
    readings += whole_coverage(event for found in parts.values() for event in found)
    return Ground(readings, joined, parts)


def _condensed(event: Coverage, config: WindowSpec) -> Coverage:
    settled = event.as_of >= event.window.end + config.lag + config.lookback
    return Coverage(event.window, LONG_SETTLED) if settled else event


def _append(readings: list[Coverage], event: Coverage) -> None:
    last = readings[-1] if readings else None
    touches = last and last.window.start <= event.window.start <= last.window.end
    if last and touches and event.as_of == last.as_of == LONG_SETTLED:
        end = max(last.window.end, event.window.end)
        readings[-1] = Coverage(Window(last.window.start, end), LONG_SETTLED)
    else:
        readings.append(event)


def _joined(windows: Iterable[Window]) -> list[Window]:
    joined: list[Window] = []
    for window in windows:
        if joined and joined[-1].start <= window.start <= joined[-1].end:
            joined[-1] = Window(joined[-1].start, max(joined[-1].end, window.end))
        else:
            joined.append(window)
    return merge_windows(joined)


def needs_reading(
    window: Window, ground: Ground, config: WindowSpec, now: datetime, *, once: bool = False
) -> list[Window]:
    """The parts of `window` that are not settled, not in a live task and not just read, in whole units.

    With `once`, what was read at any time needs no reading.
    """
    done = [event.window for event in ground.coverage] if once else _no_need(ground.coverage, config, now)
    grid = unit_grid(config.unit, config.time_zone)
    whole_units = [widen_to(part, grid, window) for part in subtract_windows(window, [*done, *ground.live])]
    return subtract_each(merge_windows(whole_units), merge_windows(ground.live))


def needs_by_range(
    windows: Sequence[Window], ground: Ground, config: WindowSpec, now: datetime, *, once: bool = False
) -> list[Need]:
    """The same windows; where a window was read in part, range by range, only the ranges that are missing."""
    partial = {
        window: missing
        for window, events in ground.parts.items()
        if (missing := _missing(events, config, now, once=once))
    }
    cut, needs = deque(sorted(partial)), []
    for whole in windows:
        apart: list[Window] = []
        while cut and cut[0].start < whole.end:
            window = cut.popleft()
            if whole.start <= window.start and window.end <= whole.end and (not apart or apart[-1].end <= window.start):
                apart.append(window)
        needs += [Need(rest) for rest in subtract_windows(whole, apart)]
        needs += [Need(window, tuple(partial[window])) for window in apart]
    return sorted(needs, key=lambda need: need.window)


def _missing(events: list[Coverage], config: WindowSpec, now: datetime, *, once: bool) -> list[IdRange]:
    """Which ranges of a window still need reading; none when all do, as if it had never been cut."""
    whole = (event for event in events if event.counted == event.window)  # a range whose end was not read is missing
    done = [event for event in whole if once or _needs_none(event, config, now)]
    if not done or done[0].range is None:
        return []
    return missing_ranges(done[0].range.field, [event.range for event in done if event.range])


def _needs_none(event: Coverage, config: WindowSpec, now: datetime) -> bool:
    settled = event.as_of >= event.window.end + config.lag + config.lookback
    return settled or event.as_of + timedelta(seconds=config.recheck_seconds) > now


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
