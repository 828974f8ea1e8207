"""Laws of a harvest over time: late records are read in time, nothing is passed unread, work stays in proportion."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ingest_core.model.codes import Operation, TimeUnit, WindowMode
from ingest_core.model.cursor import Coverage, CursorState
from ingest_core.model.id_range import IdRange
from ingest_core.model.instant import CALENDAR_LENGTH, MILLISECOND, UNIT_LENGTH
from ingest_core.model.slice_codes import CalendarUnit, EstimateMethod
from ingest_core.model.spec import SlicingSpec, SpecSnapshot, WindowSpec
from ingest_core.model.window import Window
from ingest_core.planning.estimate import Estimator
from ingest_core.planning.request import PlanRequest
from ingest_core.planning.window import resolve_backfill
from tests.models.planning_model import (
    ALL_IDS,
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


HOURS = (CalendarUnit.MINUTE, CalendarUnit.HOUR)


@st.composite
def windows(draw: st.DrawFn, aligned: tuple[CalendarUnit, ...] = HOURS) -> dict[str, Any]:
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
        window |= {"mode": WindowMode.CALENDAR, "align_to": draw(st.sampled_from(aligned))}
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
    if not any(part and part.answers_for_unset for part in parts):
        return False
    edges = {-1, 10**12} | {n + d for p in parts if p for n in (p.start, p.end) if n is not None for d in (-1, 0, 1)}
    return all(
        any((p.start is None or p.start <= n) and (p.end is None or n <= p.end) for p in parts if p and not p.is_unset)
        for n in edges
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


LateRecords.TestCase.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
TestLateRecords = pytest.mark.timeout(120)(LateRecords.TestCase)

TICKS = 200


@given(windows(), st.sampled_from(STARTS), st.integers(5, 120))
@settings(max_examples=6)
def test_ticks_beside_a_stopped_executor_queue_new_time_and_nothing_twice(
    window: dict[str, Any], start: datetime, gap_minutes: int
) -> None:
    harvest = Harvest(spec_with(window), Stubborn(700, NOTHING_KNOWN))
    for number in range(TICKS):
        harvest.tick(start + number * gap_minutes * MINUTE)
    whole = Window(harvest.queued[0].window.start, harvest.queued[-1].window.end)

    assert ground_of([(work.window, None) for work in harvest.queued]) == [(whole.start, whole.end, ALL_IDS)]
    assert length_of(harvest.queued) == whole.length
    # a tick adds what is new since the one before: a slice, or two where a step begins within
    steps = whole.length // timedelta(seconds=window["step_seconds"]) + 1
    assert len(harvest.queued) <= TICKS + 2 * steps


def run_around_poison(spec: SpecSnapshot, start: datetime, gap: timedelta) -> tuple[Harvest, list[Work], timedelta]:
    """200 ticks with an executor at work, whose every reading of one instant fails: the failures, and the new time."""
    harvest, now, poison = Harvest(spec, Stubborn(700, NOTHING_KNOWN)), start, start + 90 * MINUTE
    failed: list[Work] = []
    for _ in range(TICKS):
        now += gap
        harvest.tick(now)
        for work in harvest.waiting():
            harvest.begin(work, now)
            poisoned = work.window.start <= poison < work.window.end
            failed += [work] if poisoned else []
            harvest.end(work, well=not poisoned)
        harvest.advance()
    return harvest, failed, now - harvest.queued[0].window.start


@given(windows(), st.sampled_from(STARTS), st.integers(20, 120))
@settings(max_examples=6)
def test_ticks_around_a_poison_slice_queue_new_time_the_poison_and_what_is_not_settled(
    window: dict[str, Any], start: datetime, gap_minutes: int
) -> None:
    spec, gap = spec_with(window), gap_minutes * MINUTE
    config = spec.time
    harvest, failed, new_time = run_around_poison(spec, start, gap)

    # the poison is tried once a tick, and is no more than the step around it (an hour more where clocks go back)
    assert len(failed) <= TICKS
    assert all(work.window.length <= timedelta(seconds=config.step_seconds) + HOUR for work in failed)
    # anything else is read when it is new, and again while late records may come: at every tick, or once a recheck
    unsettled = config.lookback + UNIT_LENGTH[config.unit] + aligned_by(config)
    readings = 2 + -(-unsettled // max(gap, timedelta(seconds=config.recheck_seconds)))
    assert length_of(harvest.queued) - length_of(failed) <= readings * new_time


def test_hourly_ticks_around_a_poison_slice_queue_ten_times_the_new_time_at_most() -> None:
    harvest, failed, new_time = run_around_poison(spec_with({}), STARTS[0], HOUR)

    # every hour: 1 that is new, 3 of lookback 2 h and lag again, and at most the 6 of the poison's step
    assert length_of(harvest.queued) <= 10 * new_time
    # reading all above the poison at every tick would be a hundred times
    assert len(failed) == TICKS - 2
    assert sum((number * HOUR for number in range(TICKS)), timedelta(0)) > 80 * new_time


def aligned_by(config: WindowSpec) -> timedelta:
    """How much longer an aligned window waits."""
    return CALENDAR_LENGTH[config.align_to] if config.align_to else timedelta(0)


def campaign_of(window: dict[str, Any], *, newest_first: bool) -> Harvest:
    """A campaign over ground nobody has read."""
    spec = spec_with(window).model_copy(update={"operation_code": Operation.BACKFILL})
    request = PlanRequest("crossref", Operation.BACKFILL, campaign="c", newest_first=newest_first)
    return Harvest(spec, Stubborn(700, NOTHING_KNOWN), request)


def work_off(campaign: Harvest, now: datetime, ends: list[bool]) -> None:
    """Begin and end what waits; the first of them as told, the others well."""
    for number, work in enumerate(campaign.waiting()):
        campaign.begin(work, now)
        campaign.end(work, well=number >= len(ends) or ends[number])
    campaign.advance()


def check_campaign(campaign: Harvest, now: datetime, low: datetime, high: datetime, luck: list[list[bool]]) -> None:
    """Run it with little stock and tasks that fail, then until it has nothing to do: all was read, once."""
    asked = replace(campaign.request, user_from=low, user_to=high)
    begun = resolve_backfill(asked, None, campaign.spec.time, now, campaign.store.forward).window
    if begun is None:
        return
    campaign.tick(now, low, high, most=2)
    for ends in luck:
        work_off(campaign, now, ends)
        campaign.tick(now, most=2)
    work_off(campaign, now, [])
    while campaign.tick(now):
        work_off(campaign, now, [])

    read = ground_of([(event.window, event.range) for event in campaign.store.events])
    assert read == [(begun.start, begun.end, ALL_IDS)]
    assert campaign.store.cursor
    assert campaign.store.cursor.value == (begun.start if campaign.request.newest_first else begun.end)


def harvested(now: datetime, ago: int | None) -> CursorState | None:
    """A harvest whose watermark stands so many minutes ago, if there is one."""
    return None if ago is None else CursorState(now - ago * MINUTE, now - 9000 * MINUTE)


AGO, LENGTH, FORWARD = st.integers(60, 9000), st.integers(1, 9000), st.none() | st.integers(0, 9000)
LUCK = st.lists(st.lists(st.booleans(), min_size=1, max_size=2), max_size=8)


@given(windows((*HOURS, CalendarUnit.DAY)), AGO, LENGTH, FORWARD, LUCK)
def test_a_campaign_oldest_first_reads_all_it_was_begun_with_once(
    window: dict[str, Any], ago: int, length: int, forward: int | None, luck: list[list[bool]]
) -> None:
    campaign, now = campaign_of(window, newest_first=False), STARTS[0]
    campaign.store.forward = harvested(now, forward)
    low = now - ago * MINUTE

    check_campaign(campaign, now, low, low + length * MINUTE, luck)


@given(windows((*HOURS, CalendarUnit.DAY)), AGO, LENGTH, FORWARD, LUCK)
def test_a_campaign_newest_first_reads_all_it_was_begun_with_once(
    window: dict[str, Any], ago: int, length: int, forward: int | None, luck: list[list[bool]]
) -> None:
    campaign, now = campaign_of(window, newest_first=True), STARTS[0]
    campaign.store.forward = harvested(now, forward)
    low = now - ago * MINUTE

    check_campaign(campaign, now, low, low + length * MINUTE, luck)


def test_a_campaign_newest_first_and_aligned_goes_on_where_it_stopped_within_a_day() -> None:
    window = {"mode": WindowMode.CALENDAR, "align_to": CalendarUnit.DAY, "step_seconds": 6 * 3600}
    campaign = campaign_of(window, newest_first=True)

    check_campaign(campaign, STARTS[0], at("2026-03-01"), at("2026-03-05"), [[True]])
