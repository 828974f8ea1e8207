"""Laws of planning: windows that are safe, needs that forget nothing, slices that tile."""

from datetime import datetime, timedelta

from hypothesis import assume, given
from hypothesis import strategies as st

from ingest_core.model.codes import TimeUnit, WindowMode
from ingest_core.model.cursor import CursorState
from ingest_core.model.instant import (
    MILLISECOND,
    UNIT_LENGTH,
    Grid,
    floor_to,
    floor_to_calendar,
    format_instant,
    to_micros,
)
from ingest_core.model.spec import WindowSpec
from ingest_core.model.window import Window, merge_windows
from ingest_core.planning.needs import Ground, needs_reading
from ingest_core.planning.request import PlanRequest
from ingest_core.planning.strategies.time_slices import slice_time
from ingest_core.planning.window import resolve_harvest
from tests.support.specs import crossref_spec, drafted
from tests.support.strategies import (
    HORIZON,
    MINUTE,
    ZONES,
    cursors,
    grounds,
    minute,
    minute_specs,
    minute_window,
    minute_windows,
    minutes_of,
    real_windows,
    recent_instants,
    requests_for,
    steps,
    units,
    window_lists,
    window_specs,
)

WINDOW = minute_window(0, HORIZON)


class TestTheWindowOfAHarvest:
    """Safe above, anchored below, exact, and never going back."""

    @given(st.data(), st.none() | cursors(), window_specs(), recent_instants())
    def test_it_stays_between_the_anchor_and_now_minus_lag(
        self, data: st.DataObject, cursor: CursorState | None, config: WindowSpec, now: datetime
    ) -> None:
        decision = resolve_harvest(data.draw(requests_for(cursor)), cursor, config, now)

        assert decision.end <= now - config.lag
        assert cursor is None or decision.start >= cursor.anchor
        assert all(to_micros(end) % 1000 == 0 for end in (decision.start, decision.end))
        assert (decision.window is None) == (decision.reason is not None) == (decision.start >= decision.end)

    @given(st.data(), st.none() | cursors(), window_specs(), recent_instants(), recent_instants())
    def test_it_never_goes_back_as_time_goes_on(
        self, data: st.DataObject, cursor: CursorState | None, config: WindowSpec, one: datetime, other: datetime
    ) -> None:
        request = data.draw(requests_for(cursor))
        earlier = resolve_harvest(request, cursor, config, min(one, other))
        later = resolve_harvest(request, cursor, config, max(one, other))

        assert later.end >= earlier.end
        assert later.start >= earlier.start

    @given(st.data(), st.none() | cursors(), window_specs(), recent_instants())
    def test_it_stays_within_the_users_bounds_up_to_alignment(
        self, data: st.DataObject, cursor: CursorState | None, config: WindowSpec, now: datetime
    ) -> None:
        request = data.draw(requests_for(cursor))
        decision = resolve_harvest(request, cursor, config, now)
        lowest = request.user_from
        if lowest and config.align_to and config.mode == WindowMode.CALENDAR:
            lowest = floor_to_calendar(lowest, config.align_to)

        assert request.user_to is None or decision.end <= request.user_to
        assert lowest is None or decision.start >= floor_to(lowest, MILLISECOND)

    @given(cursors(), window_specs(), recent_instants())
    def test_without_bounds_it_leaves_no_hole_above_the_watermark(
        self, cursor: CursorState, config: WindowSpec, now: datetime
    ) -> None:
        decision = resolve_harvest(requests_without_bounds(), cursor, config, now)

        assert decision.start <= cursor.value
        assert decision.warnings == []

    @given(st.data(), st.none() | cursors(), window_specs(), recent_instants())
    def test_the_same_inputs_give_the_same_decision(
        self, data: st.DataObject, cursor: CursorState | None, config: WindowSpec, now: datetime
    ) -> None:
        request = data.draw(requests_for(cursor))

        assert resolve_harvest(request, cursor, config, now) == resolve_harvest(request, cursor, config, now)


def requests_without_bounds() -> PlanRequest:
    return PlanRequest("crossref")


