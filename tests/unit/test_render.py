"""A query is written as the provider takes it: as text, as parameters, or both, and it means the same."""

from typing import Any

import pytest

from ingest_core.model.codes import ExprOp, Operation, TermMatch
from ingest_core.model.errors import BadInput
from ingest_core.model.expression import EVERYTHING, NOTHING, Exists, In, Node, Not, Range, Term, both
from ingest_core.model.spec import RuleSpec
from ingest_core.registry.compile import CompileRequest, compile_source
from ingest_core.registry.query_text import parse_query
from ingest_core.registry.read import read_source
from ingest_core.registry.render import Rendered, Renderer, TimeText, Unrenderable, refuse_unrenderable
from ingest_core.registry.rows import rows_of
from ingest_core.shipped import shipped_sources
from tests.support.specs import NOW, at

DAYS = TimeText("%Y/%m/%d")
WORDS = RuleSpec(op=ExprOp.TOKEN, template="{value}")
AND, OR, NOT = (RuleSpec(op=op, template=f" {op} ") for op in (ExprOp.AND, ExprOp.OR, ExprOp.NOT))
ALL = RuleSpec(op=ExprOp.CONST, template="ALL")
TITLE = RuleSpec(op=ExprOp.TERM, field="title", template="{value|phrase}[ti]")
LANGUAGE = RuleSpec(op=ExprOp.TERM, field="language", params={"lang": "{value|lower}"})
RANGE = RuleSpec(op=ExprOp.RANGE, field="at", params={"mindate": "{from}", "maxdate": "{to}"})
TEXT_RULES = [WORDS, TITLE, AND, OR, NOT, ALL]


def rendered(query: str | Node, *rules: RuleSpec, times: TimeText = DAYS) -> Rendered:
    """A query, written by these rules."""
    return Renderer(rules, times).render(parse_query(query) if isinstance(query, str) else query)


def text_of(query: str | Node, *rules: RuleSpec) -> str | None:
    """A query as text; it needs no parameters."""
    result = rendered(query, *rules)
    assert result.params == {}
    return result.text


def refused(query: str | Node, *rules: RuleSpec) -> Unrenderable:
    """Why a query cannot be written by these rules."""
    with pytest.raises(Unrenderable) as caught:
        rendered(query, *rules)
    return caught.value


class TestText:
    """Words, terms, and how they are put together."""

    @pytest.mark.parametrize(
        ("query", "text"),
        [
            ("a", "a"),
            ("title:a", '"a"[ti]'),
            ("a b", "a AND b"),
            ("a OR b", "(a OR b)"),
            ("(a OR b) c", "(a OR b) AND c"),
            ("a OR b c", "((b AND c) OR a)"),
            ("NOT a", "ALL NOT a"),
            ("a NOT b", "a NOT b"),
            ("a NOT b NOT c", "a NOT b NOT c"),
            ("NOT a NOT b", "ALL NOT a NOT b"),
            ("NOT (a OR b)", "ALL NOT (a OR b)"),
            ("NOT (a b)", "ALL NOT (a AND b)"),
            ("a OR NOT b", "((ALL NOT b) OR a)"),
            ("a NOT (b NOT c)", "a NOT (b NOT c)"),
            ("(a OR b) (c OR d)", "(a OR b) AND (c OR d)"),
        ],
    )
    def test_it_is_grouped_so_that_nothing_depends_on_what_binds_closer(self, query: str, text: str) -> None:
        assert text_of(query, *TEXT_RULES) == text

    def test_everything_needs_no_words(self) -> None:
        assert rendered(EVERYTHING, *TEXT_RULES) == Rendered(None, {})

    def test_the_same_query_is_written_the_same_way(self) -> None:
        assert text_of("b AND (d OR c) AND a", *TEXT_RULES) == text_of("a (c OR d) b", *TEXT_RULES)

    def test_a_value_is_data(self) -> None:
        assert text_of(r'title:"x\"[ti] OR \"y"', *TEXT_RULES) == '"x [ti] OR y"[ti]'

    def test_exists_has_no_value(self) -> None:
        rule = RuleSpec(op=ExprOp.EXISTS, field="doi", template="has_doi:true")

        assert text_of("doi:*", rule) == "has_doi:true"

    def test_nothing_is_not_written_as_everything(self) -> None:
        assert "CONST" in str(refused(NOTHING, *TEXT_RULES))

    def test_the_words_between_are_templates_too(self) -> None:
        assert text_of("NOT a", WORDS, NOT, RuleSpec(op=ExprOp.CONST, template="{{}}")) == "{} NOT a"


