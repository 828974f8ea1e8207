"""What a provider cannot do is said and done otherwise; what cannot be done at all is refused when compiling."""

import time
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest_core.execution.request import Caller, render_detail, render_query, render_request
from ingest_core.model.codes import Operation
from ingest_core.model.errors import BadInput
from ingest_core.model.expression import EVERYTHING, from_json
from ingest_core.model.id_range import unset_part
from ingest_core.model.spec import SpecSnapshot
from ingest_core.registry.compile import Compiled, CompileRequest, compile_source
from ingest_core.registry.query_text import parse_query
from ingest_core.registry.read import read_source
from ingest_core.registry.rows import rows_of
from ingest_core.registry.unset import can_read_unset
from ingest_core.shipped import shipped_sources
from tests.support.small_source import Document, compiled, problems_of, small_document, small_endpoint
from tests.support.specs import NOW, pubmed_spec, span

CALLER = Caller("test")
COMPLETE = small_document(
    endpoints=[small_endpoint(response={"total": "$.total"})], pagination={"has_more": "$.more", "page_size": 100}
)
NO_FILTER = {"supports_updated_since": False, "stable_order": True}
SHIPPED = {name.removesuffix(".yaml"): rows_of(read_source(text, name)) for name, text in shipped_sources().items()}


def degradations(document: Document) -> list[str]:
    """The first words of each degradation."""
    return [one.split(":")[0] for one in compiled(document).degradations]


def shipped(name: str, query: str | None = None) -> SpecSnapshot:
    """A shipped source, compiled for its first endpoint and operation."""
    endpoint = SHIPPED[name]["reg_prov_endpoint_def"][0]
    operation = Operation(max(endpoint["operations"]))
    return compile_source(SHIPPED[name], CompileRequest(name, endpoint["endpoint_name"], operation, query), NOW).spec


class TestDegradations:
    """Each capability that is missing, and what is done instead."""

    def test_a_provider_that_can_do_all_has_none(self) -> None:
        assert degradations(COMPLETE) == []
        assert compiled(COMPLETE).traits == []

    def test_without_a_total_completeness_cannot_be_checked(self) -> None:
        document = {**COMPLETE, "endpoints": [small_endpoint()]}

        assert degradations(document) == ["no total"]
        assert "completeness cannot be checked" in compiled(document).degradations[0]

    def test_without_has_more_pages_go_on_until_one_ends(self) -> None:
        document = {**COMPLETE, "pagination": small_document()["pagination"]}

        assert degradations(document) == []
        assert compiled(document).traits == [
            "no hasMore: pages go on until the provider names no next place, or a page is empty"
        ]

    def test_without_updated_since_all_is_read_and_filtered_here(self) -> None:
        document = {**COMPLETE, "window": {**COMPLETE["window"], **NO_FILTER}}

        assert degradations(document) == ["no updatedSince"]
        assert "filters here, one slice per plan" in compiled(document).degradations[0]
        assert not compiled(document).spec.time.supports_updated_since

    def test_they_add_up(self) -> None:
        assert degradations(small_document(window=NO_FILTER)) == ["no total", "no updatedSince"]

    def test_a_refresh_by_id_misses_none_of_them(self) -> None:
        assert compiled(by_id(), Operation.UPDATE, "record").degradations == []

    def test_without_updated_since_and_without_an_order_nothing_can_be_done(self) -> None:
        problems = problems_of(small_document(window={"supports_updated_since": False}))

        assert [problem.rule for problem in problems] == ["WINDOW_UNORDERED"]
        assert "stable_order: true" in problems[0].remedy
        assert "serve only UPDATE" in problems[0].remedy

    def test_without_updated_since_no_rule_for_the_window_is_needed(self) -> None:
        document = small_document(window=NO_FILTER, render_rules=[])

        assert render_query(compiled(document).spec, span("00:00", "06:00")).params == {}

    def test_without_updated_since_the_window_is_not_asked_for(self) -> None:
        spec = compiled(small_document(window=NO_FILTER)).spec

        assert render_query(spec, span("00:00", "06:00")).params == {}


