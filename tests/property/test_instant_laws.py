"""Laws of instants, canonical texts and checkpoints: what is written is read back."""

import json
from datetime import datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ingest_core.model.canonical import canonical_json, hash_of
from ingest_core.model.instant import ceil_to, floor_to, format_instant, from_micros, parse_instant, to_micros
from ingest_core.model.work import Checkpoint
from ingest_core.store.checkpoints import checkpoint_json, checkpoint_of
from tests.support.strategies import checkpoints, instants, json_values

STEPS = st.integers(1, 10**12).map(lambda micros: timedelta(microseconds=micros))


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