class TestMatches:
    """A rule for one kind of match goes before the rule for any."""

    RULES = (
        RuleSpec(op=ExprOp.TERM, field="title", template="any:{value}"),
        RuleSpec(op=ExprOp.TERM, field="title", match=TermMatch.EXACT, template="exact:{value}"),
        RuleSpec(op=ExprOp.TOKEN, match=TermMatch.PHRASE, template="{value|phrase}"),
    )

    @pytest.mark.parametrize(
        ("query", "text"),
        [("title:a", "any:a"), ('title:"a b"', "any:a b"), ("title:=a", "exact:a"), ('"a b"', '"a b"')],
    )
    def test_the_closest_rule_is_taken(self, query: str, text: str) -> None:
        assert text_of(query, *self.RULES) == text

    def test_a_match_no_rule_writes_is_refused(self) -> None:
        assert str(refused("a", *self.RULES)) == "no render rule writes TOKEN (ANY)"


class TestOneOfSeveral:
    """IN has a rule of its own, or is an OR of exact terms."""

    TERMS = (
        RuleSpec(op=ExprOp.TERM, field="type", match=TermMatch.EXACT, template="={value}"),
        RuleSpec(op=ExprOp.TERM, field="type", template="~{value}"),
    )

    def test_without_a_rule_it_is_any_of_the_exact_terms(self) -> None:
        assert text_of("type:(b, a)", *self.TERMS, OR) == "(=a OR =b)"
        assert text_of("x type:(b, a)", *self.TERMS, OR, AND, WORDS) == "(=a OR =b) AND x"

    def test_one_value_is_one_term(self) -> None:
        assert text_of("type:(a)", *self.TERMS) == "=a"

    def test_negated_it_is_none_of_them(self) -> None:
        assert text_of("NOT type:(a, b)", *self.TERMS, OR, NOT, ALL) == "ALL NOT (=a OR =b)"

    def test_with_a_rule_the_values_are_separated_as_it_says(self) -> None:
        rule = RuleSpec(op=ExprOp.IN, field="type", params={"filter": "type:{values|upper}"}, separator="|")

        assert rendered("type:(b, a)", rule, *self.TERMS).params == {"filter": "type:A|B"}

    def test_the_terms_point_at_the_place_in_the_query(self) -> None:
        error = refused("x type:(a)", WORDS, AND)

        assert (str(error), error.column) == ("no render rule writes TERM over 'type' (EXACT)", 3)