def by_id(**response: Any) -> Document:
    """A source that only refreshes records by id: no pages, no window, and perhaps no time of change."""
    document = small_document(
        endpoints=[small_endpoint(name="record", role="DETAIL", operations=["UPDATE"], response=response)],
        params=[{"name": "ids", "value": "ids"}],
    )
    return {name: block for name, block in document.items() if name not in ("pagination", "window", "render_rules")}


class TestWithoutATimeOfChange:
    """A record that does not say when it changed can be refreshed by id, not harvested."""

    def test_update_by_id_compiles(self) -> None:
        spec = compiled(by_id(updated_at=None), Operation.UPDATE, "record").spec

        assert (spec.window, spec.pagination, spec.response.updated_at_path) == (None, None, None)
        assert spec.detail is not None
        assert render_detail(spec, ["1", "2"], CALLER).query == [("ids", "1,2")]

    def test_harvest_says_so_and_points_to_update(self) -> None:
        document = small_document(endpoints=[small_endpoint(response={"updated_at": None})])
        (problem,) = problems_of(document)

        assert problem.rule == "UPDATED_AT_MISSING"
        assert problem.key == "endpoints.works.response.updated_at"
        assert problem.message == "HARVEST needs the time each record was last changed"
        assert "serve only UPDATE, which refreshes known records by id" in problem.remedy

    def test_the_time_may_be_in_the_details(self) -> None:
        search = small_endpoint(response={"updated_at": None}, detail="record")
        detail = by_id()["endpoints"][0]
        document = small_document(endpoints=[search, detail])
        document["params"].append({"name": "ids", "value": "ids", "for": {"endpoint": "record"}})

        assert compiled(document).spec.detail is not None

    def test_ids_that_are_no_longer_sent_are_not_sent(self) -> None:
        document = {**by_id(), "params": [{"name": "ids", "value": "ids", "effective_to": "2020-01-01"}]}

        assert [one.rule for one in problems_of(document, operation=Operation.UPDATE, endpoint="record")] == [
            "IDS_UNSENT"
        ]


def searched(**changes: Any) -> Document:
    """A source whose search serves UPDATE too, with its details if `detail` is given."""
    search = small_endpoint(operations=["HARVEST", "UPDATE"], **changes)
    document = small_document(endpoints=[search, by_id()["endpoints"][0]])
    document["params"].append({"name": "ids", "value": "ids", "for": {"endpoint": "record"}})
    return document


class TestARefreshOfASearch:
    """It follows time where it was asked to or cannot do otherwise, and else goes by id."""

    def test_a_search_without_details_follows_time(self) -> None:
        spec = compiled(searched(), Operation.UPDATE).spec

        assert (spec.time.field, spec.paging.page_size) == ("updated", 70)
        assert spec.detail is None

    def test_a_search_with_details_goes_by_id(self) -> None:
        spec = compiled(searched(detail="record"), Operation.UPDATE).spec

        assert (spec.window, spec.pagination) == (None, None)
        assert spec.detail is not None

    def test_a_search_with_details_follows_time_where_it_was_asked_to(self) -> None:
        spec = compiled(searched(detail="record"), Operation.UPDATE, timed=True).spec

        assert spec.time == compiled(searched(detail="record")).spec.time
        assert spec.detail is not None

    def test_details_themselves_are_always_refreshed_by_id(self) -> None:
        spec = compiled(searched(detail="record"), Operation.UPDATE, "record", timed=True).spec

        assert (spec.window, spec.pagination) == (None, None)

    def test_a_search_without_time_and_without_details_cannot_be_refreshed(self) -> None:
        document = {name: block for name, block in searched().items() if name not in ("window", "render_rules")}

        assert [one.rule for one in problems_of(document, operation=Operation.UPDATE)] == ["DETAIL_UNLINKED"]


