"""How a value is taken from a record: every kind of expression, every function, and what the compiler says of each."""

from typing import Any

import pytest

from ingest_core.registry.extraction import compile_raw, compile_value, paths_in, problems_of
from ingest_core.registry.values import FUNCTION_NAMES, find_function, plain, text_of

RECORD: dict[str, Any] = {
    "title": ["  One ", "Two"],
    "name": " Li ",
    "empty": "",
    "blank": "  ",
    "none": None,
    "number": 7,
    "ratio": 1.5,
    "yes": True,
    "list": [],
    "authors": [
        {"given": "Ann", "family": "Li", "ids": [{"kind": "orcid", "v": "1"}]},
        {"family": "Öz"},
        {"name": "The Group"},
        {"note": "nobody"},
    ],
    "nested": [["a", "b"], ["c"], []],
    "element": {"@lang": "en", "#text": " deep "},
    "wrapped": {"@n": "1", "inner": "core"},
    "object": {"a": 1, "b": 2},
}


def take(expression: Any, record: Any = RECORD) -> Any:
    """What the expression takes from the record."""
    return compile_value(expression)(record)


def test_each_element_gives_its_text_with_and_without_attributes() -> None:
    record = {"author": [{"@role": "first", "#text": "Ann"}, "Bo"]}

    assert take({"each": "$.author[*]", "name": "$['#text']"}, record) == [{"name": "Ann"}, {"name": "Bo"}]


class TestPaths:
    """A path alone: text, or a flat list of texts."""

    @pytest.mark.parametrize(
        ("path", "expected"),
        [
            ("$.name", "Li"),
            ("$.title", ["One", "Two"]),
            ("$.title[0]", "One"),
            ("$.title[9]", None),
            ("$.number", "7"),
            ("$.ratio", "1.5"),
            ("$.yes", None),
            ("$.empty", None),
            ("$.blank", None),
            ("$.none", None),
            ("$.list", None),
            ("$.nowhere", None),
            ("$.nowhere.deeper", None),
            ("$.name.deeper", None),
            ("$.name[0]", None),
            ("$.nested", ["a", "b", "c"]),
            ("$.element", "deep"),
            ("$.element['#text']", "deep"),
            ("$.name['#text']", "Li"),
            ("$.number['#text']", None),
            ("$.element.@lang", "en"),
            ("$.wrapped", None),
            ("$.object", None),
            ("$.authors[*].family", ["Li", "Öz"]),
            ("$.authors[?(@.family=='Öz')].family", ["Öz"]),
            ("$['name']", "Li"),
        ],
    )
    def test_what_is_found_is_text_or_texts(self, path: str, expected: Any) -> None:
        assert take(path) == expected

    @pytest.mark.parametrize("record", [None, [], "text", 7, True, [RECORD]], ids=repr)
    def test_a_record_of_another_shape_is_no_error(self, record: Any) -> None:
        assert take("$.name", record) is None
        assert take("$.title[0]", record) is None
        assert take("$.authors[*].family", record) is None

    def test_raw_leaves_what_was_found_as_it_was(self) -> None:
        assert compile_raw("$.title")(RECORD) == ["  One ", "Two"]
        assert compile_raw("$.number")(RECORD) == 7
        assert compile_raw("$.yes")(RECORD) is True
        assert compile_raw("$")({"a": 1}) == {"a": 1}
        assert compile_raw({"any": ["$.none", "$.number"]})(RECORD) == 7


