"""A value in a query is data: every shipped source refuses it, or tells the provider one value in one place.

Each case goes the whole way: query text, capabilities, render rules, request, and the URL the HTTP library makes of it.
That is then read by the readers of `tests.support.query_languages`, which know nothing of how the product writes it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from urllib.parse import unquote, unquote_plus

import pytest

from ingest_core.execution.paging import paginator_of
from ingest_core.execution.request import Caller, render_request
from ingest_core.model.codes import ExprOp, FieldType, Operation
from ingest_core.model.errors import BadInput
from ingest_core.model.expression import EVERYTHING, Term, Token
from ingest_core.model.spec import SpecSnapshot
from ingest_core.model.template import parse_template
from ingest_core.registry.capability import check_query
from ingest_core.registry.compile import CompileRequest, compile_source, endpoint_for
from ingest_core.registry.query_text import parse_query
from ingest_core.registry.read import read_source
from ingest_core.registry.rows import Row, Rows, rows_of
from ingest_core.shipped import shipped_sources
from ingest_core.transport.http import HttpUpstream
from tests.support.query_languages import LANGUAGES, PHRASES, Broken, Lexeme, words_of
from tests.support.specs import NOW, span

WINDOW = span("00:00", "01:00")

HOSTILE = [
    'x"y', '" OR "1"="1', 'a" OR b', '"x"[uid]', "x'y", "[x]", "x] TO y[", "(x", "x)", ") OR (x", "{x}", "x}",
    "{from}", "{value}", "{{to}}", "$.x", "x OR 1:1[uid]", " OR 1:1[uid]", "x&rows=1", "x=1", "x#y", "50%",
    "%22x%22", "%26rows=1", "x,type:y", "x,y", "a|b", "x:y", "TITLE:x", "title:y", "x;y", "x?y", "x/y",
    "../../admin", "a\nb", "a\r\nHost: evil", "a\tb", "back\\slash", "x\\", "\\x", 'x\\" OR y:"z', "-x", "*x", "x*",
    "+x", "!x", "~x", "x~2", "x^9", "AND", "OR", "NOT", "TO", "x AND y", "x AND NOT y", "x && y", "x || y", "😀 x",
    "\u202eabc\u202c", "שלום", "é学", "<b>x</b>", "AREA[Phase]x", "RANGE[MIN,MAX]x", "x\x00y", "x\x1by",
]  # fmt: skip

BENIGN = [
    "alpha", "beta", "2020", "2021", "en", "de", "1234-5678", "1234-567X", "0000-0002-1825-0097", "0000-0001-5109-3700",
    "012345678", "087654321", "10.1234", "10.5678", "10.1234/alpha", "10.1234/beta",
]  # fmt: skip


# ---------------------------------------------------------------- what is sent


@cache
def rows_by_source() -> dict[str, Rows]:
    """Every shipped source that compiles and is asked by queries."""
    found = {}
    for name, text in shipped_sources().items():
        code = name.removesuffix(".yaml")
        try:
            rows = rows_of(read_source(text, name))
            compile_query(code, rows, None)
        except BadInput:  # it is being written, or serves no harvests; other tests say which
            continue
        found[code] = rows
    return found


def compile_query(source: str, rows: Rows, query: str | None) -> SpecSnapshot:
    """The snapshot of a harvest with this query."""
    endpoint = endpoint_for(rows, source, None, Operation.HARVEST)
    return compile_source(rows, CompileRequest(source, endpoint, Operation.HARVEST, query), NOW).spec


@cache
def base_spec(source: str) -> SpecSnapshot:
    """The snapshot of a harvest of everything."""
    return compile_query(source, rows_by_source()[source], None)


def spec_of(source: str, query: str | None) -> SpecSnapshot:
    """What `compile_query` gives, without compiling all the rest each time; a test holds the two against each other."""
    rows = rows_by_source()[source]
    node = parse_query(query) if query else EVERYTHING
    fields = {row["field_code"]: FieldType(row["field_type_code"]) for row in rows["reg_expr_field_dict"]}
    capabilities = {row["field_code"]: row for row in rows["reg_prov_expr_capability"]}
    for finding in check_query(node, fields, capabilities):
        raise BadInput("QUERY_INVALID", finding.message)
    return base_spec(source).model_copy(update={"expression": node.json()})


@cache
def upstream() -> HttpUpstream:
    """The product's own way to make a URL."""
    return HttpUpstream("tests")


