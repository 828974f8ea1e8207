"""What a page says about its result: read where it can be meant, an error where it cannot, nothing where nothing is."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest_core.execution.statements import Statement, StatementInvalid
from tests.support.strategies import json_values

NOTHING: list[Any] = [None, "", " \n", [], [None], ["", None], {"#text": ""}, {"@a": "1", "#text": None}]
OBJECTS: list[Any] = [
    {},
    {"href": "x"},
    {"@id": "x"},
    {"#text": "7", "child": "7"},
    {"#text": {"a": 1}},
    {"#text": ["7"]},
]
LISTS: list[Any] = [["7", "8"], [["7"]], [{"href": "x"}], [{"#text": "7"}, {"#text": "7"}], ["7", {"#text": "7"}]]


def said(value: Any, *, xml: bool = False) -> Statement:
    return Statement("response.total", "$.a.b", value, xml)


def refusal(read: Any) -> StatementInvalid:
    with pytest.raises(StatementInvalid) as caught:
        read()
    return caught.value


class TestNextPlace:
    """A text or a number is a place; nothing is none; anything else is an error."""

    @pytest.mark.parametrize("value", NOTHING)
    def test_nothing_names_no_place(self, value: Any) -> None:
        assert said(value).next_place() is None

    @pytest.mark.parametrize(
        ("value", "place"),
        [
            ("abc", "abc"),
            (" abc ", "abc"),
            (17, "17"),
            (0, "0"),
            ("false", "false"),
            (["abc"], "abc"),
            (["abc", None, "abc"], "abc"),
            ({"@expires": "soon", "#text": "abc"}, "abc"),
            ([{"#text": "abc"}], "abc"),
        ],
    )
    def test_a_plain_value_is_a_place(self, value: Any, place: str) -> None:
        assert said(value).next_place() == place

    @pytest.mark.parametrize("value", [True, False, float("inf"), *OBJECTS, *LISTS], ids=str)
    def test_anything_else_is_an_error(self, value: Any) -> None:
        assert refusal(said(value).next_place).code == "NEXT_PLACE_INVALID"

    @pytest.mark.parametrize("value", [{"@completeListSize": "6"}, [{"@completeListSize": "6"}]])
    def test_an_xml_element_with_attributes_alone_names_none_and_a_json_object_is_an_error(self, value: Any) -> None:
        assert said(value, xml=True).next_place() is None
        assert refusal(said(value).next_place).code == "NEXT_PLACE_INVALID"

    @pytest.mark.parametrize("name", ["@href", "@xlink:href", "@URL", "@uri"])
    def test_a_link_in_an_attribute_is_a_place_that_the_path_misses(self, name: str) -> None:
        value = {"@rel": "next", name: "http://x/2"}

        assert refusal(said(value, xml=True).next_place).code == "NEXT_PLACE_INVALID"
        assert refusal(said([value], xml=True).next_place).code == "NEXT_PLACE_INVALID"

    @pytest.mark.parametrize("value", [[{"@rel": "self"}, {"@rel": "next"}], {"url": "x", "#text": "x"}], ids=str)
    def test_xml_elements_with_children_and_several_elements_are_errors(self, value: Any) -> None:
        assert refusal(said(value, xml=True).next_place).code == "NEXT_PLACE_INVALID"


class TestMoreFollows:
    """True, false, their words, or how many records remain."""

    @pytest.mark.parametrize("value", NOTHING)
    def test_nothing_says_neither(self, value: Any) -> None:
        assert said(value).more_follows() is None

    @pytest.mark.parametrize("value", [True, "true", "TRUE", " yes ", "y", "1", 1, 12, "12", [True], {"#text": "true"}])
    def test_yes(self, value: Any) -> None:
        assert said(value).more_follows() is True

    @pytest.mark.parametrize("value", [False, "false", "No", "n", "0", 0, 0.0, [False], {"@a": "", "#text": "false"}])
    def test_no(self, value: Any) -> None:
        assert said(value).more_follows() is False

    @pytest.mark.parametrize("value", ["perhaps", "null", -1, "-1", 0.5, *OBJECTS, *LISTS], ids=str)
    @pytest.mark.parametrize("xml", [True, False])
    def test_anything_else_is_an_error(self, value: Any, *, xml: bool) -> None:
        assert refusal(said(value, xml=xml).more_follows).code == "HAS_MORE_INVALID"


class TestTotal:
    """A whole number, also as text; below 0 the provider does not know."""

    @pytest.mark.parametrize("value", [*NOTHING, -1, "-1", -1.0])
    def test_nothing_states_none(self, value: Any) -> None:
        assert said(value).total() is None

    @pytest.mark.parametrize("value", [7, "7", " 7\n", "+7", "007", 7.0, "7.0", [7], ["7", "7"], {"#text": "7"}])
    def test_a_whole_number_is_the_total(self, value: Any) -> None:
        assert said(value).total() == 7

    @pytest.mark.parametrize(
        "value",
        [True, False, "1,234", "many", "1_000", "٧", "1e3", 7.5, float("inf"), 10**30, "9" * 5000, *OBJECTS, *LISTS],
        ids=lambda value: str(value)[:20],
    )
    @pytest.mark.parametrize("xml", [True, False])
    def test_anything_else_is_an_error(self, value: Any, *, xml: bool) -> None:
        assert refusal(said(value, xml=xml).total).code == "TOTAL_INVALID"

    def test_the_error_names_the_path_the_value_and_the_remedy(self) -> None:
        assert str(refusal(said({"value": 7, "relation": "eq"}).total)) == (
            'response.total $.a.b found {"value": 7, "relation": "eq"}, expected a whole number. '
            "Point the path at the number, or remove `response.total`."
        )

    def test_the_value_is_shown_short_and_without_addresses(self) -> None:
        message = str(refusal(said("jane@example.org " + "x" * 5000).total))

        assert "jane@" not in message
        assert len(message) < 300

    def test_a_value_without_end_is_shown_too(self) -> None:
        deep: list[Any] = []
        for _ in range(100_000):
            deep = [deep]

        assert "cannot be shown" in str(refusal(said({"a": deep}).total))


class TestStep:
    """How far the page moves the offset: forward, unless it is empty."""

    @pytest.mark.parametrize(("value", "records", "step"), [(None, 3, None), ("30", 30, 30), (2, 3, 2), (0, 0, 0)])
    def test_a_page_moves_on(self, value: Any, records: int, step: int | None) -> None:
        assert said(value).step(records) == step

    @pytest.mark.parametrize(("value", "records"), [(0, 3), (-1, 3), (-1, 0), ("x", 0), (True, 1), ({}, 0)])
    def test_a_step_that_is_none_or_goes_back_is_an_error(self, value: Any, records: int) -> None:
        assert refusal(lambda: said(value).step(records)).code == "STEP_INVALID"


def _says_nothing(value: Any) -> bool:
    """The law's own words for nothing: null, blank text, or a list of such."""
    values = value if isinstance(value, list) else [value]
    return all(one is None or (isinstance(one, str) and not one.strip()) for one in values)


def _below_zero(value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    return all(not isinstance(one, bool | list | dict) and float(one) < 0 for one in values if not _says_nothing(one))


@given(json_values() | st.lists(json_values(), max_size=2))
def test_no_json_value_is_read_as_nothing_but_nothing(value: Any) -> None:
    """Promise 7: what is read as the end of a list is an end, never a value of another type."""
    for read in (said(value).next_place, said(value).more_follows, said(value).total):
        try:
            found: Any = read()
        except StatementInvalid:
            continue
        unknown_total = read.__name__ == "total" and _below_zero(value)
        assert found is not None or _says_nothing(value) or unknown_total