class TestTrees:
    """Small trees over paths."""

    @pytest.mark.parametrize(
        ("expression", "expected"),
        [
            ({"path": "$.name"}, "Li"),
            ({"path": "$.name", "as": "upper"}, "LI"),
            ({"path": "$.title", "as": ["first", "lower"]}, "one"),
            ({"any": ["$.none", "$.empty", "$.list", "$.name", "$.number"]}, "Li"),
            ({"any": ["$.none", "$.nowhere"]}, None),
            ({"any": ["$.none", {"path": "$.name", "as": "lower"}]}, "li"),
            ({"any": ["$.none", {"value": "else"}]}, "else"),
            ({"any": ["$.title", "$.name"], "as": "first"}, "One"),
            ({"join": ["$.name", "$.number"]}, "Li 7"),
            ({"join": ["$.none", "$.name"]}, "Li"),
            ({"join": ["$.none", "$.empty"]}, None),
            ({"join": ["$.name", "$.number"], "with": "-"}, "Li-7"),
            ({"join": ["$.name", "$.number"], "as": "lower"}, "li 7"),
            ({"join": ["$.name", "$.title"]}, "Li One Two"),
            ({"all": ["$.name", "$.number"]}, "Li/7"),
            ({"all": ["$.name", "$.number"], "with": ":"}, "Li:7"),
            ({"all": ["$.name", "$.none"]}, None),
            ({"all": ["$.name", "$.blank"]}, None),
            ({"all": ["$.name", "$.title"]}, None),
            ({"collect": ["$.name", "$.title", "$.none", "$.name"]}, ["Li", "One", "Two"]),
            ({"collect": ["$.none"]}, None),
            ({"value": "always"}, "always"),
            ({"a": "$.name", "b": "$.none"}, {"a": "Li"}),
            ({"a": {"b": {"c": "$.name"}}}, {"a": {"b": {"c": "Li"}}}),
            ({"a": "$.none", "b": {"c": "$.none"}}, None),
        ],
        ids=str,
    )
    def test_each_kind_takes_its_value(self, expression: Any, expected: Any) -> None:
        assert take(expression) == expected

    def test_each_element_becomes_an_object_if_it_has_what_is_needed(self) -> None:
        expression = {
            "each": "$.authors",
            "need": "name",
            "name": {"any": [{"join": ["$.given", "$.family"]}, "$.name"]},
            "orcid": {"path": "$.ids[?(@.kind=='orcid')].v", "as": "first"},
        }

        assert take(expression) == [{"name": "Ann Li", "orcid": "1"}, {"name": "Öz"}, {"name": "The Group"}]

    def test_without_a_need_an_element_must_say_something(self) -> None:
        assert take({"each": "$.authors[*]", "family": "$.family"}) == [{"family": "Li"}, {"family": "Öz"}]

    @pytest.mark.parametrize("path", ["$.nowhere", "$.list", "$.none", "$.name"])
    def test_over_nothing_there_is_nothing(self, path: str) -> None:
        assert take({"each": path, "name": "$.name"}) is None

    def test_a_lone_element_is_a_list_of_one(self) -> None:
        assert take({"each": "$.object", "a": "$.a"}) == [{"a": "1"}]

    def test_lists_within_lists_are_gone_through(self) -> None:
        record = {"groups": [{"people": [{"n": "a"}, {"n": "b"}]}, {"people": [{"n": "c"}]}, {}]}

        assert take({"each": "$.groups[*].people[*]", "name": "$.n"}, record) == [{"name": n} for n in "abc"]

    def test_objects_can_be_collected(self) -> None:
        assert take({"collect": [{"each": "$.authors", "f": "$.family"}]}) == [{"f": "Li"}, {"f": "Öz"}]


class TestFunctions:
    """What may be done to a value."""

    @pytest.mark.parametrize(
        ("name", "value", "expected"),
        [
            ("text", " a ", "a"),
            ("text", [" a ", None, 1], ["a", "1"]),
            ("lower", "ÄB", "äb"),
            ("lower", ["A", "B"], ["a", "b"]),
            ("upper", "äb", "ÄB"),
            ("squash", "a \n\t b", "a b"),
            ("doi", "https://doi.org/10.1/AB", "10.1/ab"),
            ("doi", "http://dx.doi.org/10.1/AB", "10.1/ab"),
            ("doi", "doi: 10.1/AB", "10.1/ab"),
            ("doi", "DOI:10.1/AB", "10.1/ab"),
            ("doi", " 10.1/AB ", "10.1/ab"),
            ("doi", "https://doi.org/", None),
            ("doi", ["10.1/A", "doi:"], ["10.1/a"]),
            ("orcid", "https://orcid.org/0000-0002-1825-0097", "0000-0002-1825-0097"),
            ("orcid", "000000021825009x", "0000-0002-1825-009X"),
            ("orcid", "0000-0002-1825-0097/", "0000-0002-1825-0097"),
            ("orcid", "not one", None),
            ("date", "2020-01-05T00:00:00Z", "2020-01-05"),
            ("date", [[2020, 1]], "2020-01"),
            ("first", ["a", "b"], "a"),
            ("first", "a", "a"),
            ("first", [], None),
            ("unique", ["b", "a", "b"], ["b", "a"]),
            ("unique", "a", "a"),
            ("list", "a", ["a"]),
            ("list", ["a"], ["a"]),
            ("list", None, None),
            ("words", {"world": [1], "hello": [0, 2]}, "hello world hello"),
            ("words", {}, None),
            ("words", "text", None),
            ("split:;", "a; b ;;c", ["a", "b", "c"]),
            ("split:;", " ; ", None),
            ("split:, ", "a, b", ["a", "b"]),
            ("join:; ", ["a", "b"], "a; b"),
            ("join:", ["a", "b"], "ab"),
            ("join:; ", "a", "a"),
            (r"match:\d+", "vol 12, no 3", "12"),
            (r"match:no (\d+)", "vol 12, no 3", "3"),
            (r"match:x(\d)?", "x", None),
            (r"match:\d+", "none", None),
            (r"match:\d+", ["a1", "b", "c22"], ["1", "22"]),
            (r"match:a:b", "xa:by", "a:b"),
        ],
    )
    def test_each_function_does_its_work(self, name: str, value: Any, expected: Any) -> None:
        assert find_function(name)(value) == expected

    @pytest.mark.parametrize(
        "name", [one for one in FUNCTION_NAMES if ":" not in one] + ["split:;", "join:;", "match:."]
    )
    @pytest.mark.parametrize("value", [None, "", "  ", [], [None], {}, True, [[]]], ids=repr)
    def test_of_nothing_there_is_nothing(self, name: str, value: Any) -> None:
        assert find_function(name)(value) is None

    def test_the_table_names_every_function(self) -> None:
        (mark,) = (mark for mark in self.test_each_function_does_its_work.pytestmark if mark.name == "parametrize")
        tried = {name.partition(":")[0] for name, _, _ in mark.args[1]}

        assert tried == {name.partition(":")[0] for name in FUNCTION_NAMES}

    @pytest.mark.parametrize("name", ["nowhere", "split", "join", "match", "doi:x", "", "__class__", "eval:1"])
    def test_another_name_is_none(self, name: str) -> None:
        with pytest.raises(KeyError):
            find_function(name)

    def test_positions_that_are_no_numbers_are_left_out(self) -> None:
        assert find_function("words")({"a": [0], "b": ["x"], "c": [None], "d": [1]}) == "a d"