def test_a_field_that_splits_must_reach_the_provider() -> None:
    fields = [*small_document()["fields"], {"name": "number", "type": "NUMBER"}]
    rule = {"field": "number", "op": "RANGE", "template": "{from}:{to}", "open_start": "0", "open_end": "9"}
    rules = [*small_document()["render_rules"], rule]

    assert problems_of(small_document(slicing={"split_field": "number"}, fields=fields, render_rules=rules))


class TestRecordsWithoutTheSplitField:
    """A source says whether they can be asked for; where they cannot, the plan says what happens."""

    RANGE: ClassVar = {"field": "number", "op": "RANGE", "open_start": "0", "open_end": "9"}
    BY_TEXT: ClassVar = {**RANGE, "template": "{from}:{to}"}
    BY_PARAMS: ClassVar = {**RANGE, "params": {"low": "{from}", "high": "{to}"}}
    NOT: ClassVar = [{"op": "NOT", "template": " NOT "}, {"op": "CONST", "template": "all"}]
    EXISTS: ClassVar = {"field": "number", "op": "EXISTS", "template": "has:number"}
    QUERY: ClassVar = {"name": "q", "value": "query"}

    def compiled(self, *rules: Any, carried: bool = True, total: bool = True, **pagination: Any) -> Compiled:
        usual = small_document()
        return compiled(
            small_document(
                endpoints=[small_endpoint(response={"total": "$.total" if total else None})],
                pagination=pagination,
                slicing={"split_field": "number"},
                fields=[*usual["fields"], {"name": "number", "type": "NUMBER"}],
                params=[*usual["params"], *([self.QUERY] if carried else [])],
                render_rules=[*usual["render_rules"], *rules],
            )
        )

    @pytest.mark.parametrize(
        ("rules", "text"),
        [
            ([BY_TEXT, *NOT], "all NOT 0:9"),
            ([BY_TEXT, *NOT, EXISTS], "all NOT has:number"),
            ([BY_PARAMS, *NOT, EXISTS], "all NOT has:number"),
        ],
        ids=["NOT RANGE", "NOT EXISTS", "NOT EXISTS beside parameters"],
    )
    def test_they_are_asked_for_where_the_rules_can_write_it(self, rules: list[Any], text: str) -> None:
        found = self.compiled(*rules)

        assert can_read_unset(found.spec)
        assert not any("number" in note for note in [*found.degradations, *found.warnings])
        assert render_query(found.spec, span("00:00", "06:00"), unset_part("number")).text == text

    def test_where_they_cannot_the_totals_are_compared_or_every_split_fails(self) -> None:
        for rules in ([self.BY_TEXT], [self.BY_PARAMS], [self.BY_PARAMS, *self.NOT]):
            found = self.compiled(*rules)
            assert not can_read_unset(found.spec)
            assert any("no NOT RANGE of 'number'" in note for note in found.degradations)
            assert found.warnings == []
        for found in (self.compiled(self.BY_TEXT, total=False), self.compiled(self.BY_TEXT, total_kind="ESTIMATE")):
            assert any("records without 'number' can neither be asked for" in note for note in found.warnings)

    def test_text_that_no_parameter_carries_would_ask_for_everything(self) -> None:
        assert not can_read_unset(self.compiled(self.BY_PARAMS, *self.NOT, self.EXISTS, carried=False).spec)

    def test_pubmed_can_be_asked_for_citations_without_an_id(self) -> None:
        rendered = render_query(pubmed_spec(), span("2026-03-10", "2026-03-11"), unset_part("uid"))

        assert rendered.text == "all[sb] NOT 1:999999999[UID]"


class TestPageSize:
    """A page asks for 70 % of the provider's cap, unless the file says otherwise."""

    @pytest.mark.parametrize(("cap", "size"), [(1000, 700), (100, 70), (10, 7), (5, 3), (2, 1), (1, 1)])
    def test_by_example(self, cap: int, size: int) -> None:
        assert compiled(small_document(pagination={"max_page_size": cap})).spec.paging.page_size == size

    @settings(deadline=None, max_examples=30)
    @given(st.integers(1, 100_000))
    def test_it_is_at_least_one_and_never_above_the_share(self, cap: int) -> None:
        size = compiled(small_document(pagination={"max_page_size": cap})).spec.paging.page_size

        assert size == 1 or cap * 0.7 - 1 < size <= cap * 0.7 + 1e-9

    @pytest.mark.parametrize("size", [1, 71, 100])
    def test_what_the_file_says_goes(self, size: int) -> None:
        assert compiled(small_document(pagination={"page_size": size})).spec.paging.page_size == size


