"""Templates have no code: literal text, named values, white-listed functions."""

import re
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest_core.model.template import FUNCTIONS, Placeholder, TemplateError, parse_template, percent_encode

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


def render(template: str, separator: str = ",", **values: Any) -> str | None:
    """The template filled."""
    return parse_template(template).render(values, separator)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("", ""),
        ("plain: 100 % [text] $x \\", "plain: 100 % [text] $x \\"),
        ("{a}", "1"),
        ("{a}{b}", "12"),
        ("from:{a},to:{b}", "from:1,to:2"),
        ("{a}-{a}", "1-1"),
        ("{{a}}", "{a}"),
        ("{{{a}}}", "{1}"),
        ("{{}}", "{}"),
        ('{{"q": "{word}"}}', '{"q": "Heart  Failure"}'),
        ("{word|lower}", "heart  failure"),
        ("{word|squash|upper}", "HEART FAILURE"),
        ("{word|upper|lower}", "heart  failure"),
    ],
)
def test_text_values_and_functions(template: str, text: str) -> None:
    assert render(template, a=1, b="2", word="Heart  Failure") == text


def test_functions_are_applied_from_left_to_right() -> None:
    assert render("{a|phrase|url}", a="x y") == "%22x%20y%22"
    assert render("{a|url|phrase}", a="x y") == '"x%20y"'


def test_of_several_values_each_goes_through_the_functions() -> None:
    assert render("{ids|upper}", ids=["a", "b"]) == "A,B"
    assert render("({ids|phrase})", " OR ", ids=("a b", 'c"d')) == '("a b" OR "c d")'
    assert render("{ids}", ids=[]) == ""


def test_a_value_that_is_not_there_leaves_the_whole_text_out() -> None:
    assert render("mailto:{contact}", contact=None) is None
    assert render("mailto:{contact}") is None
    assert render("{a}{b}", a="1") is None
    assert render("{a}", a="") == ""
    assert render("{a}", a=0) == "0"


def test_it_says_what_it_needs() -> None:
    assert parse_template("{a} {b|lower} {a|url} {{c}}").names == {"a", "b"}
    assert parse_template("nothing").names == frozenset()


def test_a_value_is_never_a_template() -> None:
    assert render("{a}", a="{b} {{c}} {d|url}", b="no") == "{b} {{c}} {d|url}"


class TestValue:
    """In a body, a slot that stands alone is its value, of whatever type."""

    @pytest.mark.parametrize("value", [5, ["a", "b"], {"k": 1}, True, None])
    def test_alone_it_is_the_value(self, value: Any) -> None:
        assert parse_template("{a}").value({"a": value}) == value

    def test_with_a_function_or_text_it_is_text(self) -> None:
        assert parse_template("{a|upper}").value({"a": "x"}) == "X"
        assert parse_template("n={a}").value({"a": 5}) == "n=5"
        assert parse_template("n={a}").value({"a": None}) is None


class TestErrors:
    """What a template may not say is named with its column."""

    @pytest.mark.parametrize(
        ("template", "column"),
        [
            ("{", 1),
            ("}", 1),
            ("a {b", 3),
            ("a b}", 4),
            ("{}", 1),
            ("{0}", 1),
            ("{A}", 1),
            ("{a b}", 1),
            ("{a.b}", 1),
            ("{a[0]}", 1),
            ("{a.__class__}", 1),
            ("{a!r}", 1),
            ("{a:>9}", 1),
            ("{a|}", 1),
            ("{a||url}", 1),
            ("{a |url}", 1),
            ("{a|Url}", 1),
            ("{a|split:;}", 1),
            ("{{{", 3),
            ("{a}}", 4),
        ],
    )
    def test_a_brace_that_stands_alone(self, template: str, column: int) -> None:
        with pytest.raises(TemplateError, match=rf"^column {column}: a brace stands alone; write \{{name\}}"):
            parse_template(template)

    def test_an_unknown_function_is_named_with_those_known(self) -> None:
        with pytest.raises(TemplateError) as refused:
            parse_template("ab{c|eval}")

        assert str(refused.value) == f"column 3: unknown function 'eval'; known: {', '.join(FUNCTIONS)}"

    @settings(deadline=None)
    @given(st.text("{}|ab_0. \n", max_size=12))
    def test_any_text_is_a_template_or_a_template_error(self, text: str) -> None:
        try:
            template = parse_template(text)
        except TemplateError:
            return
        rebuilt = "".join(_written(part) for part in template.parts)
        assert rebuilt == text


def _written(part: str | Placeholder) -> str:
    if isinstance(part, Placeholder):
        return "{" + "|".join((part.name, *part.functions)) + "}"
    return part.replace("{", "{{").replace("}", "}}")


class TestFunctions:
    """A function makes data of a value: nothing in it is syntax any more."""

    def test_they_are_all_tried_here(self) -> None:
        assert set(FUNCTIONS) == {"lower", "upper", "squash", "phrase", "lucene_phrase", "lucene", "url"}

    @pytest.mark.parametrize(
        ("function", "value", "text"),
        [
            ("squash", "  a \n\t b  ", "a b"),
            ("phrase", 'say "hi" \\ now', '"say hi now"'),
            ("phrase", 'x"[ti] OR y', '"x [ti] OR y"'),
            ("lucene_phrase", 'say "hi" \\ now', '"say \\"hi\\" \\\\ now"'),
            ("lucene", "a:b (c) AND d* OR e-f", "a\\:b \\(c\\) and d\\* or e\\-f"),
            ("lucene", "ANDROID NOTE TO", "ANDROID NOTE to"),
            ("lucene", "a&&b||!c/[e]{f}^~?+=<>", r"a\&\&b\|\|\!c\/\[e\]\{f\}\^\~\?\+\=\<\>"),
            ("url", "a b/c?d=é&", "a%20b%2Fc%3Fd%3D%C3%A9%26"),
            ("url", "AZaz09-._~", "AZaz09-._~"),
            ("url", "\udcff", "%3F"),
        ],
    )
    def test_by_example(self, function: str, value: str, text: str) -> None:
        assert FUNCTIONS[function](value) == text

    @settings(deadline=None)
    @given(TEXTS)
    def test_a_phrase_has_no_quote_inside(self, text: str) -> None:
        assert re.fullmatch(r'"[^"\\]*"', FUNCTIONS["phrase"](text))

    @settings(deadline=None)
    @given(TEXTS)
    def test_a_lucene_phrase_reads_back_as_the_words(self, text: str) -> None:
        written = FUNCTIONS["lucene_phrase"](text)

        assert re.fullmatch(r'"(?:[^"\\]|\\.)*"', written, re.DOTALL)
        assert re.sub(r"\\(.)", r"\1", written[1:-1]) == " ".join(text.split())

    @settings(deadline=None)
    @given(TEXTS)
    def test_lucene_words_read_back_as_the_words_and_hold_no_operator(self, text: str) -> None:
        written = FUNCTIONS["lucene"](text)

        assert not re.search(r'(?<!\\)(?:\\\\)*[+\-!(){}\[\]^"~*?:/&|<>=]', written)
        assert not re.search(r"\b(AND|OR|NOT|TO)\b", written)
        assert re.sub(r"\\(.)", r"\1", written).lower() == " ".join(text.split()).lower()

    @settings(deadline=None)
    @given(TEXTS)
    def test_what_is_percent_encoded_decodes_to_itself(self, text: str) -> None:
        assert unquote(percent_encode(text)) == text
        assert re.fullmatch(r"(?:[A-Za-z0-9._~-]|%[0-9A-F]{2})*", percent_encode(text))
