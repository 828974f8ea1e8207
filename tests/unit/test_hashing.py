"""Hashes are for ever: watermarks, tasks and records are found by them.

The digests were computed with sha256sum over the canonical text written by hand, not by the code under test.
"""

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest_core.model.canonical import canonical_json, hash_of
from ingest_core.model.codes import Operation
from ingest_core.model.expression import EVERYTHING
from ingest_core.registry.query_text import parse_query
from ingest_core.registry.read import read_source
from ingest_core.registry.rows import rows_of
from ingest_core.shipped import shipped_sources
from tests.support.compiling import compile_spec
from tests.support.golden_hashes import GOLDEN
from tests.support.specs import NOW
from tests.support.strategies import instants, json_values

ROOT = Path(__file__).parents[2]
SHANGHAI = timezone(timedelta(hours=8))

GOLDEN_QUERIES = {
    "type:book": "4600f0d867c98932fe4a86608f87f5c0415ea93792ac3ca6243927f873ebcced",
    "heart AND failure": "cdd816bd027fb260f5c6c482a9aca76d865003cd0964626a2d2c0907428106f0",
    "failure heart": "cdd816bd027fb260f5c6c482a9aca76d865003cd0964626a2d2c0907428106f0",
    "published:[2020 TO 2021]": "f1cc72255d12643a0c689aa7dd7376d35b41f3ad8d2ca503351e85fa57a0df6e",
}
"""A watermark is found by these: another digest for the same query would begin it anew."""


@pytest.mark.parametrize("name", GOLDEN)
def test_a_value_has_the_hash_it_always_had(name: str) -> None:
    parts, digest = GOLDEN[name]

    assert hash_of(*parts) == digest


@pytest.mark.parametrize("query", GOLDEN_QUERIES)
def test_a_query_has_the_hash_it_always_had(query: str) -> None:
    assert hash_of(parse_query(query).json()) == GOLDEN_QUERIES[query]


def test_a_source_without_a_query_has_the_hash_of_everything() -> None:
    digest = "d4775dfc0061e750b20122198f52149a5be95fc76b4a4e1eb53f507d25221e56"
    rows = rows_of(read_source(shipped_sources()["crossref.yaml"], "crossref.yaml"))

    assert hash_of(EVERYTHING.json()) == digest
    assert compile_spec(rows, "crossref", "works", Operation.HARVEST, NOW).expr_proto_hash == digest


def reordered(value: Any, order: Any) -> Any:
    """The same value, its keys in another order."""
    if isinstance(value, dict):
        keys = list(value)
        order.shuffle(keys)
        return {key: reordered(value[key], order) for key in keys}
    return [reordered(one, order) for one in value] if isinstance(value, list) else value


@settings(deadline=None)
@given(json_values(), st.randoms(use_true_random=False))
def test_the_order_of_keys_leaves_no_trace(value: Any, order: Any) -> None:
    assert hash_of(reordered(value, order)) == hash_of(value)


@settings(deadline=None)
@given(json_values())
def test_storage_as_json_leaves_no_trace(value: Any) -> None:
    assert hash_of(json.loads(canonical_json(value))) == hash_of(value)
    assert hash_of(json.loads(json.dumps(value, indent=3))) == hash_of(value)


@settings(deadline=None)
@given(json_values(), json_values())
def test_other_values_have_other_hashes(one: Any, other: Any) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)

    assert (hash_of(one) == hash_of(other)) == same


@settings(deadline=None)
@given(instants(), st.integers(-14 * 60, 14 * 60))
def test_the_zone_of_an_instant_leaves_no_trace(instant: datetime, minutes: int) -> None:
    there = instant.astimezone(timezone(timedelta(minutes=minutes)))

    assert hash_of({"at": there}) == hash_of({"at": instant})
    assert hash_of({"at": instant + timedelta(microseconds=1)}) != hash_of({"at": instant})


@settings(deadline=None)
@given(st.timedeltas())
def test_a_span_is_its_microseconds(span: timedelta) -> None:
    assert hash_of(span) == hash_of(span.days * 86_400_000_000 + span.seconds * 1_000_000 + span.microseconds)