class TestWhatNeedsReading:
    """Against a model that asks each minute whether somebody has to read it."""

    @staticmethod
    def unsettled(number: int, ground: Ground, config: WindowSpec, now: datetime) -> bool:
        """D6, word by word: not settled, and not read within the last recheck; a minute's last instant settles last."""
        x = minute(number) + MINUTE - MILLISECOND
        return not any(
            reading.as_of >= x + config.lag + config.lookback
            or now - reading.as_of < timedelta(seconds=config.recheck_seconds)
            for reading in ground.coverage
            if reading.window.start <= x < reading.window.end
        )

    @given(grounds(), minute_specs(), st.integers(HORIZON, 2 * HORIZON).map(minute))
    def test_no_live_instant_is_read_again(self, ground: Ground, config: WindowSpec, now: datetime) -> None:
        needs = needs_reading(WINDOW, ground, config, now)

        assert not minutes_of(*needs) & minutes_of(*ground.live)

    @given(grounds(), minute_specs(), st.integers(HORIZON, 2 * HORIZON).map(minute))
    def test_nothing_that_has_to_be_read_is_forgotten(self, ground: Ground, config: WindowSpec, now: datetime) -> None:
        needs = minutes_of(*needs_reading(WINDOW, ground, config, now))
        live = minutes_of(*ground.live)
        wanted = {number for number in range(HORIZON) if self.unsettled(number, ground, config, now)}

        assert wanted - live <= needs

    @given(grounds(), minute_specs(), st.integers(HORIZON, 2 * HORIZON).map(minute))
    def test_nothing_is_read_in_vain_but_the_rest_of_a_unit(
        self, ground: Ground, config: WindowSpec, now: datetime
    ) -> None:
        wanted = {number for number in range(HORIZON) if self.unsettled(number, ground, config, now)}
        wanted -= minutes_of(*ground.live)
        unit = max(1, UNIT_LENGTH[config.unit] // MINUTE)

        for number in minutes_of(*needs_reading(WINDOW, ground, config, now)):
            first = number // unit * unit
            assert wanted & set(range(first, first + unit))

    @given(minute_windows(), grounds(), minute_specs(), st.integers(HORIZON, 2 * HORIZON).map(minute))
    def test_needs_are_apart_in_order_and_within_the_window(
        self, window: Window, ground: Ground, config: WindowSpec, now: datetime
    ) -> None:
        needs = needs_reading(window, ground, config, now)

        assert minutes_of(*needs) <= minutes_of(window)
        assert needs == merge_windows(needs)

    @given(grounds(), minute_specs(), st.integers(HORIZON, 2 * HORIZON).map(minute))
    def test_planning_again_at_once_finds_nothing_more_to_do(
        self, ground: Ground, config: WindowSpec, now: datetime
    ) -> None:
        needs = needs_reading(WINDOW, ground, config, now)

        assert needs_reading(WINDOW, Ground(ground.coverage, [*ground.live, *needs]), config, now) == []


class TestSlices:
    """They tile the needs exactly, and are cut where everybody cuts."""

    @given(st.data(), units(), real_windows(), st.sampled_from(ZONES))
    def test_they_tile_any_window(self, data: st.DataObject, unit: TimeUnit, window: Window, zone: str) -> None:
        step = data.draw(steps(unit))
        slices = list(slice_time([window], step, zone))

        assert slices[0].start == window.start
        assert slices[-1].end == window.end
        assert [one.end for one in slices[:-1]] == [one.start for one in slices[1:]]

    @given(st.data(), units(), real_windows())
    def test_they_are_cut_at_multiples_of_the_step_only(
        self, data: st.DataObject, unit: TimeUnit, window: Window
    ) -> None:
        step = data.draw(steps(unit))
        slices = list(slice_time([window], step))

        assert all(floor_to(one.end, step) == one.end for one in slices[:-1])
        assert all(one.length <= step for one in slices)

    @given(st.data(), units(), real_windows(), st.sampled_from(ZONES))
    def test_they_are_cut_where_steps_begin_by_the_providers_clock_and_nowhere_else(
        self, data: st.DataObject, unit: TimeUnit, window: Window, zone: str
    ) -> None:
        step = data.draw(steps(unit))
        slices, grid = list(slice_time([window], step, zone)), Grid(step, zone)

        assert all(grid.floor(one.end) == one.end for one in slices[:-1])
        assert all(grid.after(one.start) >= one.end for one in slices)

    @given(window_lists(), st.integers(1, 20))
    def test_they_hold_exactly_the_needs(self, windows: list[Window], minutes: int) -> None:
        needs = merge_windows(windows)
        slices = list(slice_time(needs, timedelta(minutes=minutes)))

        assert sum(len(minutes_of(one)) for one in slices) == len(minutes_of(*slices)) == len(minutes_of(*needs))
        assert minutes_of(*slices) == minutes_of(*needs)

    @given(minute_windows(), minute_windows(), st.text(max_size=5), st.text(max_size=5))
    def test_their_keys_are_equal_exactly_when_they_mean_the_same(
        self, one: Window, other: Window, first: str, second: str
    ) -> None:
        assume(all(text.isprintable() for text in (first, second)))
        spec = crossref_spec()
        a, b = drafted(one, spec, first), drafted(other, spec, second)

        assert (a.signature_hash == b.signature_hash) == (one == other)
        assert (a.idempotent_key == b.idempotent_key) == ((one, first) == (other, second))


@given(recent_instants())
def test_an_audit_trail_spells_its_instants_the_one_way(now: datetime) -> None:
    decision = resolve_harvest(requests_without_bounds(), None, crossref_spec().time, now)

    assert decision.audit[0]["value"] == format_instant(now)