class TestParameters:
    """What a provider takes as parameters stands beside the text."""

    def test_each_rule_fills_its_own(self) -> None:
        query = both(parse_query("heart language:EN"), Range("at", at("2026-01-01"), at("2026-02-01")))

        assert rendered(query, WORDS, LANGUAGE, RANGE) == Rendered(
            "heart", {"lang": "en", "mindate": "2026/01/01", "maxdate": "2026/02/01"}
        )

    def test_alone_they_need_no_text(self) -> None:
        assert rendered("language:en", LANGUAGE) == Rendered(None, {"lang": "en"})

    def test_two_rules_for_one_parameter_are_joined(self) -> None:
        rules = [
            RuleSpec(op=ExprOp.TERM, field=name, params={"filter": name + ":{value}"}, joiner=";")
            for name in ("a", "b")
        ]

        assert rendered("b:2 a:1", *rules).params == {"filter": "a:1;b:2"}

    @pytest.mark.parametrize("query", ["x OR language:en", "NOT language:en", "x NOT language:en"])
    def test_they_cannot_stand_under_or_and_not(self, query: str) -> None:
        error = refused(query, LANGUAGE, *TEXT_RULES)

        assert str(error) == "TERM over 'language' (ANY) cannot stand under OR or NOT here"
        assert error.column == query.index("language") + 1

    def test_the_separator_of_values_is_not_the_separator_of_rules(self) -> None:
        first = RuleSpec(op=ExprOp.TERM, field="a", params={"filter": "a:{value}"})
        many = RuleSpec(op=ExprOp.IN, field="b", params={"filter": "b:{values}"}, separator=",b:")

        assert rendered("a:1 b:(2, 3)", first, many).params == {"filter": "a:1,b:2,b:3"}

    @pytest.mark.parametrize("query", ["language:en language:de", "at:[2020 TO 2021] at:[2022 TO 2023]"])
    def test_a_field_said_twice_cannot_be_one_parameter(self, query: str) -> None:
        error = refused(query, LANGUAGE, RANGE)

        assert str(error).endswith("can be asked for only once here")
        assert error.column is not None

    def test_nor_can_a_field_said_in_two_ways(self) -> None:
        many = RuleSpec(op=ExprOp.IN, field="language", params={"lang": "{values}"})

        refused("language:en language:(de, fr)", LANGUAGE, many)


class TestRanges:
    """Ends are written in the provider's zone and format, open ends as its rule says."""

    TEXT = RuleSpec(op=ExprOp.RANGE, field="at", template="[{from} TO {to}]")
    OPEN = TEXT.model_copy(update={"open_start": "0001", "open_end": "3000"})

    @pytest.mark.parametrize(
        ("times", "text"),
        [
            (TimeText("%Y-%m-%dT%H:%M:%SZ"), "[2026-01-01T03:30:00Z TO 2026-07-01T03:30:00Z]"),
            (TimeText("%Y/%m/%d", "America/New_York"), "[2025/12/31 TO 2026/06/30]"),
            (TimeText("%Y-%m-%d %H:%M", "Asia/Kolkata"), "[2026-01-01 09:00 TO 2026-07-01 09:00]"),
            (TimeText("%H", "Europe/Berlin"), "[04 TO 05]"),
            (TimeText("epoch_seconds"), "[1767238200 TO 1782876600]"),
            (TimeText("epoch_millis", "Asia/Tokyo"), "[1767238200000 TO 1782876600000]"),
        ],
    )
    def test_an_instant_is_written_in_zone_and_format(self, times: TimeText, text: str) -> None:
        node = Range("at", at("2026-01-01T03:30:00Z"), at("2026-07-01T03:30:00Z"))

        assert rendered(node, self.TEXT, times=times).text == text

    def test_an_instant_in_another_zone_is_the_same_instant(self) -> None:
        assert text_of("at:[2026-01-01T01:00:00+02:00 TO 2027]", self.TEXT) == "[2025/12/31 TO 2027]"

    def test_a_text_stays_what_it_is(self) -> None:
        assert text_of("at:[2020 TO 2024-06]", self.TEXT) == "[2020 TO 2024-06]"

    @pytest.mark.parametrize(("query", "text"), [("at:[* TO 24]", "[0001 TO 24]"), ("at:[20 TO *]", "[20 TO 3000]")])
    def test_an_open_end_is_written_as_the_rule_says(self, query: str, text: str) -> None:
        assert text_of(query, self.OPEN) == text

    @pytest.mark.parametrize(
        ("query", "said"), [("at:[* TO 2024]", {"open_end": "*"}), ("at:[2020 TO *]", {"open_start": "*"})]
    )
    def test_an_end_of_which_it_says_nothing_is_needed(self, query: str, said: dict[str, str]) -> None:
        error = refused("x " + query, self.TEXT.model_copy(update=said), WORDS, AND)

        assert (str(error), error.column) == ("RANGE over 'at' needs both ends", 3)

    @pytest.mark.parametrize("value", [None, "2020"])
    def test_what_is_no_instant_is_not_touched(self, value: str | None) -> None:
        assert DAYS.write(value) == value


