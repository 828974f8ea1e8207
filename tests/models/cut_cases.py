"""What cutting is tried on: zones, moments at which clocks are odd, steps, needs, sizes and estimators."""

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from hypothesis import strategies as st

from ingest_core.model.codes import TimeUnit
from ingest_core.model.id_range import IdRange
from ingest_core.model.instant import MICROSECOND, MILLISECOND, UNIT_LENGTH, Grid, unit_grid
from ingest_core.model.slice_codes import EstimateMethod
from ingest_core.model.spec import WindowSpec
from ingest_core.model.window import Window
from ingest_core.planning.estimate import Estimate, Estimator, History, StoredEstimates, WindowPart
from ingest_core.planning.needs import Need
from ingest_core.planning.sizing import Sizing
from ingest_core.planning.strategies.time_slices import TimeCutter
from tests.models.planning_model import Cluster, Stubborn, Truthful
from tests.support.specs import at, crossref_spec

ZONES = [
    "UTC",
    "America/New_York",
    "Asia/Kolkata",
    "Pacific/Apia",
    "Africa/Monrovia",
    "America/Sao_Paulo",
    "Australia/Lord_Howe",
]
CLOCKS = {
    "America/New_York": [at("2024-03-10T07:00Z"), at("2024-11-03T06:00Z")],  # forward, and back
    "Pacific/Apia": [at("2011-12-30T10:00Z"), at("2012-03-31T14:00Z")],  # a day left out, and an hour back
    "Africa/Monrovia": [at("1972-01-07T00:44:30Z")],  # forward by 44 minutes and 30 seconds
    "America/Sao_Paulo": [at("2018-11-04T03:00Z"), at("2019-02-17T02:00Z")],  # no midnight, and the hour before twice
    "Australia/Lord_Howe": [at("2024-04-06T15:00Z"), at("2024-10-05T15:30Z")],  # by half an hour
    "Asia/Kolkata": [at("1941-09-30T18:30Z"), at("1945-10-14T17:30Z")],  # in the war
}
"""When each zone's clocks were put forward or back."""

DATES = [at("1900-02-28T12:00Z"), at("2000-02-29T12:00Z"), at("2024-02-29T12:00Z"), at("2099-12-31T23:00Z")]
"""Leap days, and years that have none."""

KNOWN = tuple(method for method in EstimateMethod if method != EstimateMethod.CONSTANT)
SOMETIMES_KNOWN = tuple(EstimateMethod)


