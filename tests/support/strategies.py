"""What the laws are tried on: instants, windows, grounds, settings, pages, JSON.

A strategy that others draw from again and again is made once: making it takes longer than drawing.
"""

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from hypothesis import strategies as st

from ingest_core.model.checkpoint import Checkpoint
from ingest_core.model.codes import TimeUnit, WindowMode
from ingest_core.model.cursor import Coverage, CursorState
from ingest_core.model.id_range import IdRange, unset_part
from ingest_core.model.instant import MILLISECOND, UNIT_LENGTH, floor_to, format_instant
from ingest_core.model.record import Record
from ingest_core.model.slice_codes import CalendarUnit
from ingest_core.model.spec import RateSpec, WindowSpec
from ingest_core.model.window import Window
from ingest_core.planning.needs import Ground
from ingest_core.planning.request import PlanRequest
from tests.support.specs import at, crossref_spec

ORIGIN = at("2026-03-10")
MINUTE = timedelta(minutes=1)
HORIZON = 60
"""Small models count minutes from the origin up to here."""

ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"]
"""Where providers' days begin; New York puts its clock forward two days before the origin."""

CLOCK_CHANGES = [
    ("Europe/Berlin", "2026-03-29T01:00Z"),
    ("Europe/Berlin", "2026-10-25T01:00Z"),
    ("America/New_York", "2026-03-08T07:00Z"),
    ("America/New_York", "2026-11-01T06:00Z"),
    ("America/Sao_Paulo", "2018-11-04T03:00Z"),
    ("Australia/Lord_Howe", "2026-10-03T15:30Z"),
    ("Asia/Kathmandu", "1985-12-31T18:30Z"),
    ("America/St_Johns", "1988-10-30T01:31Z"),
    ("Pacific/Apia", "2011-12-30T10:00Z"),
]
"""When clocks were or will be changed: by one or two hours, by half or a quarter of one, over midnight, by a day."""


def minute(number: int) -> datetime:
    """The instant that many minutes after the origin."""
    return ORIGIN + number * MINUTE


def minute_window(start: int, end: int) -> Window:
    """The window between two minutes."""
    return Window(minute(start), minute(end))


