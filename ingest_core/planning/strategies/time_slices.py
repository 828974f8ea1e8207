"""TIME: windows cut at steps, halved while too big, joined while tiny, split by a second field where time ends."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ingest_core.model.codes import SliceStrategy
from ingest_core.model.id_range import IdRange
from ingest_core.model.instant import MICROSECOND, UNIT_LENGTH, Grid, unit_grid
from ingest_core.model.slice_codes import EstimateMethod
from ingest_core.model.spec import SpecSnapshot, WindowSpec
from ingest_core.model.window import Window
from ingest_core.planning.estimate import Estimate, Estimator
from ingest_core.planning.needs import Need
from ingest_core.planning.sizing import Sizing, sizing_of
from ingest_core.planning.strategies.strategy import Piece, SliceContext

JOINED_STEPS = 32
"""Maximum steps of joined small neighbours where the Registry sets no `max_window`."""


class TimeStrategy:
    """A Strategy."""

    code = SliceStrategy.TIME.value

    def refusal(self, spec: SpecSnapshot) -> str | None:
        """Why a source cannot be cut by time, if it cannot."""
        return None if spec.window else "it is refreshed by id and has no time to be cut by"

    def pieces(self, context: SliceContext) -> Iterator[Piece]:
        """The slices of every need, in order; a source that filters here is read once for all."""
        if not context.config.supports_updated_since:
            return _one_for_all(context)
        cutter = TimeCutter(context.config, sizing_of(context.spec), context.estimator, context.newest_first)
        return cutter.pieces(context.needs)


def _one_for_all(context: SliceContext) -> Iterator[Piece]:
    """Every slice would read everything: one from the first need to the last."""
    if context.needs:
        window = Window(context.needs[0].window.start, context.needs[-1].window.end)
        yield Piece(window, context.estimator.estimate(window))


def slice_time(needs: Iterable[Window], step: timedelta, zone: str = "UTC") -> Iterator[Window]:
    """The needs cut at multiples of `step`: the same cuts whenever they are made."""
    grid = Grid(step, zone)
    for need in needs:
        yield from _steps(need, grid)


def _steps(window: Window, grid: Grid) -> Iterator[Window]:
    start = window.start
    while start < window.end:
        end = min(window.end, grid.after(start))
        yield Window(start, end)
        start = end


def _steps_down(window: Window, grid: Grid) -> Iterator[Window]:
    end = window.end
    while end > window.start:
        start = max(window.start, grid.floor(end - MICROSECOND))
        yield Window(start, end)
        end = start


@dataclass(frozen=True)
class TimeCutter:
    """Cuts needs by one source's rules."""

    config: WindowSpec
    sizing: Sizing
    estimator: Estimator
    newest_first: bool = False

    @property
    def _steps(self) -> Grid:
        step = max(self.config.step_seconds, self.config.min_window_seconds or 0)
        return Grid(timedelta(seconds=step), self.config.time_zone)

    @property
    def _units(self) -> Grid:
        return unit_grid(self.config.unit, self.config.time_zone)

    @property
    def _least(self) -> timedelta:
        """minStep, where it is more than a unit: at units, whatever their length today, a window can be cut anyway."""
        least = timedelta(seconds=self.config.min_window_seconds or 0)
        return least if least > UNIT_LENGTH[self.config.unit] else MICROSECOND

    @property
    def _most(self) -> timedelta:
        step = timedelta(seconds=self.config.step_seconds)
        longest = self.config.max_window_seconds
        return timedelta(seconds=longest) if longest else JOINED_STEPS * step

    def pieces(self, needs: Iterable[Need]) -> Iterator[Piece]:
        """What the needs hold, in slices."""
        ordered = sorted(needs, key=lambda need: need.window, reverse=self.newest_first)
        for need in ordered:
            if need.ranges:
                for missing in need.ranges:
                    yield from self._ranges(need.window, self._part_size(need.window, missing), missing)
            else:
                yield from self._joined(self._fit(need.window, self.estimator.estimate(need.window)))

    def halves(self, window: Window) -> list[Window]:
        """The window in two, at a step if one lies within, else at a unit; itself where it cannot be cut."""
        within = (self._middle(window, grid) for grid in (self._steps, self._units))
        middle = next((one for one in within if one), None)
        return [window] if middle is None else [Window(window.start, middle), Window(middle, window.end)]

    def split(self, window: Window, part: IdRange, middle: int) -> Iterator[Piece]:
        """A range of the window in two at least."""
        numbers, unset = part.apart()
        for one in numbers.cut(middle):
            yield from self._ranges(window, self._part_size(window, one), one)
        if unset:
            yield Piece(window, self._part_size(window, unset), unset)

    def _middle(self, window: Window, grid: Grid) -> datetime | None:
        middle = grid.floor(window.start + window.length / 2)
        if middle - window.start < self._least:
            middle = grid.after(window.start + self._least - MICROSECOND)
        return middle if window.start < middle <= window.end - self._least else None

    def _fit(self, window: Window, estimate: Estimate) -> Iterator[Piece]:
        """The window in slices of a good size, as far as that is known."""
        if not estimate.known:
            yield from self._by_step(window, estimate)
        elif estimate.records <= self.sizing.tiny:
            yield from self._by_span(window, estimate)
        elif self._is_one_step(window) and self.sizing.fits(estimate.records):
            yield Piece(window, estimate)
        else:
            yield from self._smaller(window, estimate)

    def _smaller(self, window: Window, estimate: Estimate) -> Iterator[Piece]:
        halves = self.halves(window)
        if len(halves) == 1:
            if self.sizing.split_field and self.sizing.splits(estimate.records):
                yield from self._ranges(window, estimate, IdRange(self.sizing.split_field))
            else:
                yield Piece(window, estimate)
            return
        parts = self._sized(window, estimate, halves)
        for half, size in reversed(parts) if self.newest_first else parts:
            yield from self._fit(half, size)

    def _sized(self, window: Window, whole: Estimate, halves: list[Window]) -> list[tuple[Window, Estimate]]:
        """Each half with its size; what one holds, the other does not."""
        first, second = halves
        size = self._estimate_or_share(first, window, whole)
        rest = whole.less(size) or self._estimate_or_share(second, window, whole)
        return [(first, size), (second, rest)]

    def _estimate_or_share(self, part: Window, window: Window, whole: Estimate) -> Estimate:
        estimate = self.estimator.estimate(part)
        better = estimate.asked or (estimate.known and not whole.asked_of)
        return estimate if better else whole.share(part.length, window.length)

    def _is_one_step(self, window: Window) -> bool:
        return self._steps.after(window.start) >= window.end

    def _by_step(self, window: Window, estimate: Estimate) -> Iterator[Piece]:
        steps = _steps_down(window, self._steps) if self.newest_first else _steps(window, self._steps)
        return (Piece(one, estimate) for one in steps)

    def _by_span(self, window: Window, estimate: Estimate) -> Iterator[Piece]:
        """A window with next to nothing in it, cut only where it is too long."""
        spans = self._spans_down(window) if self.newest_first else self._spans(window)
        for one in spans:
            yield Piece(one, estimate if one == window else estimate.share(one.length, window.length))

    def _spans(self, window: Window) -> Iterator[Window]:
        start = window.start
        while start < window.end:
            end = min(window.end, self._span_end(start))
            yield Window(start, end)
            start = end

    def _spans_down(self, window: Window) -> Iterator[Window]:
        end = window.end
        while end > window.start:
            start = max(window.start, self._span_start(end))
            yield Window(start, end)
            end = start

    def _span_end(self, start: datetime) -> datetime:
        end = self._steps.floor(start + self._most)
        return end if end > start else self._steps.after(start)

    def _span_start(self, end: datetime) -> datetime:
        start = self._steps.ceil(end - self._most)
        return start if start < end else self._steps.floor(end - MICROSECOND)

    def _joined(self, pieces: Iterator[Piece]) -> Iterator[Piece]:
        """Tiny neighbours as one."""
        held: Piece | None = None
        for piece in pieces:
            both = held and self._join(held, piece)
            if held and not both:
                yield held
            held = both or piece
        if held:
            yield held

    def _join(self, one: Piece, other: Piece) -> Piece | None:
        first, second = sorted((one.window, other.window))
        total = one.estimate.records + other.estimate.records
        known = one.estimate.known and other.estimate.known and not one.range and not other.range
        if not known or total > self.sizing.tiny or first.end != second.start or second.end - first.start > self._most:
            return None
        return Piece(Window(first.start, second.end), Estimate(total, one.estimate.method))

    def _ranges(self, window: Window, estimate: Estimate, part: IdRange) -> Iterator[Piece]:
        """A range of one window in slices that fit, neighbours joined; records without the field are one more."""
        numbers, unset = part.apart()
        held: Piece | None = None
        for piece in self._fit_ranges(window, estimate, numbers):
            assert piece.range is not None
            total = (held.estimate.records if held else 0) + piece.estimate.records
            if held and held.range and self.sizing.fits(total):
                both = replace(held.range, end=piece.range.end)
                held = Piece(window, Estimate(total, piece.estimate.method), both)
                continue
            if held:
                yield held
            held = piece
        if held:
            yield held
        if unset:
            yield Piece(window, self._part_size(window, unset), unset)

    def _fit_ranges(self, window: Window, estimate: Estimate, part: IdRange) -> Iterator[Piece]:
        low, high = part.start or 0, self.sizing.split_max if part.end is None else part.end
        if not estimate.known or self.sizing.fits(estimate.records) or low >= high or part.is_unset:
            yield Piece(window, estimate, part)
            return
        halves = part.cut((low + high) // 2)
        for half, size in zip(halves, self._half_sizes(window, halves, estimate), strict=True):
            yield from self._fit_ranges(window, size, half)

    def _half_sizes(self, window: Window, halves: Iterable[IdRange], whole: Estimate) -> tuple[Estimate, Estimate]:
        """What the provider counts of each half, at most the whole; of one that was not counted, the rest or half."""
        first, second = (self._part_size(window, half) for half in halves)
        share = whole.share(timedelta(1), timedelta(2))  # a sample of a part says no more than half of the whole
        if not first.counted:
            first = whole.rest(second) if second.counted else share
        if not second.counted:
            second = whole.rest(first) if first.counted else share
        elif whole.counted and first.counted:  # counts that contradict each other must not cut for ever
            second = Estimate(min(second.records, whole.rest(first).records), second.method)
        return first, second

    def _part_size(self, window: Window, part: IdRange) -> Estimate:
        """The estimate of a part; records that cannot be asked for on their own are only checked for by its task."""
        if part.is_unset and not self.sizing.reads_unset:
            return Estimate(0, EstimateMethod.CONSTANT)
        return self.estimator.estimate(window, part.asked)
