"""Compiling: all that is wrong is said at once, and what is right is frozen and hashed."""

from datetime import datetime
from typing import Any, ClassVar

import pytest

from ingest_core.model.codes import Operation
from ingest_core.model.errors import BadInput, ExitCode
from ingest_core.model.spec import SpecSnapshot
from ingest_core.registry.compile import endpoint_for
from ingest_core.registry.limits import rate_part
from ingest_core.registry.merge import merge_layers
from ingest_core.registry.problems import Problem, SpecInvalid
from tests.support.compiling import compile_spec
from tests.support.specs import NOW, at, compile_document, crossref_document, crossref_spec, rows_of_document

ENDPOINT = crossref_document()["endpoints"][0]
TWO_ENDPOINTS = [ENDPOINT, {**ENDPOINT, "name": "journals"}]
RULE = crossref_document()["render_rules"][0]
ROWS = {"name": "rows", "value": "page_size"}
CURSOR = {"name": "cursor", "value": "page_token"}
FIELD = "indexed_at"


def problems_of(document: dict[str, Any], now: datetime = NOW) -> list[Problem]:
    """What the compiler says about a document."""
    with pytest.raises(SpecInvalid) as refused:
        compile_document(document, now)
    assert refused.value.code == "SPEC_INVALID"
    assert refused.value.exit_code == ExitCode.BAD_INPUT
    assert refused.value.where == "source 'crossref', endpoint 'works', operation HARVEST"
    return refused.value.problems


def problem_of(document: dict[str, Any], now: datetime = NOW) -> Problem:
    """The one thing the compiler says about a document."""
    (problem,) = problems_of(document, now)
    return problem


def test_the_shipped_source_compiles_to_what_its_file_says() -> None:
    spec = crossref_spec()

    assert (spec.http.method, spec.http.base_url, spec.http.path) == ("GET", "https://api.crossref.org", "/works")
    assert (spec.http.connect_timeout_seconds, spec.http.read_timeout_seconds) == (10.0, 60.0)
    assert (spec.paging.type, spec.paging.position, spec.paging.token_ttl_seconds) == ("TOKEN", "SERVER", 300)
    assert (spec.time.lag_seconds, spec.time.lookback_seconds, spec.time.step_seconds) == (600, 7200, 21600)
    assert (spec.time.recheck_seconds, spec.time.time_zone, spec.time.supports_updated_since) == (1800, "UTC", True)
    assert (spec.retry.max_attempts, spec.retry.initial_seconds, spec.retry.max_seconds) == (5, 0.5, 30.0)
    assert (spec.rate.requests_per_second, spec.rate.burst) == (5.0, 1)
    assert [(param.name, param.value) for param in spec.params] == [
        ("cursor", "page_token"),
        ("query", "query"),
        ("rows", "page_size"),
    ]
    assert spec.response.updated_at_path == "$.indexed.date-time"
    assert (spec.id_normalizer, spec.on_equal) == ("DOI", "KEEP")
    assert spec.expression == {"op": "CONST", "value": True}


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://me:hidden@x.org/v1", "https://***@x.org/v1"),
        ("https://me:hid//den@x.org/v1?key=hidden", "https://***@x.org/v1"),
        ("me:hidden@x.org", "***@x.org"),
        ("https://x.org?key=hidden", "https://x.org"),
    ],
)
def test_a_password_in_a_base_url_is_not_shown(url: str, shown: str) -> None:
    found = problems_of(crossref_document(http={"base_url": url}))
    assert {problem.value for problem in found} == {shown}
    assert not any("hidden" in str(problem) for problem in found)


