"""The text syntax of queries: what each construct means, what binds closer, and where a mistake is."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ingest_core.model.codes import ExprOp, TermMatch
from ingest_core.model.errors import BadInput, ExitCode
from ingest_core.model.expression import (
    CLOSED,
    Exists,
    In,
    Junction,
    Node,
    Not,
    Range,
    Term,
    Token,
    from_json,
    normalize,
)
from ingest_core.registry import query_text
from ingest_core.registry.query_text import MAX_DEPTH, MAX_QUERY_CHARS, parse_query
from tests.support.specs import at

A, B, C, D = (Token(letter) for letter in "abcd")


def all_of(*children: Node) -> Node:
    """All of them."""
    return Junction(ExprOp.AND, children)


def any_of(*children: Node) -> Node:
    """Any of them."""
    return Junction(ExprOp.OR, children)


def refused(text: str, where: str = "--query") -> BadInput:
    """The error of a text."""
    with pytest.raises(BadInput) as caught:
        parse_query(text, where)
    assert caught.value.exit_code == ExitCode.BAD_INPUT
    return caught.value


CONSTRUCTS: list[tuple[str, Node]] = [
    ("heart", Token("heart")),
    ('"heart failure"', Token("heart failure", TermMatch.PHRASE)),
    ("heart failure", all_of(Token("failure"), Token("heart"))),
    ("title:heart", Term("title", "heart")),
    ('title:"heart failure"', Term("title", "heart failure", TermMatch.PHRASE)),
    ("title:=heart", Term("title", "heart", TermMatch.EXACT)),
    ('title:="heart failure"', Term("title", "heart failure", TermMatch.EXACT)),
    ('type:(a, b, "c d")', In("type", ("a", "b", "c d"))),
    ("type:(a)", In("type", ("a",))),
    ("year:[2020 TO 2024]", Range("year", "2020", "2024", CLOSED)),
    ("year:[* TO 2024]", Range("year", None, "2024", CLOSED)),
    ("year:[2020 TO *]", Range("year", "2020", None, CLOSED)),
    ("year:[* TO *]", Exists("year")),
    ("abstract:*", Exists("abstract")),
    ("a AND b", all_of(A, B)),
    ("a OR b", any_of(A, B)),
    ("NOT a", Not(A)),
    ("(a)", A),
]


@pytest.mark.parametrize(("text", "node"), CONSTRUCTS, ids=[text for text, _ in CONSTRUCTS])
def test_a_construct_means_what_the_documents_say(text: str, node: Node) -> None:
    assert parse_query(text) == normalize(node)


def test_the_list_of_this_test_has_every_construct_the_syntax_names() -> None:
    told = query_text.__doc__ or ""
    written = " ".join(text for text, _ in CONSTRUCTS)

    for sign in (":=", ":(", ":[", " TO ", ":*", "AND", "OR", "NOT", '"'):
        assert sign in told
        assert sign in written


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("a OR b AND c", any_of(A, all_of(B, C))),
        ("a AND b OR c", any_of(all_of(A, B), C)),
        ("a b OR c d", any_of(all_of(A, B), all_of(C, D))),
        ("a OR b OR c AND d", any_of(A, B, all_of(C, D))),
        ("(a OR b) AND c", all_of(any_of(A, B), C)),
        ("(a OR b) c", all_of(any_of(A, B), C)),
        ("NOT a AND b", all_of(Not(A), B)),
        ("NOT a OR b", any_of(Not(A), B)),
        ("NOT (a OR b)", Not(any_of(A, B))),
        ("NOT (a b)", Not(all_of(A, B))),
        ("a AND NOT b", all_of(A, Not(B))),
        ("a NOT b", all_of(A, Not(B))),
        ("NOT NOT a", A),
        ("NOT NOT NOT a", Not(A)),
        ("((a))", A),
        ("a AND (b AND (c AND d))", all_of(A, B, C, D)),
        ("a AND a", A),
        ("b AND a", all_of(A, B)),
    ],
)
def test_not_binds_closest_then_and_then_or(text: str, node: Node) -> None:
    assert parse_query(text) == normalize(node)


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("and or not to", all_of(*(Token(word) for word in ("and", "not", "or", "to")))),
        ("TITLE:heart", Token("TITLE:heart")),
        ("10.1000/x-y_z", Token("10.1000/x-y_z")),
        ("heart*", Token("heart*")),
        ("a=b", Token("a=b")),
        ("doi:10.1000/a:b", Term("doi", "10.1000/a:b")),
        ("学習 Über", all_of(Token("Über"), Token("学習"))),
        (r'"say \"hi\" \\ now"', Token(r'say "hi" \ now', TermMatch.PHRASE)),
        ('"AND"', Token("AND", TermMatch.PHRASE)),
        ('title:"a: (b) [c], *"', Term("title", "a: (b) [c], *", TermMatch.PHRASE)),
        ("  a\n\tAND   b\n", all_of(A, B)),
        ("title: heart", Term("title", "heart")),
        ("type:( a ,b )", In("type", ("a", "b"))),
        ("type:(b, a, b)", In("type", ("a", "b"))),
        ("a (b)", all_of(A, B)),
        ("NOT(a)", Not(A)),
        ("title:heart (a)", all_of(A, Term("title", "heart"))),
    ],
)
def test_values_are_data(text: str, node: Node) -> None:
    assert parse_query(text) == normalize(node)


def test_an_end_with_a_time_is_an_instant_and_one_without_stays_a_text() -> None:
    node = parse_query("at:[2020-01-01T08:00:00+08:00 TO 2024-01]")

    assert node == Range("at", at("2020-01-01T00:00:00Z"), "2024-01", CLOSED)


def test_a_leaf_knows_its_column() -> None:
    node = parse_query("a AND title:b")

    assert isinstance(node, Junction)
    assert {child.column for child in node.children if isinstance(child, Term | Token)} == {1, 7}


ERRORS = [
    ("", 1, "expected a word"),
    ("   ", 4, "expected a word"),
    ("a AND", 6, "expected a word"),
    ("a OR OR b", 6, "expected a word"),
    ("AND a", 1, "expected a word"),
    ("NOT", 4, "expected a word"),
    ("a TO b", 3, "unexpected 'TO'"),
    ("(a", 3, "expected ')' for the one opened at column 1"),
    ("((a)", 5, "expected ')' for the one opened at column 1"),
    ("a)", 2, "unexpected ')'"),
    ("()", 2, "expected a word"),
    ("a, b", 2, "unexpected ','"),
    ("a ]", 3, "unexpected ']'"),
    ('a "b', 3, "this quote is never closed"),
    ('a ""', 3, "nothing stands between the quotes"),
    ('title:""', 7, "nothing stands between the quotes"),
    ("title:", 7, "expected a value for 'title'"),
    ("title:AND", 7, "expected a value for 'title'"),
    ("title:=", 8, "expected a value for 'title'"),
    ("title:)", 7, "expected a value for 'title'"),
    ("x title:y:z", 9, "expected a value for 'title'"),
    ("title:y(z)", 8, "a value with parentheses stands in quotes"),
    ("type:(", 7, "expected a value"),
    ("type:()", 7, "expected a value"),
    ("type:(a,)", 9, "expected a value after ','"),
    ("type:(a b)", 9, "expected ')' after the values of 'type'"),
    ("type:(a", 8, "expected ')' after the values of 'type'"),
    ("year:[2020]", 11, "expected 'TO' between the ends of 'year'"),
    ("year:[2020 TO]", 14, "expected an upper end"),
    ("year:[TO 2020]", 7, "expected a lower end"),
    ("year:[2020 TO 2024", 19, "expected ']' after the ends of 'year'"),
    ("year:[2020 TO 2024)", 19, "expected ']' after the ends of 'year'"),
    ("a(b)", 2, "a value with parentheses stands in quotes"),
    ('"a"(b)', 4, "a value with parentheses stands in quotes"),
    ("* a", 1, "expected a word"),
    ("a \\ b", 3, "unexpected '\\\\'"),
    ("= a", 1, "expected a word"),
    ("学習 )", 4, "unexpected ')'"),
]


@pytest.mark.parametrize(("text", "column", "message"), ERRORS, ids=[text for text, _, _ in ERRORS])
def test_a_mistake_is_shown_at_its_column(text: str, column: int, message: str) -> None:
    error = refused(text, "endpoints.query")
    said, line, mark = error.message.split("\n")

    assert (error.code, error.where) == ("QUERY_INVALID", "endpoints.query")
    assert said.startswith(f"column {column}: {message}")
    assert line == f"  {text}"
    assert mark == "  " + " " * (column - 1) + "^"
    assert error.remedy


def test_a_text_of_several_lines_is_shown_on_one_with_the_mark_below_the_place() -> None:
    said, line, mark = refused("a\nAND b\n)").message.split("\n")

    assert said == "column 9: unexpected ')'"
    assert line[len(mark) - 1] == ")"


def test_the_mark_stands_below_the_place_after_windows_line_ends_too() -> None:
    _, line, mark = refused("a\r\nAND b\r\n)").message.split("\n")

    assert line[len(mark) - 1] == ")"


def test_an_end_that_is_no_time_is_shown_at_its_column_too() -> None:
    error = refused("a year:[Today TO 2024]", "endpoints.query")

    assert (error.code, error.where) == ("QUERY_INVALID", "endpoints.query")
    assert error.message.startswith("column 9: ")


def test_an_end_that_ends_in_z_survives_storage() -> None:
    node = parse_query("grade:[A TO Z]")

    assert from_json(node.json()) == node


class TestLimits:
    """A query is small: neither long nor deep."""

    def test_as_long_as_allowed(self) -> None:
        assert parse_query("a" * MAX_QUERY_CHARS) == Token("a" * MAX_QUERY_CHARS)

    def test_longer_is_refused_with_both_numbers(self) -> None:
        error = refused("a" * (MAX_QUERY_CHARS + 1), "endpoints.query")

        assert (error.code, error.where) == ("QUERY_INVALID", "endpoints.query")
        assert error.message == f"{MAX_QUERY_CHARS + 1} characters are too many; at most {MAX_QUERY_CHARS}"

    @pytest.mark.parametrize(("opened", "closed"), [("(", ")"), ("NOT ", "")])
    def test_as_deep_as_allowed(self, opened: str, closed: str) -> None:
        levels = MAX_DEPTH - 1

        assert parse_query(opened * levels + "a" + closed * levels) in (A, Not(A))

    @pytest.mark.parametrize(("opened", "closed"), [("(", ")"), ("NOT ", "")])
    def test_deeper_is_refused_where_it_gets_too_deep(self, opened: str, closed: str) -> None:
        error = refused(opened * MAX_DEPTH + "a" + closed * MAX_DEPTH)

        assert error.message.startswith(f"column {len(opened) * MAX_DEPTH + 1}: nested deeper than {MAX_DEPTH}")

    def test_the_deepest_a_length_allows_is_refused_and_does_not_overflow(self) -> None:
        assert "nested deeper" in refused("(" * MAX_QUERY_CHARS).message

    def test_depth_is_not_length(self) -> None:
        assert parse_query(" ".join(["(a)"] * 1000)) == A


MARKS = ["]", ")", "(", "[", "*", ",", "=", '"', "\\", " ", "\n", "a"]
SHARDS = st.sampled_from(["AND", "OR", "NOT", "TO", "title:", "type:(", "year:[", *MARKS])


def parses_or_points(text: str) -> None:
    """A query, or an error that says so; whatever else is raised fails the test."""
    try:
        node = parse_query(text)
    except BadInput:
        return
    assert normalize(node) == node


@settings(deadline=None)
@given(st.text(max_size=60))
@example("year:[0001-01-01T00:00:00+14:00 TO *]")
@example("year:[9999-12-31T23:59:59.9999999-14:00 TO *]")
@example("title:\udcff \x00 \x7f")
def test_any_text_is_a_query_or_bad_input(text: str) -> None:
    parses_or_points(text)


@settings(deadline=None)
@given(st.lists(SHARDS | st.text(max_size=3), max_size=25).map("".join))
def test_any_pieces_of_syntax_are_a_query_or_bad_input(text: str) -> None:
    parses_or_points(text)


@settings(deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "NOT a", "(b OR c)", "title:x"]), min_size=1, max_size=6), st.data())
def test_the_order_of_what_is_asked_leaves_no_trace(parts: list[str], data: st.DataObject) -> None:
    order = data.draw(st.permutations(parts))

    assert parse_query(" AND ".join(order)) == parse_query(" ".join(parts))
    assert parse_query(" OR ".join(order)).json() == parse_query(" OR ".join(parts)).json()
