"""Plain paths find what jsonpath-ng finds, faster; the others are left to it."""

import json
from typing import Any

import pytest
from jsonpath_ng.ext import parser as jsonpath

from ingest_core.registry.paths import compile_path, leaf_names, plain_steps

DOCUMENT: dict[str, Any] = {
    "DOI": "10.1/A",
    "title": ["One", "Two"],
    "indexed": {"date-time": "2026-03-10T00:00:00Z", "_v": 1},
    "author": [{"family": "Li", "given": None}, {"given": "B"}, {"family": "Öz", "affiliation": [{"name": "X"}]}],
    "issued": {"date-parts": [[2026, 3, 10]]},
    "a key": {"with.dots": 5},
    "empty": {"list": [], "text": "", "object": {}, "null": None, "zero": 0, "no": False},
}

ONE_VALUE = [
    "$",
    "$.DOI",
    "$.title[0]",
    "$.title[1]",
    "$.indexed.date-time",
    "$.indexed._v",
    "$.issued.date-parts[0]",
    "$.issued.date-parts[0][2]",
    "$.author[2].affiliation[0].name",
    "$['DOI']",
    "$['a key']['with.dots']",
    "$.indexed['date-time']",
    "$.empty.list",
    "$.empty.text",
    "$.empty.object",
    "$.empty.zero",
    "$.empty.no",
]
NOWHERE = [
    "$.nothing",
    "$.DOI.deeper",
    "$.title.name",
    "$.title[2]",
    "$.empty.list[0]",
    "$.indexed[0]",
    "$.DOI[0]",
    "$.author.family",
    "$.empty.null",
    "$.empty.null.deeper",
]
MANY = [
    "$.title[*]",
    "$.author[*].family",
    "$.author[*].affiliation[*].name",
    "$.author[*].affiliation[0].name",
    "$.issued.date-parts[*]",
    "$.issued.date-parts[*][0]",
    "$.empty.list[*]",
    "$.nothing[*].deeper",
    "$.DOI[*]",
]


def found_by_jsonpath(path: str, document: Any = DOCUMENT) -> list[Any]:
    """What the reference finds."""
    return [match.value for match in jsonpath.parse(path).find(document)]


def is_plain(path: str) -> bool:
    return plain_steps(path) is not None


@pytest.mark.parametrize("path", ONE_VALUE)
def test_a_plain_path_finds_the_value_jsonpath_finds(path: str) -> None:
    assert is_plain(path)
    assert [compile_path(path)(DOCUMENT)] == found_by_jsonpath(path)


@pytest.mark.parametrize("path", NOWHERE)
def test_a_plain_path_that_leads_nowhere_finds_nothing(path: str) -> None:
    assert is_plain(path)
    assert compile_path(path)(DOCUMENT) is None
    assert found_by_jsonpath(path) in ([], [None])


@pytest.mark.parametrize("path", MANY)
def test_a_path_over_all_finds_the_list_jsonpath_finds(path: str) -> None:
    assert is_plain(path)
    found = [value for value in found_by_jsonpath(path) if value is not None]
    many = compile_path(path)(DOCUMENT) or []
    flat = [one for some in many for one in some] if path.count("[*]") == 2 else many

    assert flat == found


def test_a_path_over_all_goes_over_an_object_as_jsonpath_does() -> None:
    assert compile_path("$.indexed[*]")(DOCUMENT) == found_by_jsonpath("$.indexed[*]")


@pytest.mark.parametrize("document", [None, 5, "text", [], [{"DOI": 1}], True], ids=json.dumps)
def test_a_document_of_another_shape_is_no_error(document: Any) -> None:
    assert compile_path("$.DOI")(document) is None
    assert compile_path("$.author[*].family")(document) in (None, [])


@pytest.mark.parametrize(
    "path",
    ["DOI", "$..family", "$.author[-1]", "$.author[0:2]", "$.author[?(@.family!='Li')].given", "$.*"],
)
def test_a_path_that_says_more_is_left_to_jsonpath(path: str) -> None:
    assert not is_plain(path)
    found = compile_path(path)(DOCUMENT)

    assert found in (found_by_jsonpath(path), found_by_jsonpath(path)[0])


def test_double_quotes_do_as_well() -> None:
    assert compile_path('$["a key"]["with.dots"]')(DOCUMENT) == 5


def test_a_jsonpath_that_finds_nothing_is_none() -> None:
    assert compile_path("$..nowhere")(DOCUMENT) is None


def test_a_path_over_all_is_a_list_also_where_there_is_one_or_none() -> None:
    assert compile_path("$.items[*]")({"items": [{"id": 1}]}) == [{"id": 1}]
    assert compile_path("$.items[*]")({"items": []}) == []


@pytest.mark.parametrize("items", [[], [{"id": 1}]], ids=["none", "one"])
def test_a_path_over_all_is_a_list_for_jsonpath_too(items: list[Any]) -> None:
    assert compile_path('$["items"][*]')({"items": items}) == items


TOKENS = [
    ("$.list.token['#text']", "abc"),
    ('$.list.token["#text"]', "abc"),
    ("$.lists[0].token['#text']", "abc"),
    ("$.lists[*].token['#text']", ["abc"]),
    ("$..only['#text']", "abc"),
]


@pytest.mark.parametrize(("path", "found"), TOKENS)
@pytest.mark.parametrize("token", ["abc", {"@expires": "soon", "#text": "abc"}], ids=["text", "attributes"])
def test_the_text_of_an_element_is_found_with_and_without_attributes(path: str, found: Any, token: Any) -> None:
    document = {"list": {"token": token}, "lists": [{"token": token}, {"token": {"@size": "6"}}], "a": {"only": token}}

    assert compile_path(path)(document) == found


@pytest.mark.parametrize("value", [None, 5, True, [], ["abc"], {}, {"@size": "6"}], ids=json.dumps)
@pytest.mark.parametrize("path", ["$.token['#text']", "$..token['#text']"])
def test_what_has_no_text_gives_none(path: str, value: Any) -> None:
    assert compile_path(path)({"token": value}) is None


def test_a_text_has_no_steps_but_its_text() -> None:
    assert compile_path("$['#text']")("abc") == "abc"
    assert compile_path("$['#text'].a")("abc") is None
    assert compile_path("$['#text'][0]")("abc") is None


def test_a_path_to_the_text_of_an_element_asks_for_the_elements_whole_text() -> None:
    assert leaf_names("$.record.title['#text']") == leaf_names("$.record.title") == {"title"}