@pytest.mark.parametrize(
    ("changes", "rule", "key", "value"),
    [
        ({"http": {"base_url": "http://x.org"}}, "BASE_URL_NOT_HTTPS", "http.base_url", "http://x.org"),
        ({"http": {"base_url": "ftp://x", "allow_plain_http": True}}, "BASE_URL_NOT_HTTPS", "http.base_url", "ftp://x"),
        ({"http": {"base_url": "api.crossref.org"}}, "BASE_URL_NOT_HTTPS", "http.base_url", "api.crossref.org"),
        ({"credential": {"auth": "BEARER"}}, "CREDENTIAL_MISSING", "credential.ref", None),
        ({"pagination": {"next_token": None}}, "NEXT_TOKEN_MISSING", "pagination.next_token", None),
        ({"pagination": {"page_size": 1001}}, "PAGE_SIZE_ABOVE_CAP", "pagination.page_size", 1001),
        ({"window": {"step": "PT30M"}}, "STEP_NOT_WHOLE", "window.step", "0:30:00"),
        ({"window": {"step": "PT90M"}}, "STEP_NOT_WHOLE", "window.step", "1:30:00"),
        ({"window": {"step": "PT0S"}}, "STEP_NOT_WHOLE", "window.step", "0:00:00"),
        ({"window": {"format": "%Y-%m-%d"}}, "FORMAT_TOO_COARSE", "window.format", "%Y-%m-%d"),
        ({"window": {"window_size": "PT0S"}}, "WINDOW_SIZE_ZERO", "window.window_size", 0),
        ({"window": {"mode": "CALENDAR"}}, "ALIGNMENT_MISSING", "window.align_to", None),
        (
            {"render_rules": [RULE | {"op": "TERM", "template": "{value}"}]},
            "WINDOW_RULE_MISSING",
            "render_rules",
            FIELD,
        ),
        ({"params": [ROWS]}, "PAGE_PLACE_UNSENT", "params", ["page_size"]),
        ({"params": [ROWS, CURSOR, {"name": "q", "value": "x"}]}, "PARAM_VALUE_UNKNOWN", "params.q.value", "x"),
        ({"params": [ROWS, CURSOR | {"location": "PATH"}]}, "PATH_PARAM_UNUSED", "params.cursor.location", "PATH"),
        ({"params": [ROWS, CURSOR | {"location": "BODY"}]}, "GET_WITH_BODY", "params.cursor.location", "BODY"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_problem_names_its_rule_key_value_and_a_remedy(
    changes: dict[str, Any], rule: str, key: str, value: Any
) -> None:
    problem = problem_of(crossref_document(**changes))

    assert (problem.rule, problem.key, problem.value) == (rule, key, value)
    assert problem.table.startswith("reg_")
    assert problem.remedy
    assert str(problem).startswith(f"{key}: {problem.message}")
    assert str(problem).endswith(f"[{rule}, {problem.table}] -> {problem.remedy}")


def test_a_page_asks_for_a_share_of_the_cap_unless_the_file_says_otherwise() -> None:
    def page_size(**changes: Any) -> int:
        return compile_document(crossref_document(pagination=changes)).paging.page_size

    assert page_size() == 700
    assert page_size(max_page_size=1) == 1
    assert page_size(page_size=20) == 20


def test_a_token_may_be_missing_on_the_first_page() -> None:
    assert compile_document(crossref_document(pagination={"initial_token": None})).paging.initial_token is None


@pytest.mark.parametrize(
    ("block", "rule"),
    [("http", "BASE_URL_MISSING"), ("pagination", "PAGINATION_MISSING"), ("window", "WINDOW_INCOMPLETE")],
)
def test_a_block_that_is_not_there_is_named(block: str, rule: str) -> None:
    found = problems_of(crossref_document(**{block: []}))

    assert {problem.rule for problem in found} == {rule}
    assert all(problem.key.startswith(f"{block}.") for problem in found)


@pytest.mark.parametrize(
    "block", ["credential", "slicing", "retry", "rate_limit", "batching", "capabilities", "mapping"]
)
def test_a_block_that_may_be_missing_has_defaults(block: str) -> None:
    document = crossref_document()
    document.pop(block, None)

    assert compile_document(document).provenance_code == "crossref"


def test_defaults_are_careful() -> None:
    document = crossref_document(window={"lag": "PT10M"})
    for block in ("retry", "rate_limit"):
        del document[block]
    for key in ("lag", "lookback"):
        del document["window"][key]
    spec = compile_document(document)

    assert (spec.rate.requests_per_second, spec.rate.burst) == (1.0, 1)
    assert (spec.retry.max_attempts, spec.retry.retry_statuses) == (5, [408, 429, 500, 502, 503, 504])
    assert (spec.time.lag_seconds, spec.time.lookback_seconds, spec.time.recheck_seconds) == (600, 0, 0)
    assert (spec.auth.type, spec.auth.credential_ref) == ("NONE", None)
    assert (spec.slicing.strategy, spec.slicing.max_queued) == ("TIME", 10_000)
    assert (spec.slicing.split_field, spec.slicing.id_buckets, spec.slicing.probe_budget) == (None, None, None)
    assert rate_part(merge_layers("rate_limit", [])) == spec.rate


def test_all_problems_are_said_at_once() -> None:
    document = crossref_document(
        http={"base_url": "http://x"},
        pagination={"next_token": None, "page_size": 5000},
        window={"step": "PT1M", "mode": "CALENDAR"},
        params=[ROWS],
        render_rules=[],
    )
    found = problems_of(document)
    with pytest.raises(SpecInvalid) as refused:
        compile_document(document)

    assert [problem.rule for problem in found] == [
        "BASE_URL_NOT_HTTPS",
        "NEXT_TOKEN_MISSING",
        "PAGE_SIZE_ABOVE_CAP",
        "STEP_NOT_WHOLE",
        "ALIGNMENT_MISSING",
        "PAGE_PLACE_UNSENT",
        "WINDOW_RULE_MISSING",
    ]
    assert [line.strip() for line in refused.value.message.splitlines()[1:]] == [str(problem) for problem in found]


def test_plain_http_is_allowed_where_it_is_meant() -> None:
    spec = compile_document(crossref_document(http={"base_url": "http://localhost:8000/", "allow_plain_http": True}))

    assert (spec.http.base_url, spec.http.allow_plain_http) == ("http://localhost:8000", True)


@pytest.mark.parametrize(
    ("template", "rule"),
    [
        ("{from.__class__}{to}", "TEMPLATE_INVALID"),
        ("{from.__class__.__mro__[1]}", "TEMPLATE_INVALID"),
        ("{to[0]}", "TEMPLATE_INVALID"),
        ("{}", "TEMPLATE_INVALID"),
        ("{0}", "TEMPLATE_INVALID"),
        ("{from", "TEMPLATE_INVALID"),
        ("from}", "TEMPLATE_INVALID"),
        ("{", "TEMPLATE_INVALID"),
        ("{from:>999999999}{to}", "TEMPLATE_INVALID"),
        ("{from!r}{to}", "TEMPLATE_INVALID"),
        ("{from:{to}}", "TEMPLATE_INVALID"),
        ("{from|eval}{to}", "TEMPLATE_INVALID"),
        ("{from}{to}{window}", "TEMPLATE_NAME_UNKNOWN"),
        ("{from}{to}{secret}", "TEMPLATE_NAME_UNKNOWN"),
        ("{from}", "TEMPLATE_NAME_MISSING"),
        ("always", "TEMPLATE_NAME_MISSING"),
    ],
)
def test_a_template_has_from_and_to_and_nothing_else(template: str, rule: str) -> None:
    problem = problem_of(crossref_document(render_rules=[{**RULE, "template": template}]))

    assert (problem.rule, problem.key, problem.value) == (rule, "render_rules.indexed_at.RANGE", template)


def test_braces_may_be_written_twice_to_stand_for_themselves() -> None:
    assert compile_document(crossref_document(render_rules=[{**RULE, "template": "{{x}}{from}{to}"}]))


@pytest.mark.parametrize("key", ["items", "id", "updated_at", "total"])
def test_a_path_that_does_not_parse_is_a_problem(key: str) -> None:
    response = {**ENDPOINT["response"], key: "$.[["}

    problem = problem_of(crossref_document(endpoints=[{**ENDPOINT, "response": response}]))

    assert (problem.rule in ("PATH_INVALID", "EXPRESSION_INVALID"), problem.value) == (True, "$.[[")
    assert problem.key == f"endpoints.works.response.{key}"


def test_a_zone_of_the_answers_times_that_does_not_exist_is_a_problem() -> None:
    response = {**ENDPOINT["response"], "time_zone": "Mars/Olympus"}
    problem = problem_of(crossref_document(endpoints=[{**ENDPOINT, "response": response}]))

    assert (problem.rule, problem.key) == ("TIME_ZONE_UNKNOWN", "endpoints.works.response.time_zone")


def test_an_infinite_rate_is_refused() -> None:
    with pytest.raises(BadInput):
        assert compile_document(crossref_document(rate_limit={"requests_per_second": float("inf")})).fingerprint


def ways(spec: SpecSnapshot) -> list[set[str]]:
    """The parameters each render rule writes."""
    return [set(rule.params) for rule in spec.rules]


class TestTheMostSpecificBlockWins:
    """Blocks are scoped by endpoint and operation and dated; the closest one in force is taken."""

    GENERAL: ClassVar[dict[str, Any]] = {"burst": 1}
    HARVEST: ClassVar[dict[str, Any]] = {"burst": 2, "for": {"operation": "HARVEST"}}
    WORKS: ClassVar[dict[str, Any]] = {"burst": 3, "for": {"endpoint": "works"}}
    BOTH: ClassVar[dict[str, Any]] = {"burst": 4, "for": {"endpoint": "works", "operation": "HARVEST"}}
    OTHERS: ClassVar[tuple[dict[str, Any], ...]] = (
        {"burst": 8, "for": {"endpoint": "journals"}},
        {"burst": 9, "for": {"operation": "BACKFILL"}},
    )

    @pytest.mark.parametrize(
        ("blocks", "burst"),
        [
            ([GENERAL, *OTHERS], 1),
            ([GENERAL, HARVEST, *OTHERS], 2),
            ([HARVEST, WORKS, GENERAL], 3),
            ([BOTH, WORKS, HARVEST, GENERAL], 4),
            ([*OTHERS], 1),
        ],
        ids=["the general one", "the operation's", "the endpoint's over the operation's", "both", "none fits: default"],
    )
    def test_by_scope(self, blocks: list[dict[str, Any]], burst: int) -> None:
        for order in (blocks, blocks[::-1]):
            assert compile_document(crossref_document(rate_limit=order, endpoints=TWO_ENDPOINTS)).rate.burst == burst

    @pytest.mark.parametrize(
        ("now", "burst"),
        [("2025-12-31T23:59:59.999999Z", 1), ("2026-01-01", 2), ("2026-01-31", 2), ("2026-02-01", 1)],
    )
    def test_by_date_from_inclusive_to_exclusive(self, now: str, burst: int) -> None:
        january = {"burst": 2, "effective_from": "2026-01-01T00:00:00Z", "effective_to": "2026-02-01T00:00:00Z"}
        document = crossref_document(rate_limit=[{"burst": 1}, january])

        assert compile_document(document, at(now)).rate.burst == burst

    def test_of_two_equally_close_the_later_started_wins(self) -> None:
        blocks = [{"burst": 2, "effective_from": "2026-02-01"}, {"burst": 1, "effective_from": "2026-01-01"}]

        assert compile_document(crossref_document(rate_limit=blocks)).rate.burst == 2

    def test_scope_goes_before_date(self) -> None:
        dated = {"burst": 2, "effective_from": "2026-03-01"}

        assert compile_document(crossref_document(rate_limit=[dated, self.WORKS])).rate.burst == 3

    def test_a_block_not_yet_or_no_longer_in_force_is_as_if_not_there(self) -> None:
        http = {**crossref_document()["http"], "effective_from": "2026-04-01"}

        assert problem_of(crossref_document(http=[http])).rule == "BASE_URL_MISSING"

    def test_render_rules_too(self) -> None:
        special = {**RULE, "param": "special", "for": {"endpoint": "works"}}

        assert ways(compile_document(crossref_document(render_rules=[RULE, special]))) == [{"special"}]

    def test_a_render_rule_that_has_expired_is_not_used(self) -> None:
        old = {**RULE, "param": "old", "effective_to": "2020-01-01"}

        assert ways(compile_document(crossref_document(render_rules=[old, RULE]))) == [{"filter"}]

    def test_a_parameter_is_placed_once(self) -> None:
        special = {**ROWS, "location": "HEADER", "for": {"endpoint": "works"}}
        params = compile_document(crossref_document(params=[ROWS, CURSOR, special])).params

        assert [(param.name, param.location) for param in params] == [("cursor", "QUERY"), ("rows", "HEADER")]

    def test_a_parameter_that_has_expired_is_not_sent(self) -> None:
        old = {"name": "size", "value": "page_size", "effective_to": "2020-01-01"}
        params = compile_document(crossref_document(params=[ROWS, CURSOR, old])).params

        assert [param.name for param in params] == ["cursor", "rows"]

    def test_a_parameter_of_another_endpoint_is_not_sent(self) -> None:
        other = {"name": "size", "value": "page_size", "for": {"endpoint": "journals"}}
        params = compile_document(crossref_document(params=[ROWS, CURSOR, other], endpoints=TWO_ENDPOINTS)).params

        assert [param.name for param in params] == ["cursor", "rows"]


class TestWhichEndpoint:
    """The endpoint asked for, or the only one that serves the operation."""

    ONE = crossref_document()
    TWO = crossref_document(endpoints=TWO_ENDPOINTS)

    def test_the_only_one_need_not_be_named(self) -> None:
        assert endpoint_for(rows_of_document(self.ONE), "crossref", None, Operation.HARVEST) == "works"

    def test_the_one_asked_for(self) -> None:
        assert endpoint_for(rows_of_document(self.TWO), "crossref", "journals", Operation.HARVEST) == "journals"

    @pytest.mark.parametrize(
        ("document", "endpoint", "operation", "message"),
        [
            (
                TWO,
                None,
                Operation.HARVEST,
                "no endpoint named for HARVEST (endpoints that serve HARVEST: journals, works)",
            ),
            (
                ONE,
                "authors",
                Operation.HARVEST,
                "no endpoint 'authors' for HARVEST (endpoints that serve HARVEST: works)",
            ),
            (
                ONE,
                None,
                Operation.UPDATE,
                "no endpoint serves UPDATE (it serves BACKFILL, HARVEST; UPDATE refreshes known records by id)",
            ),
            (
                ONE,
                "works",
                Operation.UPDATE,
                "no endpoint serves UPDATE (it serves BACKFILL, HARVEST; UPDATE refreshes known records by id)",
            ),
        ],
    )
    def test_otherwise_those_that_serve_are_named(
        self, document: dict[str, Any], endpoint: str | None, operation: Operation, message: str
    ) -> None:
        with pytest.raises(BadInput) as refused:
            endpoint_for(rows_of_document(document), "crossref", endpoint, operation)

        assert refused.value.code == "ENDPOINT_UNKNOWN"
        assert str(refused.value) == f"source 'crossref': {message}"

    def test_each_endpoint_compiles_by_its_own_definition(self) -> None:
        other = {**ENDPOINT, "name": "journals", "path": "/journals"}
        rows = rows_of_document(crossref_document(endpoints=[ENDPOINT, other]))

        assert compile_spec(rows, "crossref", "journals", Operation.HARVEST, NOW).http.path == "/journals"