def minutes_of(*windows: Window) -> set[int]:
    """The minutes in any of the windows: the brute-force model of a set of windows."""
    return {
        number
        for window in windows
        for number in range((window.start - ORIGIN) // MINUTE, (window.end - ORIGIN) // MINUTE)
    }


@st.composite
def minute_windows(draw: st.DrawFn, low: int = 0, high: int = HORIZON) -> Window:
    """A window of whole minutes."""
    start = draw(st.integers(low, high - 1))
    return minute_window(start, draw(st.integers(start + 1, high)))


@cache
def window_lists(max_size: int = 8) -> st.SearchStrategy[list[Window]]:
    """Some windows of whole minutes, overlapping, touching or apart."""
    return st.lists(minute_windows(), max_size=max_size)


LAST_NUMBER = 12
"""Small models count ids from below nought up to beyond here."""


UNSET = -2
"""Stands for the records without the field in small models of ids."""


def numbers_of(*parts: IdRange) -> set[int]:
    """The numbers in any of the ranges, with one below and one above all ends: the model of a set of ranges."""
    unset = {UNSET for part in parts if part.answers_for_unset}
    return unset | {
        number
        for part in parts
        if not part.is_unset
        for number in range(
            -1 if part.start is None else part.start, LAST_NUMBER + 2 if part.end is None else part.end + 1
        )
    }


@st.composite
def id_ranges(draw: st.DrawFn) -> IdRange:
    """A range of small numbers, either end open or not, with or without records that lack a number, or only those."""
    if draw(st.integers(0, 5)) == 0:
        return unset_part("uid")
    one, other = draw(st.integers(0, LAST_NUMBER)), draw(st.integers(0, LAST_NUMBER))
    low, high = draw(st.sampled_from([None, min(one, other)])), draw(st.sampled_from([None, max(one, other)]))
    return draw(st.sampled_from([IdRange("uid", low, high), IdRange("uid", low, high).apart()[0]]))


def instants() -> st.SearchStrategy[datetime]:
    """Any instant with microseconds in years of four digits."""
    return st.datetimes(datetime(1000, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001


@cache
def recent_instants() -> st.SearchStrategy[datetime]:
    """An instant within some days of the origin, often on a round hour."""
    micros = st.integers(-5 * 86_400_000_000, 5 * 86_400_000_000).map(lambda n: ORIGIN + timedelta(microseconds=n))
    hours = st.integers(-5 * 24, 5 * 24).map(lambda n: ORIGIN + timedelta(hours=n))
    return st.one_of(hours, micros)


@cache
def whole_milliseconds() -> st.SearchStrategy[datetime]:
    """A recent instant as window ends, anchors and watermarks are: whole milliseconds."""
    return recent_instants().map(lambda instant: floor_to(instant, MILLISECOND))


@st.composite
def real_windows(draw: st.DrawFn) -> Window:
    """A window of up to some days with ends on any millisecond."""
    one, other = draw(st.lists(whole_milliseconds(), min_size=2, max_size=2, unique=True))
    return Window(min(one, other), max(one, other))


@st.composite
def zoned_instants(draw: st.DrawFn) -> tuple[str, datetime]:
    """A zone, and an instant within some days of a change of its clocks."""
    zone, changed_at = draw(st.sampled_from(CLOCK_CHANGES))
    micros = st.integers(-3 * 86_400_000_000, 3 * 86_400_000_000) | st.integers(-180, 180).map(lambda n: n * 60_000_000)
    return zone, at(changed_at) + timedelta(microseconds=draw(micros))


def units() -> st.SearchStrategy[TimeUnit]:
    """A provider's time unit."""
    return st.sampled_from(TimeUnit)


@st.composite
def window_specs(draw: st.DrawFn, unit: TimeUnit | None = None) -> WindowSpec:
    """Any settings of a window."""
    align_to = draw(st.sampled_from([None, *CalendarUnit]))
    return crossref_spec(
        window={
            "mode": WindowMode.SLIDING if align_to is None else draw(st.sampled_from(WindowMode)),
            "align_to": align_to,
            "unit": unit or draw(units()),
            "time_zone": draw(st.sampled_from(ZONES)),
            "lag_seconds": draw(st.integers(0, 86_400)),
            "lookback_seconds": draw(st.integers(0, 2 * 86_400)),
            "recheck_seconds": draw(st.integers(0, 86_400)),
            "window_size_seconds": draw(st.integers(1, 3 * 86_400)),
            "baseline": draw(st.none() | whole_milliseconds().map(format_instant)),
        }
    ).time


@st.composite
def minute_specs(draw: st.DrawFn) -> WindowSpec:
    """Settings whose arithmetic stays on whole minutes, small enough for a model of an hour."""
    return crossref_spec(
        window={
            "unit": draw(st.sampled_from([TimeUnit.SECOND, TimeUnit.MINUTE, TimeUnit.HOUR])),
            "lag_seconds": 60 * draw(st.integers(0, 15)),
            "lookback_seconds": 60 * draw(st.integers(0, 30)),
            "recheck_seconds": 60 * draw(st.integers(0, 20)),
        }
    ).time


@st.composite
def grounds(draw: st.DrawFn) -> Ground:
    """What was read of the hour after the origin and when, and what live tasks hold."""
    readings = st.builds(Coverage, minute_windows(), st.integers(0, 2 * HORIZON).map(minute))
    return Ground(draw(st.lists(readings, max_size=5)), draw(window_lists(max_size=3)))


@st.composite
def cursors(draw: st.DrawFn) -> CursorState:
    """A watermark at or above its anchor."""
    one, other = draw(whole_milliseconds()), draw(whole_milliseconds())
    return CursorState(max(one, other), min(one, other))


@st.composite
def requests_for(draw: st.DrawFn, cursor: CursorState | None) -> PlanRequest:
    """A request a harvest with this cursor would not refuse."""
    user_from = draw(st.none() | recent_instants())
    if cursor and user_from:
        user_from = max(user_from, cursor.anchor)
    user_to = draw(st.none() | recent_instants())
    if cursor and user_to:
        user_to = max(user_to, cursor.anchor)
    if user_from and user_to and user_from >= user_to:
        user_to = user_from + timedelta(microseconds=1)
    return PlanRequest("crossref", user_from=user_from, user_to=user_to)


@st.composite
def steps(draw: st.DrawFn, unit: TimeUnit) -> timedelta:
    """A slice's step: a multiple of the unit, some hours long, so that a window has not too many."""
    length = max(UNIT_LENGTH[unit], timedelta(hours=1))
    return length * draw(st.integers(1, 30))


def rates() -> st.SearchStrategy[RateSpec]:
    """How fast a provider may be asked."""
    per_second = st.sampled_from([0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 50.0])
    return st.builds(RateSpec, requests_per_second=per_second, burst=st.integers(1, 5))


def json_values(max_leaves: int = 12) -> st.SearchStrategy[Any]:
    """Anything JSON can say."""
    text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    return st.recursive(
        st.none() | st.booleans() | numbers | text,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
        max_leaves=max_leaves,
    )


def records() -> st.SearchStrategy[Record]:
    """Versions of few records at few times, so that ids, times and versions meet."""
    return st.builds(
        lambda number, time, content, version: Record(
            f"id-{number}", minute(time), "{}", f"hash-{content}", {}, version
        ),
        st.integers(0, 3),
        st.integers(0, 4),
        st.integers(0, 2),
        st.sampled_from([None, "1", "2", "10"]),
    )


def pages() -> st.SearchStrategy[list[Record]]:
    """The usable records of a page."""
    return st.lists(records(), max_size=8)


def checkpoints() -> st.SearchStrategy[Checkpoint]:
    """How far a slice may have been read."""
    return st.builds(
        Checkpoint,
        page_no=st.integers(0, 10**6),
        token=st.none() | st.text(max_size=30),
        token_at=st.none() | instants(),
        as_of=st.none() | instants(),
        ended=st.booleans(),
        restarts=st.integers(0, 9),
        shortfall=st.none() | st.integers(0, 10**6),
        total=st.none() | st.integers(0, 10**9),
        rewinds=st.integers(0, 99),
    )