@cache
def parameters(source: str, query: str | None) -> list[Lexeme]:
    """Name and value of everything the provider is told, read from the URL."""
    spec = spec_of(source, query)
    request = render_request(spec, WINDOW, paginator_of(spec.paging).first(), Caller("test"))
    url = str(upstream().preview(request)["url"]).partition("://")[2]
    path, _, asked = url.partition("?")
    parts = [(f"path {place}", unquote(part)) for place, part in enumerate(path.split("/"))]
    pairs = (pair.partition("=") for pair in asked.split("&"))
    return parts + [(unquote_plus(name), unquote_plus(value)) for name, _, value in pairs]


# ---------------------------------------------------------------- the cases


@dataclass(frozen=True)
class Case:
    """A field of a source, or its free words, and what may be asked of it."""

    source: str
    field: str | None
    op: ExprOp

    def __str__(self) -> str:
        return f"{self.source}-{self.field or 'words'}-{self.op}"

    @property
    def capability(self) -> Row:
        """What the source says of the field."""
        rows = rows_by_source()[self.source]["reg_prov_expr_capability"]
        return next(row for row in rows if row["field_code"] == self.field)

    def spellings(self, value: str, other: str) -> Iterator[str]:
        """The ways to write the value in a query: quoted, exact, and bare where that means the same."""
        quoted = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        if self.op == ExprOp.IN:
            yield f"{self.field}:({other}, {quoted})"
            return
        place = f"{self.field}:" if self.field else ""
        yield place + quoted
        if self.capability["matches"] or any(rule.match for rule in base_spec(self.source).rules):
            yield f"{place}={quoted}"
        if self._means(place + value, value):
            yield place + value

    def _means(self, text: str, value: str) -> bool:
        try:
            return parse_query(text) == (Term(self.field, value) if self.field else Token(value))
        except BadInput:
            return False

    @cache  # noqa: B019 - a handful of cases, for the time of the tests
    def benign(self) -> tuple[str, str]:
        """Two values that are what the field is for."""
        fine = [value for value in BENIGN if any(self.asked(value, value))]
        assert len(fine) >= 2, f"{self}: BENIGN has no two values for this field, add them"
        return fine[0], fine[1]

    def asked(self, value: str, other: str) -> Iterator[str]:
        """The spellings the source takes; a refusal must say what is wrong."""
        for query in self.spellings(value, other):
            try:
                parameters(self.source, query)
            except BadInput as error:
                _must_explain(error)
            else:
                yield query


def _must_explain(error: BadInput) -> None:
    reasons = "does not match|control characters|a match of kind|letter or digit"
    if error.code != "QUERY_INVALID" or not re.search(reasons, error.message):
        raise error


def cases() -> list[Case]:
    """Everything that can be asked with a value."""
    valued = (ExprOp.TERM, ExprOp.IN, ExprOp.TOKEN)
    return [
        Case(source, row["field_code"], op)
        for source, rows in rows_by_source().items()
        for row in rows["reg_prov_expr_capability"]
        for op in valued
        if op.value in row["ops"]
    ]


def structure(case: Case, query: str, values: list[str]) -> list[object]:
    """What the provider reads, the query's values taken out; Broken if they are not there, each as one sign."""
    window = dict(parameters(case.source, None))
    told: list[object] = []
    for name, text in parameters(case.source, query):
        if window.get(name) == text:
            told.append((name, text))
            continue
        language = LANGUAGES.get((case.source, name), PHRASES)
        wanted = sorted(map(language.clean, values))
        held: list[str] = []
        for kind, sign in language.read(text):
            found = kind in ("phrase", "word", "value") and words_of(sign) in wanted
            held += [words_of(sign)] if found else []
            told.append((name, kind, None if found else sign))
        if sorted(held) != wanted:
            raise Broken(f"became {text!r}, with {held} instead of {wanted}")
    return told