class TestText:
    """One text of anything that has one."""

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (" a ", "a"),
            ("", None),
            (0, "0"),
            (-1.5, "-1.5"),
            (True, None),
            (None, None),
            ([], None),
            (["a"], None),
            ({}, None),
            ({"#text": " a "}, "a"),
            ({"#text": "a", "b": "c"}, "a"),
            ({"@x": "1"}, None),
            ({"@x": "1", "b": "c"}, None),
            ({"b": {"c": "d"}}, None),
            ({"b": "c", "d": "e"}, None),
        ],
        ids=repr,
    )
    def test_a_scalar_or_an_element_has_one(self, value: Any, expected: str | None) -> None:
        assert text_of(value) == expected

    def test_lists_are_flat_and_without_holes(self) -> None:
        assert plain([" a", [None, ["b"]], {}, {"#text": "c"}, True]) == ["a", "b", "c"]
        assert plain([[], [None]]) is None


class TestWhatIsWrongWithAnExpression:
    """The compiler names the place."""

    @pytest.mark.parametrize(
        ("expression", "place"),
        [
            ("title", "m"),
            ("$.[[", "m"),
            ("", "m"),
            (7, "m"),
            (None, "m"),
            ([], "m"),
            ({}, "m"),
            ({"path": "title"}, "m"),
            ({"path": "$.a", "with": " "}, "m.with"),
            ({"path": "$.a", "as": "nowhere"}, "m.as"),
            ({"path": "$.a", "as": ["lower", "nowhere"]}, "m.as"),
            ({"path": "$.a", "as": "match:("}, "m.as"),
            ({"any": []}, "m.any"),
            ({"any": "$.a"}, "m.any"),
            ({"any": ["$.a", "b"]}, "m.any.1"),
            ({"join": ["$.a"], "of": 1}, "m.of"),
            ({"all": ["$.a", {"any": ["x"]}]}, "m.all.1.any.0"),
            ({"collect": [7]}, "m.collect.0"),
            ({"value": "x", "as": "lower"}, "m.as"),
            ({"each": "a", "n": "$.n"}, "m.each"),
            ({"each": "$.a", "need": "name", "n": "$.n"}, "m.need"),
            ({"each": "$.a", "n": "x"}, "m.n"),
            ({"a": "$.a", "b": {"c": "x"}}, "m.b.c"),
        ],
        ids=str,
    )
    def test_it_is_named_with_its_place(self, expression: Any, place: str) -> None:
        assert [problem.partition(": ")[0] for problem in problems_of(expression, "m")] == [place]

    @pytest.mark.parametrize(
        "expression",
        [
            "$.a",
            {"path": "$.a", "as": ["first", "doi"]},
            {"any": ["$.a", {"value": 1}], "as": "split:;"},
            {"join": ["$.a"], "with": ""},
            {"each": "$.a[*]", "need": "n", "n": "$.n"},
            {"a": {"collect": ["$.a", "$.b"]}},
        ],
        ids=str,
    )
    def test_what_is_right_is_not_named(self, expression: Any) -> None:
        assert list(problems_of(expression, "m")) == []

    @pytest.mark.parametrize(
        "expression",
        [
            {"path": {"any": ["$.a"]}},
            {"each": {"any": ["$.a"]}, "n": "$.n"},
            {"path": "$.a", "as": None},
            {"path": "$.a", "as": [1]},
            {"path": "$.a", "as": []},
            {"path": "$.a", "as": "split:"},
            {"each": "$.a", "as": "$.b"},
        ],
        ids=str,
    )
    def test_what_would_fail_on_every_record_is_named(self, expression: Any) -> None:
        assert list(problems_of(expression, "m"))

    def test_every_path_of_an_expression_is_known(self) -> None:
        expression = {
            "each": "$.a[*]",
            "need": "n",
            "n": {"any": ["$.b", {"path": "$.c", "as": "match:$.x"}, {"value": "$.no"}], "as": "first"},
            "o": {"join": ["$.d"], "with": "$.e"},
        }

        assert list(paths_in(expression)) == ["$.a[*]", "$.b", "$.c", "$.d"]
        assert list(paths_in(["$.a", None, 7, {"x": "$.b"}])) == ["$.a", "$.b"]
