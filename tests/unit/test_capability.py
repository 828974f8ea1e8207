"""What a source cannot be asked is said before it is asked, with the column of the place."""

from typing import Any

import pytest

from ingest_core.model.codes import FieldType, Operation
from ingest_core.model.errors import BadInput
from ingest_core.model.expression import Range
from ingest_core.registry.capability import DEFAULT_MAX_LENGTH, DEFAULT_MAX_VALUES, Finding, check_query
from ingest_core.registry.query_text import parse_query
from ingest_core.registry.rows import Row
from tests.support.small_source import compiled, small_document, small_endpoint
from tests.support.specs import at

FIELDS = {
    "title": FieldType.TEXT,
    "type": FieldType.KEYWORD,
    "published": FieldType.DATE,
    "updated": FieldType.DATETIME,
    "cited": FieldType.NUMBER,
    "open": FieldType.BOOLEAN,
    "secret": FieldType.TEXT,
}
EVERY_OP = ["EXISTS", "IN", "RANGE", "TERM"]


def capability(**changes: Any) -> Row:
    """What a source can do with a field, as a row of the Registry says it."""
    row: Row = {"ops": EVERY_OP, "matches": None, "negatable": None}
    return {**row, "max_length": None, "term_pattern": None, "max_values": None, **changes}


def findings(text: str, free_words: Row | None = None, **fields: Row) -> list[Finding]:
    """What a source whose fields can do everything, but for those given, has against a query."""
    able: dict[str | None, Row] = {name: fields.get(name, capability()) for name in FIELDS if name != "secret"}
    able[None] = capability(ops=["TOKEN"]) if free_words is None else free_words
    return list(check_query(parse_query(text), FIELDS, able))


def only(found: list[Finding]) -> tuple[str, int | None]:
    """The one finding's message and column."""
    assert len(found) == 1, found
    return found[0].message, found[0].column


@pytest.mark.parametrize(
    "text",
    [
        "heart",
        '"heart failure" title:x',
        "title:=x OR NOT (type:(a, b) AND published:[2020 TO 2024-12-31])",
        "updated:[2020-01-01T00:00:00Z TO *]",
        "cited:[-3 TO 10.5]",
        "open:*",
    ],
)
def test_what_a_source_can_do_is_not_found_fault_with(text: str) -> None:
    assert findings(text) == []


class TestFields:
    """A field must be known, and the source must say what it does with it."""

    def test_an_unknown_field_is_named_with_those_known_and_its_column(self) -> None:
        message, column = only(findings("heart AND titel:x"))

        assert message == f"unknown field 'titel'; known: {', '.join(sorted(FIELDS))}"
        assert column == 11

    def test_a_field_without_a_capability_cannot_be_asked_for(self) -> None:
        assert only(findings("secret:x")) == ("field 'secret' cannot be asked for here", 1)

    def test_nor_can_free_words_without_one(self) -> None:
        found = list(check_query(parse_query("title:x heart"), FIELDS, {"title": capability()}))

        assert only(found) == ("free words cannot be asked for here", 9)

    def test_a_source_without_fields_says_so(self) -> None:
        assert only(list(check_query(parse_query("title:x"), {}, {})))[0] == "unknown field 'title'; known: none"

    def test_everything_that_is_wrong_is_found_in_the_order_of_the_tree(self) -> None:
        found = findings("secret:x AND titel:y AND (other:z OR secret:*)")

        assert sorted(one.column or 0 for one in found) == [1, 14, 27, 38]


class TestOps:
    """A field takes the nodes its capability names."""

    @pytest.mark.parametrize(
        ("text", "op"),
        [("title:x", "TERM"), ("title:(x, y)", "IN"), ("published:[2020 TO 2021]", "RANGE"), ("title:*", "EXISTS")],
    )
    def test_one_that_is_not_among_them_is_refused_with_those_that_are(self, text: str, op: str) -> None:
        others = [one for one in EVERY_OP if one != op]
        name = text.split(":", maxsplit=1)[0]
        message, column = only(findings(f"heart {text}", **{name: capability(ops=others)}))

        assert message == f"field {name!r}: {op} is not among {', '.join(others)}"
        assert column == 7

    def test_free_words_are_an_op_too(self) -> None:
        assert only(findings("heart", free_words=capability(ops=["TERM"])))[0] == "free words: TOKEN is not among TERM"


