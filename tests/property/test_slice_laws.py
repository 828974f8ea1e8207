"""Laws of cutting: in any zone, step, unit and year, slices tile exactly what needs reading."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice, pairwise
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from ingest_core.execution.request import bounds_to_ask
from ingest_core.model.codes import TimeUnit
from ingest_core.model.id_range import IdRange
from ingest_core.model.instant import MICROSECOND, Grid, unit_grid
from ingest_core.model.namespace import harvest_namespace
from ingest_core.model.slice_codes import EstimateMethod
from ingest_core.model.spec import SpecSnapshot, WindowSpec
from ingest_core.model.window import Window
from ingest_core.planning.estimate import Estimate, ProbingEstimator, StoredEstimates
from ingest_core.planning.needs import Need
from ingest_core.planning.sizing import Sizing
from ingest_core.planning.slicing import Drafter
from ingest_core.planning.strategies.strategy import Piece
from ingest_core.planning.strategies.time_slices import TimeCutter
from ingest_core.registry.render import TimeText
from tests.models.cut_cases import (
    KNOWN,
    SOMETIMES_KNOWN,
    ZONES,
    Cut,
    cut_of,
    cuts,
    grids,
    moments,
)
from tests.models.planning_model import (
    Cluster,
    Moody,
    Stubborn,
    Truthful,
    boxes_of_needs,
    boxes_of_pieces,
    ground_of,
)
from tests.support.specs import at, crossref_spec, pubmed_spec, span


class TestGrids:
    """A grid is a row of instants: each other instant lies between two of them."""

    @given(grids())
    @settings(max_examples=400)
    def test_an_instant_lies_between_its_floor_and_the_next(self, case: tuple[Grid, datetime, datetime]) -> None:
        grid, moment, _ = case
        floor, after = grid.floor(moment), grid.after(moment)

        assert floor <= moment < after
        assert grid.floor(floor) == floor == grid.ceil(floor)
        assert grid.floor(after) == after == grid.ceil(after)
        assert grid.ceil(moment) == (moment if moment == floor else after)

    @given(grids())
    @settings(max_examples=400)
    def test_between_a_floor_and_the_next_there_is_none(self, case: tuple[Grid, datetime, datetime]) -> None:
        grid, moment, _ = case
        floor, after = grid.floor(moment), grid.after(moment)

        assert grid.floor(after - MICROSECOND) == floor
        assert grid.after(floor) == after

    @given(grids())
    @settings(max_examples=400)
    def test_a_later_instant_has_no_earlier_floor(self, case: tuple[Grid, datetime, datetime]) -> None:
        grid, *both = case
        early, late = sorted(both)

        assert grid.floor(early) <= grid.floor(late)
        assert grid.after(early) <= grid.after(late)

    @given(st.sampled_from(ZONES).flatmap(lambda zone: st.tuples(st.just(zone), moments(zone))))
    def test_a_day_begins_where_the_providers_date_changes(self, case: tuple[str, datetime]) -> None:
        zone, moment = case
        floor, date = unit_grid(TimeUnit.DAY, zone).floor(moment), moment.astimezone(ZoneInfo(zone)).date()

        assert floor.astimezone(ZoneInfo(zone)).date() == date
        assert (floor - MICROSECOND).astimezone(ZoneInfo(zone)).date() != date


class TestSlicesTile:
    """Nothing is left out, nothing is in two slices."""

    @given(cuts())
    def test_pieces_are_exactly_what_needs_reading(self, cut: Cut) -> None:
        cutter, needs = cut
        pieces = list(cutter.pieces(needs))

        assert ground_of(boxes_of_pieces(pieces)) == ground_of(boxes_of_needs(needs))

    @given(cuts())
    def test_pieces_come_in_order(self, cut: Cut) -> None:
        cutter, needs = cut
        starts = [piece.window.start for piece in cutter.pieces(needs)]

        assert starts == sorted(starts, reverse=cutter.newest_first)

    @given(cuts(), st.integers(), st.integers())
    def test_estimates_never_change_what_is_read(self, cut: Cut, one: int, other: int) -> None:
        cutter, needs = cut
        in_time = replace(cutter, sizing=replace(cutter.sizing, split_field=None))
        grounds = [
            ground_of(boxes_of_pieces(replace(in_time, estimator=Moody(seed, SOMETIMES_KNOWN)).pieces(whole(needs))))
            for seed in (one, other)
        ]

        assert grounds[0] == grounds[1] == ground_of(boxes_of_needs(whole(needs)))

    @given(cuts())
    def test_planning_twice_gives_the_same_keys(self, cut: Cut) -> None:
        cutter, needs = cut
        spec = crossref_spec()
        drafters = [Drafter(spec, harvest_namespace(spec), "t", "TIME", 600, 3) for _ in range(2)]
        one, other = ([drafter.draft(piece) for piece in cutter.pieces(needs)] for drafter in drafters)

        assert [draft.signature_hash for draft in one] == [draft.signature_hash for draft in other]
        assert [draft.idempotent_key for draft in one] == [draft.idempotent_key for draft in other]
        assert len({draft.signature_hash for draft in one}) == len({draft.idempotent_key for draft in one}) == len(one)


HUGE = Stubborn(10**9, EstimateMethod.COUNT)
NEW_YORK_DAYS: dict[str, Any] = {"unit": "DAY", "step_seconds": 86_400, "time_zone": "America/New_York"}
WITHIN_HOURS = cut_of(HUGE, span("00:30", "02:30"), step_seconds=3600, max_window_seconds=3600)
A_DAY_OF_23_HOURS = cut_of(
    Truthful([Cluster(at("2024-03-10T12:00Z"), 0, 120), Cluster(at("2024-03-11T12:00Z"), 0, 120)]),
    span("2024-03-10T05:00Z", "2024-03-12T04:00Z"),
    cap=200,
    **NEW_YORK_DAYS,
)
A_DAY_OF_25_HOURS = cut_of(
    Stubborn(1, EstimateMethod.COUNT),
    span("2024-11-03T04:00Z", "2024-11-05T05:00Z"),
    max_window_seconds=86_400,
    **NEW_YORK_DAYS,
)


FORMATS = {
    TimeUnit.DAY: "%Y-%m-%d",
    TimeUnit.HOUR: "%Y-%m-%dT%H",
    TimeUnit.MINUTE: "%Y-%m-%dT%H:%M",
    TimeUnit.SECOND: "%Y-%m-%dT%H:%M:%S",
}
AN_HOUR_SHOWN_TWICE = cut_of(
    Stubborn(700, EstimateMethod.CONSTANT),
    span("2024-11-03T04:00Z", "2024-11-03T07:00Z"),
    step_seconds=3600,
    time_zone="America/New_York",
)


class TestAsking:
    """The provider is asked for all that a slice owns, as its own clocks write it."""

    @given(cuts(), st.booleans(), st.none() | st.sampled_from(TimeUnit), st.integers(0, 10**6))
    @example(AN_HOUR_SHOWN_TWICE, False, None, 10**6)
    def test_every_instant_of_a_slice_is_within_the_bounds_asked_for(
        self, cut: Cut, upper_inclusive: bool, stored: TimeUnit | None, share: int
    ) -> None:
        cutter, needs = cut
        assume(cutter.config.unit in FORMATS)
        said = {"upper_inclusive": upper_inclusive, "stored_precision": stored}
        config = cutter.config.model_copy(update=said)
        times = TimeText(FORMATS[config.unit], config.time_zone)
        for piece in cutter.pieces(needs):
            low, high = (times.write(bound) or "" for bound in bounds_to_ask(piece.window, config))
            moment = times.write(piece.window.start + share * (piece.window.length - MICROSECOND) / 10**6) or ""
            assert low <= moment
            assert moment <= high if upper_inclusive else moment < high

    def test_for_a_day_of_25_hours_no_other_is_asked_for(self) -> None:
        window = {**NEW_YORK_DAYS, "upper_inclusive": True, "stored_precision": "DAY"}
        bounds = bounds_to_ask(span("2024-11-03T04:00Z", "2024-11-04T05:00Z"), crossref_spec(window=window).time)

        assert [TimeText("%m/%d", "America/New_York").write(bound) for bound in bounds] == ["11/03", "11/03"]


class TestSizes:
    """Not too long, not too big, not too many."""

    @given(cuts())
    @example(WITHIN_HOURS)
    def test_no_piece_is_longer_than_max_window_by_our_clock_or_the_providers(self, cut: Cut) -> None:
        check_lengths(*cut)

    @given(cuts())
    @example(A_DAY_OF_25_HOURS)
    def test_cuts_lie_where_units_begin_in_any_zone(self, cut: Cut) -> None:
        check_edges(*cut)

    def test_a_day_that_is_longer_than_max_window_is_one_piece(self) -> None:
        cutter, needs = A_DAY_OF_25_HOURS

        assert [piece.window for piece in cutter.pieces(needs)] == [
            span("2024-11-03T04:00Z", "2024-11-04T05:00Z"),
            span("2024-11-04T05:00Z", "2024-11-05T05:00Z"),
        ]

    @given(cuts(counted=True))
    @example(A_DAY_OF_23_HOURS)
    def test_what_is_counted_fits_in_any_zone(self, cut: Cut) -> None:
        check_sizes(*cut)

    @given(cuts())
    def test_no_two_neighbours_are_tiny_together(self, cut: Cut) -> None:
        cutter, needs = cut
        most = timedelta(seconds=cutter.config.max_window_seconds or 32 * cutter.config.step_seconds)
        for need in whole(needs):
            for one, other in pairwise(cutter.pieces([need])):
                ends = (min(one.window.start, other.window.start), max(one.window.end, other.window.end))
                tiny = one.estimate.records + other.estimate.records <= cutter.sizing.target // 4
                both_known = one.estimate.known and other.estimate.known
                in_ranges = one.range or other.range
                assert not (tiny and both_known and not in_ranges and ends[1] - ends[0] <= most)

    @given(cuts(counted=True))
    def test_no_two_neighbouring_ranges_fit_together(self, cut: Cut) -> None:
        cutter, needs = cut
        for one, other in pairwise(cutter.pieces(whole(needs))):
            if one.range and other.range and one.window == other.window and not other.range.is_unset:
                assert not cutter.sizing.fits(one.estimate.records + other.estimate.records)


class TestCuttingEnds:
    """Whatever is said of sizes."""

    @given(cuts(), st.sampled_from(KNOWN))
    def test_bisecting_ends_also_where_everything_is_said_to_be_huge(self, cut: Cut, method: EstimateMethod) -> None:
        cutter, needs = cut
        stubborn, in_time = Stubborn(10**9, method), Sizing(10, 10, None, 5000)
        pieces = list(replace(cutter, estimator=stubborn, sizing=in_time).pieces(whole(needs)))
        units = sum(len(unit_edges(need.window, cutter.config)) + 1 for need in needs)

        assert len(pieces) <= units
        assert stubborn.calls <= len(needs) + 2 * units

    @given(cuts(), st.integers(1, 2**40))
    def test_counts_that_are_always_huge_split_a_unit_only_where_its_ids_begin(self, cut: Cut, split_max: int) -> None:
        cutter, needs = cut
        stubborn, by_id = Stubborn(10**9, EstimateMethod.COUNT), Sizing(10, 10, "uid", split_max)
        pieces = list(replace(cutter, estimator=stubborn, sizing=by_id).pieces(whole(needs)))
        units = sum(len(unit_edges(need.window, cutter.config)) + 1 for need in needs)

        assert len(pieces) <= units * (split_max.bit_length() + 2)

    def test_samples_that_are_always_huge_do_not_split_a_unit_into_single_ids(self) -> None:
        sizing = Sizing(100, 1000, "uid", 2**31)
        cutter = TimeCutter(crossref_spec().time, sizing, Stubborn(10**6, EstimateMethod.FIRST_PAGE))

        assert len(list(islice(cutter.pieces([Need(span("00:00", "01:00"))]), 20_001))) <= 20_000

    @given(cuts(), st.integers(0, 30), st.sampled_from([EstimateMethod.COUNT, EstimateMethod.FIRST_PAGE]))
    def test_a_provider_is_asked_no_more_often_than_the_budget_allows(
        self, cut: Cut, budget: int, method: EstimateMethod
    ) -> None:
        cutter, needs = cut
        probe = Boaster(Stubborn(50_000, method))
        prober = ProbingEstimator(pubmed_spec(), StoredEstimates(700), probe, budget)
        sizing = Sizing(1000, None, "uid", 2**31)
        pieces = list(replace(cutter, estimator=prober, sizing=sizing).pieces(whole(needs)))

        assert probe.says.calls <= budget
        assert ground_of(boxes_of_pieces(pieces)) == ground_of(boxes_of_needs(whole(needs)))


@dataclass(frozen=True)
class Boaster:
    """A Probe that says the same of everything."""

    says: Stubborn

    def ask(self, _spec: SpecSnapshot, window: Window, part: IdRange | None = None) -> Estimate:
        return self.says.estimate(window, part)


def whole(needs: list[Need]) -> list[Need]:
    """The same windows with all their ids."""
    return [Need(need.window) for need in needs]


def check_edges(cutter: TimeCutter, needs: list[Need]) -> None:
    """Every end of a piece that is no end of a need is where a unit begins."""
    grid = unit_grid(cutter.config.unit, cutter.config.time_zone)
    ends = {end for need in needs for end in (need.window.start, need.window.end)}
    edges = {end for piece in cutter.pieces(needs) for end in (piece.window.start, piece.window.end)}
    assert all(grid.floor(edge) == edge for edge in edges - ends)


def check_lengths(cutter: TimeCutter, needs: list[Need]) -> None:
    """No piece is longer than max_window, by our clock or by the provider's."""
    most = cutter.config.max_window_seconds
    assume(most)
    for piece in cutter.pieces(whole(needs)):
        by_clock = clock(piece.window.end, cutter.config) - clock(piece.window.start, cutter.config)
        assert min(piece.window.length, by_clock) <= timedelta(seconds=most or 0)


