"""Hashes are for ever: watermarks, tasks and records are found by them.

The digests were computed with sha256sum over the canonical text written by hand, not by the code under test.
"""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest_core.model.canonical import canonical_json, hash_of
from ingest_core.model.codes import Operation
from ingest_core.model.expression import EVERYTHING
from ingest_core.registry.compile import compile_spec
from ingest_core.registry.query_text import parse_query
from ingest_core.registry.read import read_source
from ingest_core.registry.rows import rows_of
from ingest_core.shipped import shipped_sources
from tests.support.specs import NOW
from tests.support.strategies import instants, json_values

ROOT = Path(__file__).parents[2]
SHANGHAI = timezone(timedelta(hours=8))

GOLDEN: dict[str, tuple[tuple[Any, ...], str]] = {
    "nothing": ((), "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"),
    "null": ((None,), "1d8fc6ceb1f94c6326d6d5483d258fcb2e179e9869325b245d105c2219bf69fd"),
    "nested": (
        ({"a": {"z": {}, "b": [1, {"e": [], "c": "d"}]}},),
        "67552bb0586e425aa408361f7d159c5e21ec3df01bfad0a4c2ea245237e00d42",
    ),
    "unicode": (("学習 Über 🜁",), "0e16b4141d993d98f09cb60dc6c957aeac5f3ceebcfdac80f453b223c2c37baa"),
    "combining": (("e\u0301",), "32860394d411eb384be988968561412199087c5fd8be3004ef5516db217fb254"),
    "escapes": (('a\n\t"\\/\x00\x1f',), "ca7db997ee0e9499bd7572e7d0811d833ee1f75687ca6de04b514a6b0a38826f"),
    "a big number": (
        (123456789012345678901234567890,),
        "afc9650f996d1e21860004d4e08fc870c7d588a5b64d708a432432d42e7cc15c",
    ),
    "below 64 bits": ((-9223372036854775809,), "b07b5c1e73922b900e59408aa65b61f44f920867b7940fbaffadd9d878b1082e"),
    "one": ((1,), "080a9ed428559ef602668b4c00f114f1a11c3f6b02a435f0bdc154578e4d7f22"),
    "one as a fraction": ((1.0,), "c2272c0a862f11de35da66ec8be34349001ddebae43b85ab1dafb188f8ad7b30"),
    "fractions": (
        ([0.1, 1.0, 1e22, -0.0, 1.5e-7],),
        "8d56fb9e8a28c73eb6a1f9049509c67cc04e5f0a4bf40419b0e3daa848d13994",
    ),
    "an instant": (
        (datetime(2026, 3, 10, 12, 0, 0, 1, tzinfo=UTC),),
        "14c5af0ca76ae703257bac05b0635a715d990dda2f8abb6e7a55f4a803d9955b",
    ),
    "it in another zone": (
        (datetime(2026, 3, 10, 20, 0, 0, 1, tzinfo=SHANGHAI),),
        "14c5af0ca76ae703257bac05b0635a715d990dda2f8abb6e7a55f4a803d9955b",
    ),
    "a span": ((timedelta(hours=1),), "208013a39fbce2d240c234362e991b4f3d5d3359dcdf32e8433be7cab211068e"),
    "a span backwards": (
        (timedelta(seconds=-0.5),),
        "0a2831600f2e78bd2348705dcf0716a2211edd149aad156a239ef46681a8d1dd",
    ),
    "several parts": (
        ("crossref", "works", None, True, 3),
        "f78cb5bb7237c4d34e6bbd8d1695de0364976f202a05fa043c0ffecf72fd3cca",
    ),
}

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


IN_A_NEW_INTERPRETER = """
import json, sys
from tests.unit.test_hashing import all_hashes
json.dump(all_hashes(), sys.stdout)
"""


def all_hashes() -> dict[str, str]:
    """Every hash this test can think of: the golden ones, and the fingerprints of every shipped source."""
    found = {name: hash_of(*parts) for name, (parts, _) in GOLDEN.items()}
    for name, text in shipped_sources().items():
        rows = rows_of(read_source(text, name))
        source = rows["reg_provenance"][0]["provenance_code"]
        for row in rows["reg_prov_endpoint_def"]:
            for operation in row["operations"]:
                spec = compile_spec(rows, source, row["endpoint_name"], Operation(operation), NOW)
                found[f"{source} {row['endpoint_name']} {operation}"] = spec.fingerprint + spec.expr_proto_hash
    return found


@pytest.mark.parametrize("seed", ["1", "4711"])
def test_another_interpreter_finds_the_same_hashes(seed: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", IN_A_NEW_INTERPRETER]
    result = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)

    assert json.loads(result.stdout) == all_hashes()


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