@cache
def moments(zone: str = "UTC") -> st.SearchStrategy[datetime]:
    """Any instant from 1900 to 2100, often near one at which the zone's clocks or the calendar are odd."""
    anywhere = st.datetimes(datetime(1900, 1, 1), datetime(2100, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001
    odd = st.sampled_from([*CLOCKS.get(zone, []), *DATES])
    away = st.one_of(st.integers(-7200, 7200), st.integers(-180_000, 180_000))
    return st.one_of(anywhere, st.builds(lambda moment, seconds: moment + timedelta(seconds=seconds), odd, away))


@st.composite
def grids(draw: st.DrawFn) -> tuple[Grid, datetime, datetime]:
    """Steps of a second to a week, round or not, in any zone, and two instants to try them on."""
    seconds = st.sampled_from([1, 60, 420, 2700, 3600, 4200, 5400, 7200, 21_600, 86_400, 172_800, 604_800])
    zone = draw(st.sampled_from(ZONES))
    return Grid(timedelta(seconds=draw(seconds)), zone), draw(moments(zone)), draw(moments(zone))


@st.composite
def configs(draw: st.DrawFn) -> WindowSpec:
    """How a source is cut: any unit, step, bounds and zone."""
    unit = draw(st.sampled_from(TimeUnit))
    seconds = max(1, int(UNIT_LENGTH[unit].total_seconds()))
    step = draw(st.integers(1, 24))
    most = draw(st.none() | st.integers(step, 5 * step))
    least = draw(st.none() | st.integers(1, max(1, (most or 2 * step) // 2)))
    return crossref_spec().time.model_copy(
        update={
            "unit": unit,
            "time_zone": draw(st.sampled_from(ZONES)),
            "step_seconds": step * seconds,
            "min_window_seconds": None if least is None else least * seconds,
            "max_window_seconds": None if most is None else most * seconds,
        }
    )


@cache
def id_ranges() -> st.SearchStrategy[tuple[IdRange, ...]]:
    """Ranges of ids apart from each other, the outermost often open."""

    def ranges(ends: list[int], low: bool, high: bool) -> tuple[IdRange, ...]:
        pairs = [(ends[n], ends[n + 1]) for n in range(0, len(ends) - 1, 2)]
        first, last = 0, len(pairs) - 1
        return tuple(
            IdRange("uid", None if low and n == first else start, None if high and n == last else end)
            for n, (start, end) in enumerate(pairs)
        )

    ends = st.lists(st.integers(0, 6000), min_size=2, max_size=6, unique=True).map(sorted)
    return st.builds(ranges, ends, st.booleans(), st.booleans())


@st.composite
def needs_of(draw: st.DrawFn, config: WindowSpec) -> list[Need]:
    """Some windows apart from each other, often of whole units, some of them with ranges of ids only."""
    grid = unit_grid(config.unit, config.time_zone)
    start = grid.floor(draw(moments(config.time_zone)))
    needs = []
    for _ in range(draw(st.integers(1, 3))):
        start = _later(grid, start, draw(st.integers(0, 5)))
        end = _later(grid, start, draw(st.integers(1, 60)))
        late = timedelta(0) if config.unit == TimeUnit.MILLISECOND else MILLISECOND
        window = Window(start + draw(st.sampled_from([late, 0 * late])), end + draw(st.sampled_from([late, 0 * late])))
        needs.append(Need(window, draw(st.just(()) | id_ranges())))
        start = grid.after(window.end)
    return needs


def _later(grid: Grid, start: datetime, units: int) -> datetime:
    for _ in range(units):
        start = grid.after(start)
    return start


@cache
def sizings() -> st.SearchStrategy[Sizing]:
    """Targets from small to large, with and without a cap and a second field."""
    return st.builds(
        lambda target, cap, field: Sizing(min(target, cap or target), cap, field, 5000),
        st.integers(1, 5000),
        st.none() | st.integers(1, 5000),
        st.none() | st.just("uid"),
    )


@st.composite
def clusters_in(draw: st.DrawFn, needs: list[Need]) -> list[Cluster]:
    """Records here and there in the needs, few or very many."""
    windows = st.sampled_from([need.window for need in needs])
    places = st.builds(
        lambda window, share, first, size: Cluster(window.start + share * (window.length - MICROSECOND), first, size),
        windows,
        st.floats(0, 1),
        st.none() | st.integers(0, 5500),
        st.sampled_from([1, 3, 40, 700, 4000]),
    )
    return draw(st.lists(places, max_size=8))


@st.composite
def estimators(draw: st.DrawFn, needs: list[Need]) -> Estimator:
    """The truth, nothing, too much of everything, or what was once said of the whole."""
    return draw(
        st.one_of(
            clusters_in(needs).map(Truthful),
            st.just(Stubborn(700, EstimateMethod.CONSTANT)),
            st.just(Stubborn(10**9, EstimateMethod.COUNT)),
            st.builds(_remembered, st.just(needs), st.integers(0, 20_000)),
        )
    )


def _remembered(needs: list[Need], records: int) -> StoredEstimates:
    known: dict[WindowPart, Estimate] = {
        (need.window, None): Estimate(records, EstimateMethod.COUNT) for need in needs[1:]
    }
    return StoredEstimates(700, known, History(records, needs[0].window.length))


Cut = tuple[TimeCutter, list[Need]]


@st.composite
def cuts(draw: st.DrawFn, *, counted: bool = False) -> Cut:
    """A cutter, and needs for it."""
    config = draw(configs())
    needs = draw(needs_of(config))
    estimator = Truthful(draw(clusters_in(needs))) if counted else draw(estimators(needs))
    return TimeCutter(config, draw(sizings()), estimator, draw(st.booleans())), needs


def cut_of(estimator: Estimator, window: Window, cap: int | None = None, **config: Any) -> Cut:
    """One window and the cutter of a source with these settings."""
    return TimeCutter(crossref_spec(window=config).time, Sizing(100, cap, None, 5000), estimator), [Need(window)]