def failures(case: Case) -> Iterator[str]:
    """Each hostile value that does not stay where a benign one stands, and how."""
    first, second = case.benign()
    pair = [first, second] if case.op == ExprOp.IN else [second]
    model = structure(case, next(case.asked(second, first)), pair)
    for value in HOSTILE:
        for query in case.asked(value, first):
            try:
                told = structure(case, query, [first, value] if case.op == ExprOp.IN else [value])
            except Broken as broken:
                yield f"{query!r}: {broken}"
                continue
            if told != model:
                yield f"{query!r}: reads as {told}, not as {model}"


@pytest.mark.parametrize("case", cases(), ids=str)
def test_a_hostile_value_is_refused_or_stays_one_value_in_its_place(case: Case) -> None:
    assert list(failures(case)) == []


@pytest.mark.parametrize("case", [case for case in cases() if not case.capability["term_pattern"]], ids=str)
def test_free_text_is_not_refused_only_to_be_safe(case: Case) -> None:
    taken = [value for value in HOSTILE if any(case.asked(value, "alpha"))]

    assert [value for value in HOSTILE if value not in taken] == ["x\x00y", "x\x1by"]


@pytest.mark.parametrize("case", {case.source: case for case in cases()}.values(), ids=str)
def test_the_compiler_takes_and_refuses_the_same(case: Case) -> None:
    rows = rows_by_source()[case.source]
    for query in [query for value in HOSTILE for query in case.spellings(value, "alpha")]:
        try:
            expected = spec_of(case.source, query).expression
        except BadInput as refusal:
            with pytest.raises(BadInput, match=re.escape(refusal.message)):
                compile_query(case.source, rows, query)
        else:
            assert compile_query(case.source, rows, query).expression == expected


@pytest.mark.parametrize("source", list(rows_by_source()))
def test_every_rule_that_takes_a_value_is_among_the_cases(source: str) -> None:
    ruled = {
        (rule.field, rule.op)
        for rule in base_spec(source).rules
        for text in (rule.template or "", *rule.params.values())
        if parse_template(text).names & {"value", "values"}
    }

    assert ruled <= {(case.field, case.op) for case in cases() if case.source == source}


def test_the_sources_of_the_product_are_among_the_cases() -> None:
    expected = {"crossref", "datacite", "doaj", "europepmc", "openalex", "pubmed"}

    assert {case.source for case in cases()} >= expected


# ---------------------------------------------------------------- ends of ranges, and values that are none


def ranges() -> list[tuple[str, str]]:
    """Every source and field that can be asked for a range."""
    return [
        (source, row["field_code"])
        for source, rows in rows_by_source().items()
        for row in rows["reg_prov_expr_capability"]
        if ExprOp.RANGE.value in row["ops"]
    ]


def taken_ends(values: list[str]) -> list[str]:
    """The ranges with such an end that some source does not refuse."""
    taken = []
    for source, field in ranges():
        for value in values:
            quoted = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
            for query in (f"{field}:[{quoted} TO 2020]", f"{field}:[2020 TO {quoted}]"):
                try:
                    parameters(source, query)
                except BadInput:
                    continue
                taken.append(f"{source}: {query!r}")
    return taken


def test_a_hostile_end_of_a_range_is_refused() -> None:
    assert taken_ends(HOSTILE) == []


def test_an_end_of_a_range_has_neither_a_line_break_nor_foreign_digits() -> None:
    assert taken_ends(["2020\n", "２０２０"]) == []


@pytest.mark.parametrize("value", ['"', '\\"', "\\", "\\\\", " ", '" "', "\n"], ids=ascii)
def test_a_value_with_nothing_in_it_is_refused(value: str) -> None:
    """It would be written as an empty phrase, which providers ignore: everything would be found."""
    taken = [str(case) for case in cases() if any(case.asked(value, case.benign()[0]))]

    assert taken == []


def test_half_a_character_is_refused() -> None:
    """A shell passes on bytes that are no text as such halves."""
    assert [str(case) for case in cases() if any(case.asked("x\ud800y", case.benign()[0]))] == []