def check_sizes(cutter: TimeCutter, needs: list[Need]) -> None:
    """A piece that does not fit can be cut neither in time nor by ids."""
    sizing, truth = cutter.sizing, cutter.estimator
    assert isinstance(truth, Truthful)
    for piece in cutter.pieces(needs):
        records = truth.count(piece.window, piece.range)
        fits = records <= min(1.2 * sizing.target, sizing.cap or records)
        assert fits or not (can_cut_time(piece, cutter.config) or can_cut_ids(piece, sizing))


def clock(moment: datetime, config: WindowSpec) -> datetime:
    """What the provider's clock shows."""
    return moment.astimezone(ZoneInfo(config.time_zone)).replace(tzinfo=None)


def unit_edges(window: Window, config: WindowSpec) -> list[datetime]:
    """Where units begin within the window."""
    grid = unit_grid(config.unit, config.time_zone)
    edges, edge = [], grid.after(window.start)
    while edge < window.end:
        edges.append(edge)
        edge = grid.after(edge)
    return edges


def can_cut_time(piece: Piece, config: WindowSpec) -> bool:
    """Whether a unit begins within, with at least min_window on both sides."""
    least, window = timedelta(seconds=config.min_window_seconds or 0), piece.window
    edges = unit_edges(window, config)
    return not piece.range and any(least <= edge - window.start and least <= window.end - edge for edge in edges)


def can_cut_ids(piece: Piece, sizing: Sizing) -> bool:
    """Whether its ids can be told apart by the second field."""
    if piece.range is None:
        return sizing.split_field is not None
    if piece.range.is_unset:
        return False
    high = sizing.split_max if piece.range.end is None else piece.range.end
    return (piece.range.start or 0) < high