class TestMatches:
    """How closely a term can be met; without a word about it, in every way."""

    @pytest.mark.parametrize(
        ("text", "kind"),
        [("title:x", "ANY"), ('title:"x y"', "PHRASE"), ("title:=x", "EXACT")],
    )
    def test_a_match_that_is_not_possible_is_refused_with_how_to_write_the_others(self, text: str, kind: str) -> None:
        ways = {"ANY": "field:word", "PHRASE": 'field:"a phrase"', "EXACT": "field:=value"}
        others = [one for one in ways if one != kind]
        message, _ = only(findings(text, title=capability(matches=others)))

        assert message == (
            f"field 'title': a match of kind {kind} is not possible; write {ways[others[0]]} or {ways[others[1]]}"
        )
        assert findings(text, title=capability(matches=[kind])) == []

    def test_free_words_can_be_limited_too(self) -> None:
        words = capability(ops=["TOKEN"], matches=["ANY"])

        assert findings("heart", free_words=words) == []
        assert "PHRASE is not possible" in only(findings('"heart failure"', free_words=words))[0]


class TestNegation:
    """Some fields cannot be negated."""

    @pytest.mark.parametrize(
        "text", ["NOT title:x", "heart NOT title:x", "NOT (heart OR title:x)", "NOT (heart AND (type:a OR title:x))"]
    )
    def test_under_not_at_any_depth_they_are_refused(self, text: str) -> None:
        message, column = only(findings(text, title=capability(negatable=False)))

        assert message == "field 'title': cannot be negated"
        assert column == text.index("title") + 1

    @pytest.mark.parametrize("text", ["title:x", "NOT NOT title:x", "title:x NOT heart", "NOT type:a title:x"])
    def test_elsewhere_they_are_fine(self, text: str) -> None:
        assert findings(text, title=capability(negatable=False)) == []

    @pytest.mark.parametrize("said", [None, True])
    def test_without_a_word_about_it_they_can(self, said: bool | None) -> None:
        assert findings("NOT title:x", title=capability(negatable=said)) == []


class TestValues:
    """How long, of which form, how many."""

    @pytest.mark.parametrize("text", ["title:{}", 'title:"{}"', "title:={}", "title:(a, {})", "{}"])
    def test_a_value_may_be_as_long_as_the_limit_and_no_longer(self, text: str) -> None:
        limited = {"title": capability(max_length=5), "free_words": capability(ops=["TOKEN"], max_length=5)}

        assert findings(text.format("x" * 5), **limited) == []
        assert only(findings(text.format("x" * 6), **limited))[0].endswith(
            "a value of 6 characters is longer than 5",
        )

    def test_a_length_has_a_limit_where_nobody_says_one(self) -> None:
        assert findings("title:" + "x" * DEFAULT_MAX_LENGTH) == []
        assert f"longer than {DEFAULT_MAX_LENGTH}" in only(findings("title:" + "x" * (DEFAULT_MAX_LENGTH + 1)))[0]

    @pytest.mark.parametrize("text", ["type:{}", "type:={}", "type:(ok, {})"])
    @pytest.mark.parametrize("value", ['"a,type:b"', "ab1", "Ab", '"a b"', '"ab\n"'])
    def test_a_value_fits_its_pattern_as_a_whole(self, text: str, value: str) -> None:
        message, column = only(findings(text.format(value), type=capability(term_pattern="[a-z-]+")))

        assert message.startswith("field 'type': ")
        assert message.endswith("does not match [a-z-]+")
        assert column == 1

    @pytest.mark.parametrize("code", [0, 1, 8, 11, 12, 14, 27, 127])
    def test_control_characters_are_refused_everywhere(self, code: int) -> None:
        character = chr(code)
        for text in (f'title:"a{character}b"', f'title:("a{character}b", c)', f'"a{character}b"'):
            assert "holds control characters" in only(findings(text))[0]

    @pytest.mark.parametrize("character", ["\t", "\n", "\r", " ", "é", "学"])
    def test_white_space_and_letters_are_none(self, character: str) -> None:
        assert findings(f'title:"a{character}b"') == []

    def test_half_a_character_is_refused(self) -> None:
        assert "holds control characters" in findings("title:a\udcff")[0].message

    @pytest.mark.parametrize("value", ['" "', '"\t"', r'"\""', "-", '"(...)"'])
    def test_a_value_of_which_nothing_would_be_left_is_refused(self, value: str) -> None:
        for text in (f"title:{value}", f"type:(ok, {value})", value):
            assert only(findings(text))[0].endswith("holds no letter or digit")

    def test_a_list_may_have_as_many_values_as_the_limit_and_no_more(self) -> None:
        few = {"type": capability(max_values=2)}

        assert findings("type:(a, b)", **few) == []
        assert findings("type:(a, b, a)", **few) == []
        assert only(findings("heart type:(a, b, c)", **few)) == ("field 'type': 3 values are more than 2", 7)

    def test_a_list_has_a_limit_where_nobody_says_one(self) -> None:
        many = [f"x{number}" for number in range(DEFAULT_MAX_VALUES + 1)]

        assert findings(f"type:({', '.join(many[1:])})") == []
        assert f"more than {DEFAULT_MAX_VALUES}" in only(findings(f"type:({', '.join(many)})"))[0]