ASKABLE = small_document(
    params=[{"name": "cursor", "value": "page_token"}, {"name": "q", "value": "query"}],
    fields=[{"name": "updated", "type": "DATETIME"}, {"name": "type", "type": "KEYWORD"}],
    capabilities=[{"ops": ["TOKEN"]}, {"field": "type", "ops": ["TERM"]}],
    render_rules=[
        *small_document()["render_rules"],
        {"op": "TOKEN", "template": "{value|phrase}"},
        {"op": "AND", "template": " AND "},
        {"field": "type", "op": "TERM", "template": "type:{value}"},
    ],
)

QUERY_PIECES = [
    "a",
    "b",
    "NOT",
    "AND",
    "OR",
    "(",
    ")",
    "tiab:x",
    "language:en",
    "has_abstract:*",
    "published:[2020 TO *]",
]


class TestQueries:
    """The standing query and the trigger's own hold together; what cannot be asked is refused now."""

    @pytest.mark.parametrize(
        ("standing", "asked", "together"),
        [
            (None, None, None),
            ("heart", None, "heart"),
            (None, "type:book", "type:book"),
            ("heart", "type:book", "heart AND type:book"),
            ("heart", "heart", "heart"),
        ],
    )
    def test_they_are_combined(self, standing: str | None, asked: str | None, together: str | None) -> None:
        document = {**ASKABLE, "endpoints": [small_endpoint(query=standing)]}
        spec = compiled(document, query=asked).spec

        assert from_json(spec.expression) == (parse_query(together) if together else EVERYTHING)

    def test_both_reach_the_request(self) -> None:
        document = {**ASKABLE, "endpoints": [small_endpoint(query="heart")]}
        request = render_request(compiled(document, query="type:book").spec, span("00:00", "06:00"), None, CALLER)

        assert ("q", 'type:book AND "heart"') in request.query

    @pytest.mark.parametrize("query", ["heart OR type:book", "NOT heart", "heart NOT type:book"])
    def test_a_part_no_rule_writes_is_refused(self, query: str) -> None:
        with pytest.raises(BadInput) as refused:
            compiled(ASKABLE, query=query)

        assert refused.value.code == "QUERY_UNSUPPORTED"
        assert refused.value.where == "source 'small', endpoint 'works', operation HARVEST"

    def test_together_they_may_be_too_much(self) -> None:
        rules = [rule for rule in ASKABLE["render_rules"] if rule["op"] != "AND"]
        document = {**ASKABLE, "render_rules": rules, "endpoints": [small_endpoint(query="heart")]}

        assert compiled(document)
        with pytest.raises(BadInput, match="no rule to combine with AND"):
            compiled(document, query="type:book")

    def test_a_text_without_a_parameter_is_refused(self) -> None:
        (problem,) = problems_of({**ASKABLE, "params": ASKABLE["params"][:1]}, query="heart")

        assert (problem.rule, problem.table) == ("QUERY_UNPLACED", "reg_prov_api_param_map")

    @settings(deadline=None, max_examples=150)
    @given(st.lists(st.sampled_from(QUERY_PIECES), max_size=9))
    def test_what_compiles_can_be_asked(self, words: list[str]) -> None:
        for name in ("pubmed", "crossref"):
            try:
                spec = shipped(name, " ".join(words))
            except BadInput:
                continue
            render_query(spec, span("00:00", "06:00"))

    def test_a_mistake_in_the_query_does_not_hide_the_others(self) -> None:
        document = {**ASKABLE, "window": {**ASKABLE["window"], "step": "PT90M"}}
        with pytest.raises(BadInput) as refused:
            compiled(document, query="titel:x")

        assert "STEP_NOT_WHOLE" in str(refused.value)
        assert "titel" in str(refused.value)


