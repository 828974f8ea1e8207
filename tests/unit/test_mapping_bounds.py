"""Mapping functions are linear, and bounded in what they build, whatever a provider sends."""

import json
from threading import Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest_core.execution.decode import PageBroken, decode_page
from ingest_core.execution.fetch import Abandoned
from ingest_core.execution.routing import Router
from ingest_core.gate.taxonomy import UpstreamError
from ingest_core.model.codes import ErrorLevel, QuarantineReason
from ingest_core.model.spec import PredicateSpec, SpecSnapshot
from ingest_core.registry import patterns
from ingest_core.registry.bounds import (
    MAX_COMMON_CHARS,
    MAX_COMMON_VALUES,
    MAX_NUMBER_BITS,
    SMALL_RECORD_CHARS,
    BoundExceeded,
    check_common,
    flat,
)
from ingest_core.registry.dates import parse_source_time, partial_date
from ingest_core.registry.extraction import compile_value
from ingest_core.registry.paths import compile_path, path_problem
from tests.support.hostile_mappings import EXPRESSIONS, HOSTILE
from tests.support.specs import at, crossref_spec, page_of

ASKED_AT = at("12:00")

SLOW = "(a|aa)+$"
VICTIM = "a" * 60 + "b"


def size_of(value: Any) -> tuple[int, int]:
    """Characters and values of a result."""
    if isinstance(value, dict):
        inner = [size_of(one) for one in value.values()]
        return sum(map(len, value)) + sum(one[0] for one in inner), len(value) + sum(one[1] for one in inner)
    if isinstance(value, list):
        inner = [size_of(one) for one in value]
        return sum(one[0] for one in inner), 1 + sum(one[1] for one in inner)
    return (len(value) if isinstance(value, str) else 0), 1


HOSTILE_VALUES = st.recursive(
    st.one_of(
        st.text(max_size=20),
        st.integers(min_value=-(10**30), max_value=10**30),
        st.none(),
        st.booleans(),
        st.builds(lambda name, n: HOSTILE[name](n), st.sampled_from(sorted(HOSTILE)), st.integers(0, 2000)),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=5), inner, max_size=4)),
    max_leaves=6,
)


