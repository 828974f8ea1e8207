"""Laws of needs: however readings are kept, nothing is forgotten; of a window read in part, the rest is needed."""

from datetime import datetime, timedelta

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ingest_core.cursor.frontier import whole_coverage
from ingest_core.model.codes import TimeUnit
from ingest_core.model.cursor import Coverage
from ingest_core.model.id_range import IdRange, missing_ranges, unset_part
from ingest_core.model.spec import WindowSpec
from ingest_core.model.window import Window, merge_windows
from ingest_core.planning.needs import Ground, Need, needs_by_range, needs_reading, survey
from tests.models.planning_model import boxes_of_needs, ground_of
from tests.support.specs import at, crossref_spec

MINUTE = timedelta(minutes=1)
ORIGIN = at("2026-03-10T00:00Z")
HORIZON = 24
IDS = 6
UNSET = -1
"""Small models: minutes from the origin, ids from 0; the first and the last stand for all below and above."""

Cell = tuple[int, int]


def minute(number: int) -> datetime:
    return ORIGIN + number * MINUTE


WINDOW = Window(minute(0), minute(HORIZON))


@st.composite
def windows(draw: st.DrawFn) -> Window:
    """Some minutes."""
    start = draw(st.integers(0, HORIZON - 1))
    return Window(minute(start), minute(draw(st.integers(start + 1, HORIZON))))


@st.composite
def ranges(draw: st.DrawFn) -> IdRange:
    """Some ids; those at the ends reach on without end."""
    low = draw(st.integers(0, IDS - 1))
    high = draw(st.integers(low, IDS - 1))
    numbers = IdRange("uid", low or None, None if high == IDS - 1 else high)
    return draw(st.sampled_from([numbers, numbers.apart()[0], unset_part("uid")]))


def readings(places: st.SearchStrategy[Window]) -> st.SearchStrategy[list[Coverage]]:
    """What was read and when, as a store tells it: in order of where windows end."""
    moments = st.integers(0, 3 * HORIZON).map(minute)
    events = st.lists(st.builds(Coverage, places, moments, st.none() | ranges()), max_size=8)
    return events.map(lambda found: sorted(found, key=lambda event: event.window.end))


@st.composite
def configs(draw: st.DrawFn) -> WindowSpec:
    """Settings on whole minutes, with the finest unit."""
    settings = {
        "unit": TimeUnit.MILLISECOND,
        "lag_seconds": 60 * draw(st.integers(0, 10)),
        "lookback_seconds": 60 * draw(st.integers(0, 20)),
        "recheck_seconds": 60 * draw(st.integers(0, 10)),
    }
    return crossref_spec().time.model_copy(update=settings)


LIVE = st.lists(windows(), max_size=3).map(sorted)
NOW = st.integers(HORIZON, 3 * HORIZON).map(minute)


def ids_of(part: IdRange | None) -> list[int]:
    """The ids of the small model in a range; UNSET stands for the records without one."""
    if part is None:
        return [*range(IDS), UNSET]
    if part.is_unset:
        return [UNSET]
    unset = [UNSET] if part.answers_for_unset else []
    return [*range(part.start or 0, IDS if part.end is None else part.end + 1), *unset]