class TestBodies:
    """A POST's body is a template like any other: checked when compiling, and a place for values."""

    @pytest.mark.parametrize("template", ["{", "{qeury}", "{page_token|nope}"])
    def test_a_template_that_cannot_be_filled_is_refused(self, template: str) -> None:
        body = {"format": "JSON", "template": {"q": [{"deep": template}]}}

        assert problems_of(small_document(endpoints=[small_endpoint(method="POST", body=body)]))

    @pytest.mark.parametrize("name", ["page_token", "query"])
    def test_a_value_in_the_body_is_sent(self, name: str) -> None:
        body = {"format": "JSON", "template": {"value": f"{{{name}}}"}}
        document = {**ASKABLE, "endpoints": [small_endpoint(method="POST", body=body)]}
        document["params"] = [one for one in document["params"] if one["value"] != name]

        assert compiled(document, query="heart")


SECRET = "sk-live-0123456789abcdef"
OAUTH = {"auth": "OAUTH2", "ref": "env:A", "username_ref": "env:B"}


class TestSecrets:
    """A secret in the wrong place is refused without being repeated."""

    @staticmethod
    def said_about(document: Document) -> str:
        """All that is said: to people, and to scripts."""
        with pytest.raises(BadInput) as refused:
            compiled(document)
        problems = getattr(refused.value, "problems", [])
        return str(refused.value) + str([problem.json() for problem in problems])

    @pytest.mark.parametrize(
        "document",
        [
            small_document(credential={"auth": "BEARER", "ref": SECRET}),
            small_document(credential={"auth": "BEARER", "token": SECRET}),
            small_document(http={"headers": {"Authorization": f"Bearer {SECRET}"}}),
            small_document(http={"query": {"api_key": SECRET}}),
            small_document(http={"headers": {"X-Api-Key": SECRET}}),
            small_document(http={"proxy": f"http://me:{SECRET}@proxy.example.org"}),
            small_document(source={"defaults": {"credential": {"ref": SECRET}}}),
            small_document(endpoints=[small_endpoint(defaults={"credential": {"ref": SECRET}})]),
            small_document(http={"base_url": f"https://me:{SECRET}@api.example.org"}),
            small_document(http={"base_url": f"http://me:{SECRET}@api.example.org"}),
            small_document(http={"base_url": f"https://api.example.org?key={SECRET}"}),
            small_document(http={"headers": {"Authorization": f"Bearer {SECRET}{{"}}),
            small_document(credential={**OAUTH, "token_url": f"http://me:{SECRET}@login.example.org"}),
            pytest.param(
                small_document(http={"base_url": f"https://me:p@ss/{SECRET}@api.example.org"}),
            ),
        ],
    )
    def test_it_is_not_repeated(self, document: Document) -> None:
        assert SECRET not in self.said_about(document)

    @pytest.mark.parametrize(
        "document",
        [
            small_document(
                params=[*small_document()["params"], {"name": "api_key", "value": "contact", "default": SECRET}]
            ),
            small_document(
                endpoints=[small_endpoint(method="POST", body={"format": "JSON", "template": {"api_key": SECRET}})]
            ),
        ],
        ids=["a default", "a body"],
    )
    def test_a_secret_elsewhere_is_refused_too(self, document: Document) -> None:
        assert SECRET not in self.said_about(document)

    def test_a_reference_is_no_secret_and_the_snapshot_holds_no_more(self) -> None:
        spec = compiled(small_document(credential={"auth": "BEARER", "ref": "env:SMALL_TOKEN"})).spec

        assert spec.auth.credential_ref == "env:SMALL_TOKEN"


@pytest.mark.parametrize("name", SHIPPED)
def test_compiling_takes_no_time_to_speak_of(name: str) -> None:
    def once() -> float:
        began = time.perf_counter()
        shipped(name)
        return time.perf_counter() - began

    assert min(once() for _ in range(5)) < 0.05