class TestRanges:
    """A range is over dates or numbers, and its ends are some."""

    @pytest.mark.parametrize(("name", "kind"), [("title", "TEXT"), ("type", "KEYWORD"), ("open", "BOOLEAN")])
    def test_other_fields_have_no_ranges(self, name: str, kind: str) -> None:
        message, column = only(findings(f"heart {name}:[a TO b]"))

        assert message == f"field {name!r}: a range needs a DATE, DATETIME or NUMBER field, this is {kind}"
        assert column == 7

    @pytest.mark.parametrize("name", ["published", "updated"])
    @pytest.mark.parametrize("end", ["2020", "2020-01", "2020-01-31", "*"])
    def test_a_date_may_be_a_year_a_month_or_a_day(self, name: str, end: str) -> None:
        assert findings(f"{name}:[{end} TO 2024]") == []
        assert findings(f"{name}:[2019 TO {end}]") == []

    @pytest.mark.parametrize("end", ["20", "2020-1", "2020/01/01", "yesterday", "2020-01-01x", "20200101"])
    def test_anything_else_is_not_one(self, end: str) -> None:
        assert only(findings(f"published:[{end} TO *]"))[0] == f"field 'published': {end!r} is not a DATE"
        assert only(findings(f"updated:[* TO {end}]"))[0] == f"field 'updated': {end!r} is not a DATETIME"

    @pytest.mark.parametrize("end", ["1", "-1", "0.5"])
    def test_a_number_is_one(self, end: str) -> None:
        assert findings(f"cited:[{end} TO *]") == []

    @pytest.mark.parametrize("end", ["ten", "1e3", "--1", "1.", "0x1"])
    def test_what_is_no_number_is_refused(self, end: str) -> None:
        assert only(findings(f"cited:[{end} TO *]"))[0] == f"field 'cited': {end!r} is not a NUMBER"

    def test_both_ends_are_looked_at(self) -> None:
        assert len(findings("published:[then TO now]")) == 2

    def test_an_instant_of_the_planner_is_fine(self) -> None:
        node = Range("updated", at("2020-01-01"), at("2021-01-01"))

        assert list(check_query(node, FIELDS, {"updated": capability()})) == []

    @pytest.mark.parametrize(("name", "kind"), [("published", "DATE"), ("cited", "NUMBER")])
    def test_an_instant_is_neither_a_date_nor_a_number(self, name: str, kind: str) -> None:
        assert only(findings(f"{name}:[2020-01-01T06:00:00Z TO *]"))[0].endswith(f"is not a {kind}")

    @pytest.mark.parametrize("end", ['"2020\n"', "２０２０"])
    def test_only_plain_digits_are_a_date(self, end: str) -> None:
        assert findings(f"published:[{end} TO 2024]")


class TestInACompile:
    """The compiler points at the place in the text that asks too much."""

    DOCUMENT = small_document(
        fields=[{"name": "updated", "type": "DATETIME"}, {"name": "title", "type": "TEXT"}],
        capabilities=[{"field": "title", "ops": ["TERM"], "negatable": False}, {"ops": ["TOKEN"]}],
    )

    def test_with_a_mark_below_it(self) -> None:
        with pytest.raises(BadInput) as refused:
            compiled(self.DOCUMENT, query="heart NOT title:x")

        assert refused.value.code == "QUERY_INVALID"
        assert refused.value.where == "--query"
        assert refused.value.message.split("\n") == [
            "column 11: field 'title': cannot be negated",
            "  heart NOT title:x",
            "  " + " " * 10 + "^",
        ]

    def test_whether_the_trigger_asked_or_the_file(self) -> None:
        document = {**self.DOCUMENT, "endpoints": [small_endpoint(query="titel:x")]}
        with pytest.raises(BadInput) as refused:
            compiled(document, operation=Operation.BACKFILL)

        assert refused.value.where == "endpoints.query"
        assert "unknown field 'titel'; known: title, updated" in refused.value.message
