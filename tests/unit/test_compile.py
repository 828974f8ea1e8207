"""Compiling: all that is wrong is said at once, and what is right is frozen and hashed."""

from datetime import datetime
from typing import Any, ClassVar

import pytest

from ingest_core.model.codes import Operation
from ingest_core.model.errors import BadInput, ExitCode
from ingest_core.model.spec import SpecSnapshot
from ingest_core.registry.compile import compile_spec, endpoint_for, rate_of
from tests.support.specs import NOW, at, compile_document, crossref_document, crossref_spec, rows_of_document

ENDPOINT = crossref_document()["endpoints"][0]
RULE = crossref_document()["render_rules"][0]
ROWS = {"name": "rows", "value": "page_size"}
CURSOR = {"name": "cursor", "value": "page_token"}


def problem_of(document: dict[str, Any], now: datetime = NOW) -> str:
    """What the compiler says about a document."""
    with pytest.raises(BadInput) as refused:
        compile_document(document, now)
    assert refused.value.code == "SPEC_INVALID"
    assert refused.value.exit_code == ExitCode.BAD_INPUT
    assert refused.value.where == "source 'crossref', endpoint 'works'"
    return refused.value.message


def test_the_shipped_source_compiles_to_what_its_file_says() -> None:
    spec = crossref_spec()

    assert (spec.http.method, spec.http.base_url, spec.http.path) == ("GET", "https://api.crossref.org", "/works")
    assert (spec.http.connect_timeout_seconds, spec.http.read_timeout_seconds) == (10.0, 60.0)
    assert (spec.pagination.type, spec.pagination.position, spec.pagination.token_ttl_seconds) == (
        "TOKEN",
        "SERVER",
        300,
    )
    assert (spec.window.lag_seconds, spec.window.lookback_seconds, spec.window.step_seconds) == (600, 7200, 21600)
    assert (spec.retry.max_attempts, spec.retry.initial_seconds, spec.retry.max_seconds) == (5, 0.5, 30.0)
    assert (spec.rate.requests_per_second, spec.rate.burst) == (5.0, 1)
    assert [(param.name, param.value) for param in spec.params] == [("cursor", "page_token"), ("rows", "page_size")]
    assert spec.response.updated_at_path == "$.indexed.date-time"
    assert (spec.id_normalizer, spec.on_equal) == ("DOI", "KEEP")
    assert spec.expression == {"op": "CONST", "value": True}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"http": {"base_url": "http://api.crossref.org"}}, "http.base_url 'http://api.crossref.org' is not https"),
        ({"http": {"base_url": "ftp://x", "allow_plain_http": True}}, "http.base_url 'ftp://x' is not https"),
        ({"http": {"base_url": "api.crossref.org"}}, "is not https"),
        ({"credential": {"auth": "API_KEY", "ref": "env:KEY"}}, "credential.auth API_KEY is not available yet"),
        ({"pagination": {"type": "OFFSET"}}, "pagination.type OFFSET is not available yet"),
        ({"pagination": {"next_token": None}}, "pagination TOKEN needs next_token"),
        ({"pagination": {"initial_token": None}}, "pagination TOKEN needs initial_token"),
        ({"pagination": {"page_size": 1001}}, "pagination.page_size 1001 is above max_page_size 1000"),
        ({"window": {"step": "PT30M"}}, "window.step 0:30:00 is not a multiple of HOUR"),
        ({"window": {"step": "PT90M"}}, "window.step 1:30:00 is not a multiple of HOUR"),
        ({"window": {"step": "PT0S"}}, "window.step 0:00:00 is not a multiple of HOUR"),
        ({"window": {"step": "-PT6H"}}, "is not a multiple of HOUR"),
        ({"window": {"format": "%Y-%m-%d"}}, "window.format '%Y-%m-%d' does not tell one HOUR from the next"),
        ({"window": {"window_size": "PT0S"}}, "window.window_size must be above 0"),
        ({"window": {"mode": "CALENDAR"}}, "window.mode CALENDAR needs window.align_to"),
        ({"window": {"field": "other"}}, "no render rule writes RANGE over window.field 'other'"),
        ({"window": {"field": "other"}}, "window.field 'other' is not in `fields`"),
        ({"fields": []}, "window.field 'indexed_at' is not in `fields`"),
        ({"render_rules": []}, "no render rule writes RANGE over window.field 'indexed_at'"),
        ({"render_rules": [{**RULE, "op": "TERM"}]}, "no render rule writes RANGE"),
        ({"params": []}, "params must place page_size, page_token"),
        ({"params": [ROWS]}, "params must place page_token"),
        ({"params": [ROWS, CURSOR, {"name": "q", "value": "query"}]}, "params.q: unknown value 'query'; known: page_"),
        ({"params": [ROWS, {**CURSOR, "location": "PATH"}]}, "params.cursor: location PATH is not available yet"),
        ({"params": [ROWS, {**CURSOR, "location": "BODY"}]}, "available: HEADER, QUERY"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_problem_is_named(changes: dict[str, Any], message: str) -> None:
    assert message in problem_of(crossref_document(**changes))


@pytest.mark.parametrize("block", ["http", "pagination", "window"])
def test_a_block_that_is_not_there_is_named(block: str) -> None:
    assert problem_of(crossref_document(**{block: []})) == f"no `{block}` block is in force"


@pytest.mark.parametrize("block", ["credential", "retry", "rate_limit", "batching", "capabilities", "mapping"])
def test_a_block_that_may_be_missing_has_defaults(block: str) -> None:
    document = crossref_document()
    document.pop(block, None)

    assert compile_document(document).provenance_code == "crossref"


def test_defaults_are_careful() -> None:
    document = crossref_document(window={"lag": "PT10M"})
    for block in ("retry", "rate_limit", "credential"):
        del document[block]
    for key in ("lag", "lookback"):
        del document["window"][key]
    spec = compile_document(document)

    assert (spec.rate.requests_per_second, spec.rate.burst) == (1.0, 1)
    assert (spec.retry.max_attempts, spec.retry.retry_statuses) == (5, [408, 429, 500, 502, 503, 504])
    assert (spec.window.lag_seconds, spec.window.lookback_seconds, spec.window.recheck_seconds) == (600, 0, 0)
    assert (spec.auth.type, spec.auth.credential_ref) == ("NONE", None)
    assert rate_of(None) == spec.rate


def test_all_problems_are_said_at_once() -> None:
    message = problem_of(
        crossref_document(
            http={"base_url": "http://x"},
            pagination={"next_token": None, "page_size": 5000},
            window={"step": "PT1M", "mode": "CALENDAR"},
            params=[ROWS],
            render_rules=[],
        )
    )

    assert [problem.split(" ")[0] for problem in message.split("; ")] == [
        "http.base_url",
        "pagination",
        "pagination.page_size",
        "window.step",
        "window.mode",
        "params",
        "no",
    ]


def test_plain_http_is_allowed_where_it_is_meant() -> None:
    spec = compile_document(crossref_document(http={"base_url": "http://localhost:8000/", "allow_plain_http": True}))

    assert (spec.http.base_url, spec.http.allow_plain_http) == ("http://localhost:8000", True)


@pytest.mark.parametrize(
    "template",
    [
        "{from.__class__}",
        "{from.__class__.__mro__[1]}",
        "{to[0]}",
        "{window}",
        "{}",
        "{0}",
        "from:{from} {secret}",
    ],
)
def test_a_template_knows_from_and_to_and_nothing_else(template: str) -> None:
    message = problem_of(crossref_document(render_rules=[{**RULE, "template": template}]))

    assert "has unknown names" in message
    assert "known: from, to" in message


def test_braces_may_be_written_twice_to_stand_for_themselves() -> None:
    assert compile_document(crossref_document(render_rules=[{**RULE, "template": "{{x}}{from}{to}"}]))


@pytest.mark.parametrize("template", ["{from", "from}", "{from!}", "{"])
def test_a_template_that_does_not_parse_is_a_problem_like_any_other(template: str) -> None:
    assert "template" in problem_of(crossref_document(render_rules=[{**RULE, "template": template}]))


@pytest.mark.parametrize("template", ["{from:>999999999}{to}", "{from!r}{to}", "{from:{to}}", "{from:%Y}{to}"])
def test_a_template_has_no_format_specifications_or_conversions(template: str) -> None:
    problem_of(crossref_document(render_rules=[{**RULE, "template": template}]))


@pytest.mark.parametrize("key", ["items", "id", "updated_at", "total"])
def test_a_path_that_does_not_parse_is_a_problem(key: str) -> None:
    response = {**ENDPOINT["response"], key: "$.[["}

    assert "$.[[" in problem_of(crossref_document(endpoints=[{**ENDPOINT, "response": response}]))


def test_an_infinite_rate_is_refused() -> None:
    with pytest.raises(BadInput):
        assert compile_document(crossref_document(rate_limit={"requests_per_second": float("inf")})).fingerprint


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
            assert compile_document(crossref_document(rate_limit=order)).rate.burst == burst

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

        assert problem_of(crossref_document(http=[http])) == "no `http` block is in force"

    def test_render_rules_too(self) -> None:
        special = {**RULE, "param": "special", "for": {"endpoint": "works"}}

        assert compile_document(crossref_document(render_rules=[RULE, special])).render.param == "special"

    def test_a_render_rule_that_has_expired_is_not_used(self) -> None:
        old = {**RULE, "param": "old", "effective_to": "2020-01-01"}

        assert compile_document(crossref_document(render_rules=[old, RULE])).render.param == "filter"

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
        params = compile_document(crossref_document(params=[ROWS, CURSOR, other])).params

        assert [param.name for param in params] == ["cursor", "rows"]


class TestWhichEndpoint:
    """The endpoint asked for, or the only one that serves the operation."""

    ONE = crossref_document()
    TWO = crossref_document(endpoints=[ENDPOINT, {**ENDPOINT, "name": "journals"}])

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
            (ONE, None, Operation.BACKFILL, "no endpoint named for BACKFILL (endpoints that serve BACKFILL: none)"),
            (ONE, "works", Operation.UPDATE, "no endpoint 'works' for UPDATE (endpoints that serve UPDATE: none)"),
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


OTHER_SETTINGS: dict[str, Any] = {
    "snapshot_version": 2,
    "provenance_code": "datacite",
    "endpoint_name": "dois",
    "operation_code": "UPDATE",
    "http": {
        "method": "POST",
        "base_url": "https://example.org",
        "path": "/other",
        "headers": {},
        "query": {"mailto": "x"},
        "connect_timeout_seconds": 1.0,
        "read_timeout_seconds": 1.0,
        "allow_plain_http": True,
    },
    "auth": {"type": "BEARER", "credential_ref": "env:KEY"},
    "pagination": {
        "type": "URL",
        "position": "CLIENT",
        "page_size": 1,
        "max_page": 9,
        "initial_token": "0",
        "next_token_path": "$.next",
        "has_more_path": "$.more",
        "token_ttl_seconds": None,
    },
    "window": {
        "mode": "CALENDAR",
        "field": "created_at",
        "watermark_key": "created_at",
        "lag_seconds": 0,
        "lookback_seconds": 0,
        "recheck_seconds": 0,
        "window_size_seconds": 1,
        "step_seconds": 3600,
        "overlap_seconds": 1,
        "baseline": "2020-01-01T00:00:00.000000Z",
        "align_to": "DAY",
        "unit": "DAY",
        "format": "%Y",
        "upper_inclusive": False,
        "stored_precision": None,
    },
    "retry": {
        "max_attempts": 1,
        "initial_seconds": 1.0,
        "max_seconds": 1.0,
        "multiplier": 1.0,
        "jitter": 0.0,
        "retry_statuses": [],
    },
    "rate": {"requests_per_second": 1.0, "burst": 2},
    "params": [],
    "render": {"field": "created_at", "param": "q", "template": "{from}"},
    "response": {"items_path": "$", "id_path": "$.id", "updated_at_path": "$.at", "total_path": None},
    "mapping": {},
    "id_normalizer": "NONE",
    "on_equal": "CHANGED",
}
EACH_SETTING = [
    {part: {name: value} if isinstance(change, dict) and part != "mapping" else change}
    for part, change in OTHER_SETTINGS.items()
    for name, value in (change.items() if isinstance(change, dict) and change else [("", None)])
]


def test_the_table_of_other_settings_names_every_setting() -> None:
    snapshot = crossref_spec().json_value()
    assert set(OTHER_SETTINGS) | {"expression"} == set(snapshot)
    for part, change in OTHER_SETTINGS.items():
        if change and isinstance(change, dict):
            assert set(change) | {"policy"} == set(snapshot[part]) | {"policy"}  # there is one policy


@pytest.mark.parametrize("change", EACH_SETTING, ids=str)
def test_any_setting_is_in_the_fingerprint_and_not_in_the_query(change: dict[str, Any]) -> None:
    changed = crossref_spec(**change)

    assert changed != crossref_spec()
    assert changed.fingerprint != crossref_spec().fingerprint
    assert changed.expr_proto_hash == crossref_spec().expr_proto_hash


def test_another_query_changes_both() -> None:
    changed = crossref_spec(expression={"op": "CONST", "value": False})

    assert changed.fingerprint != crossref_spec().fingerprint
    assert changed.expr_proto_hash != crossref_spec().expr_proto_hash


def test_a_snapshot_survives_storage() -> None:
    spec = crossref_spec()
    stored = SpecSnapshot.from_json(spec.json_value())

    assert stored == spec
    assert stored.fingerprint == spec.fingerprint


def test_compiling_twice_gives_the_same_fingerprint() -> None:
    assert compile_document(crossref_document()).fingerprint == crossref_spec().fingerprint
