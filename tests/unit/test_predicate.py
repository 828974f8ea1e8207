"""Recognising what an answer says besides its records: a path that is there, equals a value, or matches a pattern."""

from typing import Any

import pytest

from ingest_core.execution.predicate import first_that_holds, holds, words_of
from ingest_core.model.codes import ErrorLevel
from ingest_core.model.spec import PredicateSpec


def predicate(path: str = "$.error", **said: Any) -> PredicateSpec:
    """A predicate, on `$.error` unless another path is given."""
    return PredicateSpec(path=path, **said)


@pytest.mark.parametrize("error", ["x", 0, False, 1.5, ["x"], {"code": 1}, [None]], ids=repr)
def test_a_path_alone_asks_whether_something_is_there(error: Any) -> None:
    assert holds(predicate(), {"error": error})


@pytest.mark.parametrize(
    "document", [{"error": None}, {"error": ""}, {"error": []}, {"error": {}}, {}, [], None, "error"], ids=repr
)
def test_nothing_and_an_empty_thing_are_not_there(document: Any) -> None:
    assert not holds(predicate(), document)


@pytest.mark.parametrize(
    ("equals", "error", "expected"),
    [
        ("failed", "failed", True),
        ("failed", "Failed", False),
        ("failed", "failed again", False),
        ("failed", None, False),
        (0, 0, True),
        (0, 1, False),
        (0, None, False),
        (0, "0", False),
        (False, False, True),
        (False, None, False),
        (False, "", False),
        (2.5, 2.5, True),
    ],
    ids=repr,
)
def test_a_value_is_met_exactly(equals: Any, error: Any, *, expected: bool) -> None:
    assert holds(predicate(equals=equals), {"error": error}) is expected


@pytest.mark.parametrize(
    ("pattern", "error", "expected"),
    [
        ("limit", "rate limit exceeded", True),
        ("^limit", "rate limit exceeded", False),
        ("(?i)LIMIT", "rate limit exceeded", True),
        ("^4..$", 429, True),
        ("x", {"@code": "1", "#text": "xyz"}, True),
        (".", None, False),
        (".", "", False),
        ("^x", ["a", "x"], True),
        ("^x", ["a", {"b": "x"}], False),
        ("true", True, False),
    ],
    ids=repr,
)
def test_a_pattern_is_looked_for_in_the_text(pattern: str, error: Any, *, expected: bool) -> None:
    assert holds(predicate(matches=pattern), {"error": error}) is expected


def test_the_path_may_go_over_a_list() -> None:
    document = {"errors": [{"code": 1}, {"code": 2}]}

    assert holds(predicate("$.errors[*].code"), document)
    assert holds(predicate("$.errors[1].code", equals=2), document)
    assert holds(predicate("$.errors[?(@.kind=='x')]"), {"errors": [{"kind": "x"}]})
    assert not holds(predicate("$.errors[?(@.kind=='y')]"), {"errors": [{"kind": "x"}]})


def test_the_first_that_holds_is_the_one() -> None:
    busy, broken = predicate("$.busy", level=ErrorLevel.L1), predicate("$.broken", level=ErrorLevel.L4)

    assert first_that_holds([busy, broken], {"busy": 1, "broken": 1}) is busy
    assert first_that_holds([busy, broken], {"broken": 1}) is broken
    assert first_that_holds([busy, broken], {"fine": 1}) is None
    assert first_that_holds([], {"busy": 1}) is None


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"error": {"code": 7}, "text": "no more"}, "no more"),
        ({"error": "busy", "text": ""}, "busy"),
        ({"error": "busy"}, "busy"),
        ({"error": 7}, "7"),
        ({}, "$.error"),
    ],
    ids=repr,
)
def test_the_providers_words_are_the_messages_or_the_values(document: Any, words: str) -> None:
    assert words_of(predicate(message="$.text"), document) == words
