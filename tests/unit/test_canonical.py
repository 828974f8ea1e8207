"""Equal meanings have equal hashes: golden vectors, computed once by hand with sha256sum."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from ingest_core.model.canonical import canonical_json, hash_of, hash_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": 2}, '{"a":2,"b":1}'),
        ({"b": {"z": 1, "y": [2, {"d": 1, "c": 2}]}}, '{"b":{"y":[2,{"c":2,"d":1}],"z":1}}'),
        ([3, 1, 2], "[3,1,2]"),
        ({"title": "Über die 学習"}, '{"title":"Über die 学習"}'),
        ('a\n"b"', '"a\\n\\"b\\""'),
        ([1, 1.0, 1.5, -0.0, 10**30], "[1,1.0,1.5,-0.0,1000000000000000000000000000000]"),
        ([None, True, False, "", {}, []], '[null,true,false,"",{},[]]'),
        (datetime(2026, 3, 10, 12, 0, 0, 1, tzinfo=UTC), '"2026-03-10T12:00:00.000001Z"'),
        (datetime(2026, 3, 10, 20, tzinfo=timezone(timedelta(hours=8))), '"2026-03-10T12:00:00.000000Z"'),
        (timedelta(seconds=1, microseconds=1), "1000001"),
    ],
)
def test_a_value_has_one_text(value: Any, text: str) -> None:
    assert canonical_json(value) == text


@pytest.mark.parametrize(
    ("parts", "digest"),
    [
        ((), "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"),
        (({"b": 1, "a": 2},), "82c9656ed6aa58d0ca5d00081451bfd33f9edd2a45f27c647781c8783759541d"),
        (({"a": 2, "b": 1},), "82c9656ed6aa58d0ca5d00081451bfd33f9edd2a45f27c647781c8783759541d"),
        (("学習", "é"), "4c66f9a46624c432a41ea128616aa267c07b196729ba1c5bad0dd649bcc20c23"),
        (
            (datetime(2026, 3, 10, 12, 0, 0, 1, tzinfo=UTC),),
            "14c5af0ca76ae703257bac05b0635a715d990dda2f8abb6e7a55f4a803d9955b",
        ),
        (("works", None, 3), "9e2679796b601c58126e2761948eb0c2731ae7b7d4fb4e1a9a019f65cae1f29d"),
    ],
)
def test_hashes_stay_what_they_were(parts: tuple[Any, ...], digest: str) -> None:
    assert hash_of(*parts) == digest


def test_a_text_is_hashed_as_utf_8() -> None:
    assert hash_text("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert hash_text("é") == "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ab", "c"), ("a", "bc")),
        (("a", None), ("a",)),
        ((1,), ("1",)),
        ((["a", "b"],), ("a", "b")),
        (("\u00e9",), ("e\u0301",)),
        ((1,), (1.0,)),
    ],
    ids=["where parts end", "a missing part", "number or text", "nesting", "no unicode normalising", "as given"],
)
def test_other_meanings_have_other_hashes(one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    assert hash_of(*one) != hash_of(*other)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_json_cannot_say_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"x": value})


def test_a_type_without_a_canonical_form_is_named() -> None:
    with pytest.raises(TypeError, match="set has no canonical form"):
        canonical_json({1, 2})