@given(expression=st.sampled_from(EXPRESSIONS), value=HOSTILE_VALUES)
def test_what_an_expression_builds_is_within_the_bounds_or_refused(expression: dict[str, Any], value: Any) -> None:
    try:
        found = {"field": compile_value(expression)({"v": value})}
        check_common(found, SMALL_RECORD_CHARS + 1)
    except (BoundExceeded, RecursionError):
        return
    chars, values = size_of(found)
    assert chars <= MAX_COMMON_CHARS + len("field")
    assert values <= 2 * MAX_COMMON_VALUES


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ({"path": "$.v", "as": "words"}, {"w" * 200_000: [0] * 20_000}),
        ({"path": "$.v", "as": "join:;"}, ["a" * 3000] * 1000),
        ({"path": "$.v", "as": ["text", f"join:{'-' * 900}"]}, ["a"] * 3000),
        ({"join": ["$.v", "$.v"]}, "a" * (MAX_COMMON_CHARS // 2 + 1)),
        ({"all": ["$.v", "$.v"]}, "a" * (MAX_COMMON_CHARS // 2 + 1)),
        ({"path": "$.v", "as": "text"}, [1] * (MAX_COMMON_VALUES + 1)),
        ({"path": "$.v", "as": "list"}, [[1] * MAX_COMMON_VALUES, [1]]),
        ({"path": "$.v", "as": "split:;"}, ";" * MAX_COMMON_VALUES),
        ("$.v.`split(;, *, -1)`", ";" * (MAX_COMMON_CHARS + 1)),
        ({"collect": ["$.v"]}, ["a"] * (MAX_COMMON_VALUES + 1)),
        ({"each": "$.v", "x": "$.x"}, [{}] * (MAX_COMMON_VALUES + 1)),
        ({"path": "$.v", "as": "match:a"}, "a" * 65_537),
        ("$.v", 1 << (MAX_NUMBER_BITS + 1)),
    ],
)
def test_a_value_beyond_a_bound_is_refused_before_it_is_built(expression: Any, value: Any) -> None:
    with pytest.raises(BoundExceeded):
        compile_value(expression)({"v": value})


def test_small_values_are_as_before() -> None:
    def taken(expression: Any, value: Any) -> Any:
        return compile_value(expression)({"v": value})

    assert taken({"path": "$.v", "as": "orcid"}, "https://orcid.org/0000-0002-1825-009x / ") == "0000-0002-1825-009X"
    assert taken({"path": "$.v", "as": "orcid"}, "10000000218250097/") == "0000-0002-1825-0097"
    assert taken({"path": "$.v", "as": "orcid"}, "0000-0002-1825-0097 x") is None
    assert taken({"path": "$.v", "as": "words"}, {"b": [1, 3], "a": [0, 2], "c": "no"}) == "a b a b"
    assert taken({"collect": ["$.v[*]", {"value": "b"}]}, ["a", ["b", "a"], "c"]) == ["a", "b", "c"]
    same = {"collect": [{"each": "$.v", "x": "$.x", "y": "$.y"}]}
    assert taken(same, [{"x": "1", "y": "2"}, {"y": "2", "x": "1"}]) == [{"x": "1", "y": "2"}]
    assert list(flat([1, [2, [3, []], 4], [[5]]])) == [1, 2, 3, 4, 5]
    assert list(flat("x")) == ["x"]


def test_dates_within_dates_are_no_date() -> None:
    assert partial_date(HOSTILE["dates in dates"](5000)) is None
    assert parse_source_time(HOSTILE["dates in dates"](5000)) is None


class TestPaths:
    @pytest.mark.parametrize(
        ("path", "said"),
        [
            ("$..a..b", "`..` more than once"),
            ("$..*..*..*", "`..` more than once"),
            ("$['a','a'][0,0][0,0]", "names a step twice"),
            ("$[0,0]", "names a step twice"),
            ("$.a * $.b", "uses Operation"),
            ("$.a[?(@.b =~ '(a|aa)+$')]", "uses =~"),
            ("$.a.`sub(/(a|aa)+$/, x)`", "uses Sub"),
            ("$.a[*].`parent`.a[*]", "uses Parent"),
            ("$.a[?($.b[*])]", "names `$` more than once"),
            ("$.*" + ".x" * 1000, "more than 1,000"),
            ("$.[[", "is not a path"),
        ],
    )
    def test_a_path_that_could_find_more_than_the_document_holds_is_refused(self, path: str, said: str) -> None:
        assert said in str(path_problem(path))

    @pytest.mark.parametrize(
        "path",
        [
            "$..a",
            "$.*",
            "$.a[-1]",
            "$.a[0:2]",
            "$.a[?(@.b!='x')].c",
            "$.a[?(@.b)]",
            "$['a','b']",
            "$.a.`len`",
            "$.a.`split(;, *, -1)`",
        ],
    )
    def test_others_are_not(self, path: str) -> None:
        assert path_problem(path) is None

    def test_a_document_too_large_for_jsonpath_is_refused(self) -> None:
        with pytest.raises(BoundExceeded, match=r"path \$\.\.a is too costly: the document has more than 300,000"):
            compile_path("$..a")({"v": [1] * 300_001})


def _spec(**mapping: Any) -> SpecSnapshot:
    return crossref_spec().model_copy(update={"mapping": mapping})


def _work(number: int, **fields: Any) -> dict[str, Any]:
    return {"DOI": f"10.1/{number}", "indexed": {"date-time": "2026-01-01T00:00:00Z"}, **fields}


@pytest.fixture
def short_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "RECORD_SECONDS", 0.05)
    monkeypatch.setattr(patterns, "PAGE_SECONDS", 0.5)


class TestRecords:
    def route(self, spec: SpecSnapshot, *items: dict[str, Any]) -> Any:
        return Router(spec).route(page_of(list(items), raw=[json.dumps(one) for one in items]), ASKED_AT)

    def test_a_record_that_explodes_goes_to_quarantine_and_its_neighbours_are_stored(self) -> None:
        spec = _spec(abstract={"path": "$.v", "as": "words"})
        routed = self.route(spec, _work(1, v={"a": [0]}), _work(2, v={"w" * 200_000: [0] * 20_000}), _work(3))
        (entry,) = routed.rejected
        assert [one.provider_id for one in routed.records] == ["10.1/1", "10.1/3"]
        assert (entry.reason, entry.json_path, entry.provider_id) == ("TOO_LARGE", "mapping.abstract", "10.1/2")

    @pytest.mark.parametrize("times", [60, 3000])
    def test_fields_are_counted_together(self, times: int) -> None:
        spec = _spec(**{f"f{number:02}": {"each": "$.v", "x": {"value": "l" * 1000}} for number in range(40)})
        (entry,) = self.route(spec, _work(1, v=[{}] * times, w="x" * (times * 5))).rejected
        assert entry.reason == QuarantineReason.TOO_LARGE
        assert entry.json_path.startswith("mapping.f")

    @pytest.mark.usefixtures("short_time")
    def test_a_slow_pattern_costs_its_record_alone(self) -> None:
        spec = _spec(kind={"path": "$.v", "as": f"match:{SLOW}"})
        routed = self.route(spec, _work(1, v="aa"), _work(2, v=VICTIM), _work(3, v="b"))
        (entry,) = routed.rejected
        assert [one.fields for one in routed.records] == [{"kind": "a"}, {}]
        assert (entry.reason, entry.json_path) == ("PATTERN_TIMEOUT", f"mapping.kind '{SLOW}'")

    @pytest.mark.usefixtures("short_time")
    @pytest.mark.parametrize("key", ["record_error", "deleted"])
    def test_a_slow_predicate_costs_its_record_alone(self, key: str) -> None:
        spec = _spec()
        predicate = PredicateSpec(path="$.v", matches=SLOW)
        spec = spec.model_copy(update={"response": spec.response.model_copy(update={key: predicate})})
        routed = self.route(spec, _work(1, v="b"), _work(2, v=VICTIM))
        (entry,) = routed.rejected
        assert [one.provider_id for one in routed.records] == ["10.1/1"]
        assert (entry.reason, entry.json_path) == ("PATTERN_TIMEOUT", f"response.{key} '{SLOW}'")

    @pytest.mark.usefixtures("short_time")
    @pytest.mark.parametrize("key", ["id_path", "updated_at_path", "version_path"])
    def test_a_slow_id_time_or_version_costs_its_record_alone(self, key: str) -> None:
        spec = _spec()
        expression = {"any": [{"path": "$.v", "as": f"match:{SLOW}"}, "$.DOI"], "as": "text"}
        if key == "updated_at_path":
            expression = {"any": [{"path": "$.v", "as": f"match:{SLOW}"}, "$.indexed.date-time"], "as": "text"}
        spec = spec.model_copy(update={"response": spec.response.model_copy(update={key: expression})})
        routed = self.route(spec, _work(1), _work(2, v=VICTIM))
        (entry,) = routed.rejected
        assert [one.provider_id for one in routed.records] == ["10.1/1"]
        assert entry.reason == "PATTERN_TIMEOUT"
        assert entry.json_path == f"response.{key.removesuffix('_path')} '{SLOW}'"

    @pytest.mark.usefixtures("short_time")
    def test_a_page_of_slow_records_is_an_error_of_the_page(self) -> None:
        spec = _spec(kind={"path": "$.v", "as": f"match:{SLOW}"})
        with pytest.raises(UpstreamError, match=r"0\.5 s on the records of one page") as failed:
            self.route(spec, *(_work(number, v=VICTIM) for number in range(1000)))
        assert (failed.value.code, failed.value.level) == ("PATTERN_TIMEOUT", ErrorLevel.L2)

    def test_records_of_a_page_that_is_no_longer_wanted_are_not_begun(self) -> None:
        abandoned = Event()
        abandoned.set()
        with pytest.raises(Abandoned):
            Router(_spec()).route(page_of([_work(1)], raw=["{}"]), ASKED_AT, abandoned=abandoned)

    def test_a_pattern_of_an_old_snapshot_that_is_refused_now_costs_records_not_the_run(self) -> None:
        spec = _spec(kind={"path": "$.v", "as": "match:(a{1000}){1000}"})
        (entry,) = self.route(spec, _work(1, v="a")).rejected
        assert (entry.reason, entry.json_path) == ("TOO_LARGE", "mapping.kind")


class TestPages:
    @pytest.mark.usefixtures("short_time")
    @pytest.mark.parametrize(("key", "body"), [("errors", {"message": {"items": []}}), ("empty", {"message": {}})])
    def test_a_slow_predicate_of_a_page_is_an_error_of_the_page(self, key: str, body: dict[str, Any]) -> None:
        spec = crossref_spec()
        predicates = [PredicateSpec(path="$.v", matches=SLOW)]
        spec = spec.model_copy(update={"response": spec.response.model_copy(update={key: predicates})})
        with pytest.raises(PageBroken, match=f"response.{key}: pattern ") as broken:
            decode_page(json.dumps({**body, "v": VICTIM}).encode(), spec)
        assert (broken.value.code, broken.value.level) == ("PATTERN_TIMEOUT", ErrorLevel.L2)

    def test_a_stated_error_of_deep_nesting_is_still_said(self) -> None:
        spec = crossref_spec()
        predicates = [PredicateSpec(path="$.v")]
        spec = spec.model_copy(update={"response": spec.response.model_copy(update={"errors": predicates})})
        body = b'{"v": ' + b"[" * 900 + b"]" * 900 + b"}"
        with pytest.raises(PageBroken, match="the provider answered with an error"):
            decode_page(body, spec)
