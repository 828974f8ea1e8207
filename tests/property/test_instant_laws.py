"""Laws of instants, canonical texts and checkpoints: what is written is read back."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from ingest_core.model.canonical import canonical_json, hash_of
from ingest_core.model.checkpoint import Checkpoint
from ingest_core.model.instant import (
    CALENDAR_LENGTH,
    EPOCH,
    MICROSECOND,
    Grid,
    ceil_to,
    floor_to,
    floor_to_calendar,
    format_instant,
    from_micros,
    parse_instant,
    to_micros,
)
from ingest_core.model.slice_codes import CalendarUnit
from ingest_core.store.ledger.checkpoints import checkpoint_json, checkpoint_of
from tests.support.strategies import checkpoints, instants, json_values, zoned_instants

STEPS = st.integers(1, 10**12).map(lambda micros: timedelta(microseconds=micros))
CLOCK_STEPS = st.sampled_from([1, 10, 45, 50, 60, 90, 120, 180, 360, 720, 1440, 2880, 10_080]).map(
    lambda minutes: timedelta(minutes=minutes)
)


@given(instants())
def test_an_instant_is_read_back_as_it_was_written(instant: datetime) -> None:
    assert parse_instant(format_instant(instant)) == instant
    assert from_micros(to_micros(instant)) == instant


@given(instants(), instants())
def test_texts_of_instants_sort_as_the_instants_do(one: datetime, other: datetime) -> None:
    assert (format_instant(one) < format_instant(other)) == (one < other)


@given(instants(), st.integers(-14 * 60, 14 * 60))
def test_the_zone_an_instant_is_told_in_does_not_matter(instant: datetime, offset_minutes: int) -> None:
    sign, away = ("-" if offset_minutes < 0 else "+"), abs(offset_minutes)
    local = (instant + timedelta(minutes=offset_minutes)).replace(tzinfo=None).isoformat()

    assert parse_instant(f"{local}{sign}{away // 60:02}:{away % 60:02}") == instant


@given(instants(), STEPS)
def test_floor_and_ceiling_enclose_an_instant_within_one_step(instant: datetime, step: timedelta) -> None:
    floor, ceiling = floor_to(instant, step), ceil_to(instant, step)

    assert floor <= instant <= ceiling
    assert ceiling - floor in (timedelta(0), step)
    assert (to_micros(floor) % (step // timedelta(microseconds=1))) == 0
    assert floor_to(floor, step) == floor == ceil_to(floor, step)


@given(zoned_instants(), CLOCK_STEPS)
def test_the_steps_of_a_providers_clock_enclose_an_instant_whatever_is_done_to_the_clock(
    told: tuple[str, datetime], step: timedelta
) -> None:
    zone, instant = told
    grid = Grid(step, zone)
    floor, after = grid.floor(instant), grid.after(instant)

    assert floor <= instant < after
    assert grid.floor(floor) == floor == grid.ceil(floor) == grid.floor(after - MICROSECOND)
    assert grid.floor(after) == after == grid.ceil(after) == grid.after(floor)
    assert grid.ceil(instant) == (instant if instant == floor else after)


@given(zoned_instants(), CLOCK_STEPS)
def test_by_the_providers_clock_a_step_begins_at_a_multiple_of_it_unless_the_clock_skips_it(
    told: tuple[str, datetime], step: timedelta
) -> None:
    zone, instant = told
    shown = Grid(step, zone).floor(instant).astimezone(ZoneInfo(zone))
    past = (shown.replace(tzinfo=UTC) - EPOCH) % step
    skipped = shown.utcoffset() != (shown - past).utcoffset()

    assert past == timedelta(0) or skipped


@given(instants(), STEPS)
def test_a_clock_of_utc_is_the_plain_floor_and_ceiling(instant: datetime, step: timedelta) -> None:
    assert (Grid(step).floor(instant), Grid(step).ceil(instant)) == (floor_to(instant, step), ceil_to(instant, step))
    assert Grid(step).after(instant) == floor_to(instant, step) + step


@given(instants(), st.sampled_from(CalendarUnit))
def test_a_calendar_unit_encloses_an_instant_and_its_start_is_its_own(instant: datetime, unit: CalendarUnit) -> None:
    floor = floor_to_calendar(instant, unit)
    longest = timedelta(days=31) if unit == CalendarUnit.MONTH else CALENDAR_LENGTH[unit]

    assert timedelta(0) <= instant - floor < longest
    assert floor_to_calendar(floor, unit) == floor
    assert unit != CalendarUnit.WEEK or floor.weekday() == 0
    assert unit != CalendarUnit.MONTH or (floor.day, floor.month, floor.year) == (1, instant.month, instant.year)


@given(instants(), instants(), st.sampled_from(CalendarUnit))
def test_a_later_instant_is_in_no_earlier_calendar_unit(one: datetime, other: datetime, unit: CalendarUnit) -> None:
    assert floor_to_calendar(min(one, other), unit) <= floor_to_calendar(max(one, other), unit)


def _shuffled(value: Any) -> Any:
    """The same value with every object's keys in the other order."""
    if isinstance(value, dict):
        return {key: _shuffled(one) for key, one in reversed(value.items())}
    return [_shuffled(one) for one in value] if isinstance(value, list) else value


@given(json_values())
def test_the_order_of_keys_does_not_matter(value: Any) -> None:
    assert canonical_json(_shuffled(value)) == canonical_json(value)
    assert hash_of(_shuffled(value)) == hash_of(value)


@given(json_values())
def test_a_canonical_text_is_json_for_the_same_value_and_stays_the_same(value: Any) -> None:
    text = canonical_json(value)

    assert json.loads(text) == value
    assert canonical_json(json.loads(text)) == text


@given(st.lists(json_values(max_leaves=4), max_size=3), st.lists(json_values(max_leaves=4), max_size=3))
def test_hashes_are_equal_when_the_texts_are(one: list[Any], other: list[Any]) -> None:
    assert (hash_of(*one) == hash_of(*other)) == (canonical_json(one) == canonical_json(other))


@given(checkpoints())
def test_a_checkpoint_survives_storage(checkpoint: Checkpoint) -> None:
    assert checkpoint_of(json.loads(json.dumps(checkpoint_json(checkpoint)))) == checkpoint


def test_a_checkpoint_of_an_older_version_is_still_read() -> None:
    stored = checkpoint_json(Checkpoint(page_no=3, token="t"))
    del stored["ended"]

    assert checkpoint_of(stored) == Checkpoint(page_no=3, token="t")


def test_no_checkpoint_is_the_start_of_the_slice() -> None:
    assert checkpoint_of(None) == checkpoint_of({}) == Checkpoint()