def cells(window: Window, part: IdRange | None = None) -> set[Cell]:
    """Each minute with each id."""
    minutes = range((window.start - ORIGIN) // MINUTE, (window.end - ORIGIN) // MINUTE)
    return {(number, one) for number in minutes for one in ids_of(part)}


def wanted(events: list[Coverage], live: list[Window], config: WindowSpec, now: datetime, *, once: bool) -> set[Cell]:
    """D6, minute by minute and id by id: not settled, not in a live task, not read within the last recheck.

    A reading says nothing of what came after it.
    """
    left = cells(WINDOW)
    for event in events:
        for number, one in cells(event.window, event.range):
            settled = event.as_of >= minute(number + 1) + config.lag + config.lookback
            just_read = now - event.as_of < timedelta(seconds=config.recheck_seconds)
            read = event.as_of >= minute(number + 1)  # what came after it was asked for is not in a reading
            if read and (settled or just_read or once):
                left.discard((number, one))
    return left - {cell for window in live for cell in cells(window)}


def found(events: list[Coverage], live: list[Window], config: WindowSpec, now: datetime, *, once: bool) -> list[Need]:
    """What the planner finds."""
    ground = survey(iter(events), iter(live), config)
    return needs_by_range(needs_reading(WINDOW, ground, config, now, once=once), ground, config, now, once=once)


@given(readings(windows()), LIVE, configs(), NOW, st.booleans())
@settings(max_examples=300)
def test_nothing_that_has_to_be_read_is_forgotten(
    events: list[Coverage], live: list[Window], config: WindowSpec, now: datetime, once: bool
) -> None:
    needs = found(events, live, config, now, once=once)
    needed = {cell for window, part in boxes_of_needs(needs) for cell in cells(window, part)}

    assert wanted(events, live, config, now, once=once) <= needed
    assert not needed & {cell for window in live for cell in cells(window)}


NESTED = [
    Coverage(Window(minute(low), minute(high)), minute(60), IdRange("uid", 1, 1))
    for low, high in ((5, 8), (0, 10), (9, 12))
]


@given(readings(windows()), LIVE, configs(), NOW, st.booleans())
@example(NESTED, [], crossref_spec().time, minute(60), True)
def test_nothing_is_needed_twice(
    events: list[Coverage], live: list[Window], config: WindowSpec, now: datetime, once: bool
) -> None:
    ground_of(boxes_of_needs(found(events, live, config, now, once=once)))


@given(readings(windows()), LIVE, configs(), NOW, st.booleans())
@settings(max_examples=300)
def test_condensing_never_changes_what_needs_reading(
    events: list[Coverage], live: list[Window], config: WindowSpec, now: datetime, once: bool
) -> None:
    condensed = survey(iter(events), iter(live), config)
    as_it_was = Ground(list(whole_coverage(events)), live)

    assert needs_reading(WINDOW, condensed, config, now, once=once) == needs_reading(
        WINDOW, as_it_was, config, now, once=once
    )


@given(st.integers(1, 400), configs())
def test_settled_ground_is_one_whatever_the_number_of_its_readings(count: int, config: WindowSpec) -> None:
    settled = minute(count) + config.lag + config.lookback
    events = (Coverage(Window(minute(n), minute(n + 1)), settled) for n in range(count))
    live = (Window(minute(n), minute(n + 1)) for n in range(count))
    ground = survey(events, live, config)

    assert [event.window for event in ground.coverage] == ground.live == [Window(minute(0), minute(count))]


@given(st.data(), configs(), st.booleans())
def test_of_a_window_that_was_read_in_part_exactly_the_missing_ranges_are_needed(
    data: st.DataObject, config: WindowSpec, once: bool
) -> None:
    edges = sorted(data.draw(st.sets(st.integers(0, IDS - 2), max_size=IDS - 1)))
    lows, highs = [None, *(edge + 1 for edge in edges)], [*edges, None]
    parts = [IdRange("uid", low, high) for low, high in zip(lows, highs, strict=True)]
    if data.draw(st.booleans()):
        parts = [*filter(None, parts[0].apart()), *parts[1:]]
    read = [part for part in parts if data.draw(st.booleans())]
    place, settled = data.draw(windows()), minute(HORIZON) + config.lag + config.lookback
    as_of = minute(HORIZON) if once else settled
    needs = found([Coverage(place, as_of, part) for part in read], [], config, settled + 99 * MINUTE, once=once)
    here = [need for need in needs if need.window == place] if read else [Need(place)]

    assert {one for need in here for part in need.ranges or (None,) for one in ids_of(part)} == {
        one for part in parts if part not in read for one in ids_of(part)
    }
    if read:
        elsewhere = [(need.window.start, need.window.end) for need in needs if need.window != place]
        assert elsewhere == [(w.start, w.end) for w in merge_windows([n.window for n in needs if n.window != place])]


@given(st.lists(ranges(), max_size=5))
def test_missing_ranges_are_the_ids_in_none_of_those_taken(taken: list[IdRange]) -> None:
    missing = missing_ranges("uid", taken)
    ids = [one for part in missing for one in ids_of(part)]

    assert sorted(ids) == sorted({*range(IDS), UNSET} - {one for part in taken for one in ids_of(part)})
    assert missing_ranges("uid", [*taken, *missing]) == []