class TestWhatTheRulesDoNotReach:
    """A query no rule can write is refused with the node's name and place."""

    @pytest.mark.parametrize(
        ("query", "rules", "message"),
        [
            ("a", [], "no render rule writes TOKEN (ANY)"),
            ("title:a", [WORDS], "no render rule writes TERM over 'title' (ANY)"),
            ("doi:*", [WORDS], "no render rule writes EXISTS over 'doi'"),
            ("at:[1 TO 2]", [WORDS], "no render rule writes RANGE over 'at'"),
            ("a b", [WORDS], "this source has no rule to combine with AND"),
            ("a OR b", [WORDS, AND], "this source has no rule to combine with OR"),
            ("a NOT b", [WORDS, AND], "this source has no rule to negate"),
            ("NOT a", [WORDS, NOT], "this source has no rule to say everything, which NOT needs"),
        ],
    )
    def test_by_name(self, query: str, rules: list[RuleSpec], message: str) -> None:
        assert str(refused(query, *rules)) == message

    @pytest.mark.parametrize(
        "node",
        [Term("x", "a", column=4), In("x", ("a",), column=4), Range("x", "1", "2", column=4), Exists("x", column=4)],
        ids=lambda node: type(node).__name__,
    )
    def test_by_column(self, node: Any) -> None:
        assert refused(node).column == 4
        assert refused(Not(node), *TEXT_RULES).column == 4

    def test_as_people_read_it(self) -> None:
        error = refuse_unrenderable(Unrenderable("no render rule writes it", 7), "source 'x'")

        assert isinstance(error, BadInput)
        assert (error.code, error.where) == ("QUERY_UNSUPPORTED", "source 'x'")
        assert error.message == "column 7: no render rule writes it"
        assert "render_rules" in error.remedy
        assert refuse_unrenderable(Unrenderable("no rule to negate"), "").message == "no rule to negate"


def shipped(name: str, endpoint: str, query: str) -> Rendered:
    """A shipped source's rendering of a query and a slice's window."""
    rows = rows_of(read_source(shipped_sources()[f"{name}.yaml"], name))
    spec = compile_source(rows, CompileRequest(name, endpoint, Operation.HARVEST, query), NOW).spec
    slice_ = Range(spec.time.field, at("2026-01-01"), at("2026-01-02"))
    return Renderer(spec.rules, TimeText(spec.time.format)).render(both(parse_query(query), slice_))


class TestTheShippedSources:
    """Queries people would ask of them."""

    def test_pubmed_takes_text_and_dates(self) -> None:
        result = shipped("pubmed", "search", 'tiab:"heart failure" NOT pub_type:(review, letter)')

        assert result.text == '"heart failure"[tiab] NOT ("letter"[pt] OR "review"[pt])'
        assert result.params == {"mindate": "2026/01/01", "maxdate": "2026/01/02"}

    def test_crossref_takes_filters_and_words(self) -> None:
        result = shipped("crossref", "works", "heart type:journal-article")

        assert result.text == "heart"
        assert result.params == {
            "filter": "from-index-date:2026-01-01T00,until-index-date:2026-01-02T00,type:journal-article"
        }

    def test_crossref_takes_several_types(self) -> None:
        result = shipped("crossref", "works", "type:(book, journal-article)")

        assert result.params["filter"].endswith("T00,type:book,type:journal-article")

    def test_pubmed_knows_before_and_after(self) -> None:
        before, after = (shipped("pubmed", "search", f"published:[{ends}]").text for ends in ("* TO 2020", "2020 TO *"))

        assert (before, after) == ('("1000"[dp] : "2020"[dp])', '("2020"[dp] : "3000"[dp])')

    def test_pubmed_refuses_a_second_condition_on_the_window(self) -> None:
        with pytest.raises(BadInput):
            shipped("pubmed", "search", "modified:[2020 TO 2021]")
