"""Laws of a harvest over time: late records are read in time, nothing is passed unread, work stays in proportion."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ingest_core.model.codes import Operation, TimeUnit, WindowMode
from ingest_core.model.id_range import IdRange
from ingest_core.model.instant import CALENDAR_LENGTH, MILLISECOND, UNIT_LENGTH
from ingest_core.model.slice_codes import CalendarUnit, EstimateMethod
from ingest_core.model.spec import SlicingSpec, SpecSnapshot, WindowSpec
from ingest_core.model.window import Window
from ingest_core.model.work import Coverage
from ingest_core.planning.estimate import Estimator
from ingest_core.planning.request import PlanRequest
from tests.support.planning_model import (
    Cluster,
    Harvest,
    Published,
    Stubborn,
    Truthful,
    Work,
    ground_of,
    length_of,
)
from tests.support.specs import at, crossref_spec

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
NOTHING_KNOWN = EstimateMethod.CONSTANT
STARTS = [at("2026-03-10T12:34:56.789Z"), at("2026-03-08T01:30Z"), at("2026-11-01T00:10Z"), at("2024-02-29T18:00Z")]
"""An ordinary day, clocks put forward and back in New York, and a leap day."""


def spec_with(window: dict[str, Any]) -> SpecSnapshot:
    """Crossref with another window, and at most 100 records in a slice."""
    sizes = SlicingSpec(target_records=100, split_field="uid", split_max=5000)
    return crossref_spec(window=window).model_copy(update={"slicing": sizes})


@st.composite
def windows(draw: st.DrawFn) -> dict[str, Any]:
    """Settings of some minutes to some hours, so that much happens in few steps."""
    unit = draw(st.sampled_from([TimeUnit.SECOND, TimeUnit.MINUTE, TimeUnit.HOUR]))
    lookback = draw(st.integers(0, 240)) * 60
    window: dict[str, Any] = {
        "unit": unit,
        "time_zone": draw(st.sampled_from(["UTC", "Asia/Kolkata", "America/New_York"])),
        "lag_seconds": draw(st.integers(0, 45)) * 60,
        "lookback_seconds": lookback,
        "recheck_seconds": draw(st.sampled_from([0, lookback // 4, lookback // 2, lookback * 2])),
        "window_size_seconds": draw(st.integers(1, 12)) * 3600,
        "step_seconds": draw(st.integers(1, 6)) * 3600,
    }
    if draw(st.booleans()):
        aligned = st.sampled_from([CalendarUnit.MINUTE, CalendarUnit.HOUR])
        window |= {"mode": WindowMode.CALENDAR, "align_to": draw(aligned)}
    return window


def whole_since(start: datetime, end: datetime, events: list[Coverage]) -> bool:
    """Whether every instant between the two was read with every id, by looking at each of them."""
    edges = sorted({start, end, *(e for one in events for e in (one.window.start, one.window.end) if start < e < end)})
    return all(
        _all_ids([one.range for one in events if one.window.start <= low < one.window.end]) for low in edges[:-1]
    )


def _all_ids(parts: list[IdRange | None]) -> bool:
    if None in parts:
        return True
    edges = {-1, 10**12} | {n + d for p in parts if p for n in (p.start, p.end) if n is not None for d in (-1, 0, 1)}
    return all(
        any((p.start is None or p.start <= n) and (p.end is None or n <= p.end) for p in parts if p) for n in edges
    )


class LateRecords(RuleBasedStateMachine):
    """Ticks, tasks and an executor in any order; in the end the executor is healthy and the clock goes on."""

    harvest: Harvest
    config: WindowSpec
    now: datetime
    poison: Published | None
    busy: list[datetime]
    published_until: datetime
    published: list[Published]

    @initialize(
        start=st.sampled_from(STARTS),
        window=windows(),
        busy=st.lists(st.integers(-3 * 60, 3 * 60), max_size=3),
        counted=st.booleans(),
        poison_after=st.integers(-6 * 60, 12 * 60),
    )
    def begin(self, start: datetime, window: dict[str, Any], busy: list[int], counted: bool, poison_after: int) -> None:
        """A source whose sizes are counted or unknown, and one record that makes every reading of it fail."""
        spec = spec_with(window)
        self.busy = [start + minutes * MINUTE for minutes in busy]
        clusters = [Cluster(moment, 1000 * n, 350) for n, moment in enumerate(self.busy)]
        estimator: Estimator = Truthful(clusters) if counted else Stubborn(700, NOTHING_KNOWN)
        self.harvest = Harvest(spec, estimator)
        self.config, self.now, self.published = spec.time, start, []
        moment = self.busy[0] if counted and self.busy else start + poison_after * MINUTE
        self.poison = None if counted and not self.busy else Published(moment, 100, moment)

    # what may happen, in any order

    @rule(minutes=st.integers(1, 180), millis=st.integers(0, 60_000))
    def time_passes(self, minutes: int, millis: int) -> None:
        self.now += minutes * MINUTE + millis * MILLISECOND

    @rule()
    def a_trigger_fires(self) -> None:
        self.harvest.tick(self.now)

    @precondition(lambda self: self.harvest.store.cursor)
    @rule(low=st.none() | st.integers(0, 600), length=st.none() | st.integers(1, 600))
    def a_person_asks_for_a_period(self, low: int | None, length: int | None) -> None:
        cursor = self.harvest.store.cursor
        assert cursor
        start = None if low is None else cursor.anchor + low * MINUTE
        self.harvest.tick(self.now, start, None if length is None else (start or cursor.anchor) + length * MINUTE)

    @precondition(lambda self: self.harvest.waiting())
    @rule(number=st.integers(0, 99))
    def a_task_is_begun(self, number: int) -> None:
        waiting = self.harvest.waiting()
        self.harvest.begin(waiting[number % len(waiting)], self.now)

    @precondition(lambda self: self.harvest.running())
    @rule(number=st.integers(0, 99), well=st.booleans())
    def a_task_ends(self, number: int, well: bool) -> None:
        running = self.harvest.running()
        self.end(running[number % len(running)], well=well)

    @rule()
    def the_watermark_is_advanced(self) -> None:
        self.harvest.advance()

    @rule(minutes_ago=st.integers(0, 600), share=st.floats(0, 1), record_id=st.integers(0, 4000))
    def a_record_is_published(self, minutes_ago: int, share: float, record_id: int) -> None:
        stamp = self.now - minutes_ago * MINUTE
        self.published.append(Published(stamp, record_id, stamp + share * (self.config.lag + self.config.lookback)))

    # what must hold all the time

    @invariant()
    def nothing_is_in_two_live_tasks(self) -> None:
        ground_of([(work.window, work.range) for work in self.harvest.store.work])

    @invariant()
    def the_watermark_has_passed_nothing_unread(self) -> None:
        cursor = self.harvest.store.cursor
        if cursor and cursor.value > cursor.anchor:
            assert whole_since(cursor.anchor, cursor.value, self.harvest.store.events)

    # what must hold in the end

    def teardown(self) -> None:
        if not hasattr(self, "harvest"):
            return
        self.recover()
        cursor = self.harvest.store.cursor
        assert cursor
        for record in [*self.published, *self.worst_records()]:
            if record.stamp >= cursor.anchor and not self.is_poisoned(record):
                assert self.harvest.was_read(record), record

    def end(self, work: Work, *, well: bool) -> None:
        self.harvest.end(work, well=well and not self.holds_poison(work))

    def recover(self) -> None:
        """A healthy executor and a tick from time to time, until every late record has had its time."""
        config, gap = self.config, 20 * MINUTE
        aligned = CALENDAR_LENGTH[config.align_to] if config.align_to else timedelta(0)
        settled = self.now + config.lag + config.lookback + UNIT_LENGTH[config.unit] + aligned
        healthy_until = settled + timedelta(seconds=config.recheck_seconds) + 2 * gap
        self.published_until = self.now
        while self.now < healthy_until:
            self.now += gap
            self.harvest.tick(self.now)
            for work in self.harvest.waiting():
                self.harvest.begin(work, self.now)
            for work in self.harvest.running():
                self.end(work, well=True)
            self.harvest.advance()
            self.nothing_is_in_two_live_tasks()
            self.the_watermark_has_passed_nothing_unread()

    def worst_records(self) -> list[Published]:
        """Records everywhere, and of every range where much is published, visible at the very last moment."""
        cursor = self.harvest.store.cursor
        assert cursor
        late = self.config.lag + self.config.lookback
        count = (self.published_until - cursor.anchor) // (7 * MINUTE)
        stamps = [cursor.anchor + n * 7 * MINUTE - MILLISECOND for n in range(1, count)]
        busy = [one for one in self.busy if one < self.published_until]
        everywhere = [Published(stamp, n % 4000, stamp + late) for n, stamp in enumerate(stamps)]
        return everywhere + [Published(stamp, n, stamp + late) for stamp in busy for n in range(0, 4000, 50)]

    def is_poisoned(self, record: Published) -> bool:
        """Whether a slice that held it also held the poison."""
        slices = {(work.window, work.range) for work in self.harvest.queued if self.holds_poison(work)}
        return any(record.inside(*place) for place in slices)

    def holds_poison(self, work: Work) -> bool:
        return self.poison is not None and self.poison.inside(work.window, work.range)


LateRecords.TestCase.settings = settings(max_examples=120, stateful_step_count=40, deadline=None)
TestLateRecords = pytest.mark.timeout(120)(LateRecords.TestCase)
