"""Inheritance: platform < source < endpoint < blocks, the least specific first < trigger; each value knows whence."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest_core.model.errors import BadInput
from ingest_core.registry.columns import SETTINGS
from ingest_core.registry.merge import OVERRIDABLE, PLATFORM, Merged, merge_block, read_overrides
from tests.support.small_source import Document, compiled, problems_of, rows_from, small_document, small_endpoint
from tests.support.specs import NOW, at

WORKS = {"endpoint": "works"}
HARVEST = {"operation": "HARVEST"}
BOTH = {**WORKS, **HARVEST}
LATER_THAN_ALWAYS = {"effective_from": "2020-01-01"}
TABLE = "reg_prov_window_offset_cfg"


def merged(document: Document, block: str, now: datetime = NOW, **overrides: str) -> Merged:
    """A block of a document, merged for harvests of works."""
    said = {f"{block}.{key}": value for key, value in overrides.items()}
    return merge_block(rows_from(document), block, "works", "HARVEST", now, read_overrides(said))


def retry(*blocks: Document, now: datetime = NOW) -> Any:
    """The number of attempts a list of retry blocks comes to."""
    return merged(small_document(retry=list(blocks)), "retry", now)["max_attempts"]


def attempts(number: int, scope: Document | None = None, **dates: str) -> Document:
    """A retry block that says one thing."""
    return {"max_attempts": number, **({"for": scope} if scope else {}), **dates}


def _source_default(document: Document, value: str) -> None:
    document["source"]["defaults"] = {"window": {"lookback": value}}


def _endpoint_default(document: Document, value: str) -> None:
    document["endpoints"][0]["defaults"] = {"window": {"lookback": value}}


def _block(scope: Document) -> Callable[[Document, str], None]:
    def add(document: Document, value: str) -> None:
        document["window"].append(
            {"lookback": value, **({"for": scope} if scope else {"effective_from": "2020-01-01"})}
        )

    return add


LAYERS: list[tuple[str, Callable[[Document, str], None]]] = [
    ("source.defaults (reg_provenance)", _source_default),
    ("endpoint works defaults (reg_prov_endpoint_def)", _endpoint_default),
    (f"window block for ALL, endpoint any ({TABLE})", _block({})),
    (f"window block for HARVEST, endpoint any ({TABLE})", _block(HARVEST)),
    (f"window block for ALL, endpoint works ({TABLE})", _block(WORKS)),
    (f"window block for HARVEST, endpoint works ({TABLE})", _block(BOTH)),
]
"""Least specific first."""


def layered(numbers: list[int]) -> Document:
    """A document in which these layers say `lookback`, each as many minutes as its number."""
    document = small_document()
    document["window"] = [document["window"]]
    for number in numbers:
        LAYERS[number][1](document, f"PT{number + 1}M")
    return document


class TestTheOrderOfTheLayers:
    """Whoever is more specific wins, wherever it stands in the file."""

    def test_nobody_says_anything_so_the_platform_does(self) -> None:
        block = merged(layered([]), "window")

        assert (block["lookback_seconds"], block.origins["lookback_seconds"]) == (0, "platform default")

    @pytest.mark.parametrize("last", range(len(LAYERS)), ids=[origin for origin, _ in LAYERS])
    def test_each_layer_wins_over_all_before_it(self, last: int) -> None:
        block = merged(layered(list(range(last + 1))), "window")

        assert block["lookback_seconds"] == 60 * (last + 1)
        assert block.origins["lookback_seconds"] == LAYERS[last][0]

    @settings(deadline=None)
    @given(st.permutations(range(len(LAYERS))), st.integers(1, len(LAYERS)))
    def test_of_any_layers_in_any_order_the_most_specific_wins(self, order: list[int], some: int) -> None:
        block = merged(layered(order[:some]), "window")

        assert block["lookback_seconds"] == 60 * (max(order[:some]) + 1)
        assert block.origins["lookback_seconds"] == LAYERS[max(order[:some])][0]

    def test_the_trigger_wins_over_all(self) -> None:
        block = merged(layered(list(range(len(LAYERS)))), "window", lookback="PT1H")

        assert (block["lookback_seconds"], block.origins["lookback_seconds"]) == (3600, "trigger")

    def test_what_is_for_others_says_nothing(self) -> None:
        others = [attempts(8, {"endpoint": "other"}), attempts(9, {"operation": "BACKFILL"})]

        assert retry(*others) == PLATFORM["retry"]["max_attempts"]
        assert retry(attempts(2), *others) == 2

    def test_another_operation_has_its_own(self) -> None:
        rows = rows_from(small_document(retry=[attempts(2), attempts(9, {"operation": "BACKFILL"})]))

        assert merge_block(rows, "retry", "works", "BACKFILL", NOW)["max_attempts"] == 9

    def test_each_endpoint_has_its_own_defaults(self) -> None:
        other = {**small_endpoint(name="other"), "defaults": {"retry": {"max_attempts": 9}}}
        rows = rows_from(small_document(endpoints=[small_endpoint(), other]))

        assert merge_block(rows, "retry", "works", "HARVEST", NOW)["max_attempts"] == 5
        assert merge_block(rows, "retry", "other", "HARVEST", NOW)["max_attempts"] == 9


class TestKeyByKey:
    """A layer speaks of the keys it names; the others stay as they were."""

    def test_a_more_specific_block_leaves_what_it_does_not_say(self) -> None:
        block = merged(small_document(retry=[{"max_attempts": 7, "initial": "PT2S"}, attempts(3, WORKS)]), "retry")

        assert (block["max_attempts"], block["initial_delay_ms"], block["max_delay_ms"]) == (3, 2000, 30_000)
        assert [block.origins[name].split(" ")[0] for name in ("max_attempts", "initial_delay_ms", "max_delay_ms")] == [
            "retry",
            "retry",
            "platform",
        ]

    @pytest.mark.parametrize("name", ["headers", "query"])
    def test_headers_and_parameters_are_merged_by_name(self, name: str) -> None:
        blocks = [
            {"base_url": "https://x.org", name: {"a": "general", "b": "general"}},
            {"for": WORKS, name: {"b": "works", "c": "works"}},
        ]
        column = SETTINGS["http"].keys[name][0]

        assert merged(small_document(http=blocks), "http")[column] == {"a": "general", "b": "works", "c": "works"}

    def test_defaults_are_merged_by_name_too(self) -> None:
        defaults = {"http": {"headers": {"a": "source", "b": "source"}}}
        document = small_document(source={"defaults": defaults}, http={"headers": {"b": "block"}})

        assert merged(document, "http")["headers"] == {"a": "source", "b": "block"}

    def test_a_list_is_said_as_a_whole(self) -> None:
        blocks = [{"statuses": [500, 502]}, {"statuses": [429], "for": WORKS}]

        assert merged(small_document(retry=blocks), "retry")["retry_statuses"] == [429]

    @pytest.mark.parametrize(
        ("block", "key", "column", "general", "special"),
        [
            ("credential", "optional", "is_optional", True, False),
            ("window", "lookback", "lookback_seconds", "PT1H", "PT0S"),
            ("http", "max_redirects", "max_redirects", 3, 0),
            ("retry", "statuses", "retry_statuses", [500], []),
            ("pagination", "page_base", "page_base", 1, 0),
        ],
    )
    def test_false_nought_and_nothing_in_a_list_are_said_too(
        self, block: str, key: str, column: str, general: Any, special: Any
    ) -> None:
        value = merged(small_document(**{block: [{key: general}, {key: special, "for": WORKS}]}), block)[column]

        assert not value
        assert value is not None

    def test_a_layer_that_says_nothing_is_not_an_origin(self) -> None:
        document = small_document(retry=[attempts(3), {"for": WORKS}])

        assert "endpoint works" not in str(merged(document, "retry").origins)


class TestWhence:
    """Every value of the result says which layer said it, in the file's own words."""

    def test_each_setting_names_its_key_value_and_origin(self) -> None:
        document = small_document(
            source={"defaults": {"rate_limit": {"burst": 4}}}, retry={"initial": "PT0.5S"}, window={"lag": "PT1H"}
        )
        settings = {one.key: (one.value, one.origin) for one in compiled(document).settings}

        assert settings["http.base_url"] == (
            "https://api.example.org",
            "http block for ALL, endpoint any (reg_prov_http_cfg)",
        )
        assert settings["rate_limit.burst"] == (4, "source.defaults (reg_provenance)")
        assert settings["rate_limit.requests_per_second"] == (1.0, "platform default")
        assert settings["retry.initial"] == ("PT0.5S", "retry block for ALL, endpoint any (reg_prov_retry_cfg)")
        assert settings["retry.max"] == ("PT30S", "platform default")
        assert settings["window.lag"] == ("PT1H", f"window block for ALL, endpoint any ({TABLE})")

    def test_nothing_is_named_twice_and_every_platform_default_is_named(self) -> None:
        keys = [one.key for one in compiled(small_document()).settings]

        assert len(keys) == len(set(keys))
        for block, columns in PLATFORM.items():
            named = {key for key, (column, _) in SETTINGS[block].keys.items() if column in columns}
            assert {f"{block}.{key}" for key in named} <= set(keys)

    def test_what_nobody_says_is_not_named(self) -> None:
        assert "pagination.max_page" not in compiled(small_document()).origins()

    def test_every_platform_default_is_a_column_of_its_block(self) -> None:
        assert set(PLATFORM) == set(SETTINGS)
        for block, values in PLATFORM.items():
            assert set(values) <= {column for column, _ in SETTINGS[block].keys.values()}


class TestDates:
    """A block is in force from its first instant until just before its last; of two, the later begun wins."""

    JANUARY = attempts(2, effective_from="2026-01-01T00:00:00Z", effective_to="2026-02-01T00:00:00Z")

    @pytest.mark.parametrize(
        ("now", "number"),
        [
            ("2025-12-31T23:59:59.999999Z", 1),
            ("2026-01-01T00:00:00Z", 2),
            ("2026-01-31T23:59:59.999999Z", 2),
            ("2026-02-01T00:00:00Z", 1),
        ],
    )
    def test_from_is_inclusive_and_to_is_exclusive(self, now: str, number: int) -> None:
        assert retry(attempts(1), self.JANUARY, now=at(now)) == number
        assert retry(self.JANUARY, attempts(1), now=at(now)) == number

    def test_the_later_begun_wins(self) -> None:
        blocks = [attempts(month, effective_from=f"2026-0{month}-01") for month in (3, 1, 2)]

        assert retry(*blocks) == 3
        assert retry(*blocks, now=at("2026-02-15")) == 2

    def test_scope_goes_before_date(self) -> None:
        assert retry(attempts(2, effective_from="2026-03-01"), attempts(3, WORKS)) == 3

    def test_a_date_in_another_zone_is_the_instant_it_says(self) -> None:
        block = attempts(2, effective_from="2026-01-01T08:00:00+08:00")

        assert retry(attempts(1), block, now=at("2025-12-31T23:59:59Z")) == 1
        assert retry(attempts(1), block, now=at("2026-01-01T00:00:00Z")) == 2

    def test_dates_with_and_without_a_zone_can_be_compared(self) -> None:
        assert retry(attempts(2, effective_from="2026-01-01", effective_to="2027-01-01T00:00:00Z")) == 2


class TestTwins:
    """Two blocks for the same scope and from the same instant on cannot both be right."""

    @pytest.mark.parametrize(
        "blocks",
        [
            [attempts(1), attempts(2)],
            [attempts(1, WORKS), attempts(2, WORKS)],
            [attempts(1, BOTH), attempts(2), attempts(3, BOTH)],
            [attempts(1, effective_from="2026-01-01"), attempts(2, effective_from="2026-01-01T01:00:00+01:00")],
        ],
        ids=["for all", "of an endpoint", "of both", "the same instant in another zone"],
    )
    def test_they_are_refused(self, blocks: list[Document]) -> None:
        problem = problems_of(small_document(retry=blocks))[0]

        assert (problem.rule, problem.table, problem.key) == ("BLOCK_TWICE", "reg_prov_retry_cfg", "retry")

    def test_of_three_each_further_one_is_named(self) -> None:
        assert len(problems_of(small_document(retry=[attempts(1), attempts(2), attempts(3)]))) == 2

    @pytest.mark.parametrize(
        "blocks",
        [
            [attempts(1), attempts(2, WORKS), attempts(3, HARVEST), attempts(4, BOTH)],
            [attempts(1), attempts(2, effective_from="2026-01-01")],
            [attempts(1, effective_to="2026-01-01"), attempts(2)],
            [attempts(1), attempts(2, {"endpoint": "other"}), attempts(3, {"endpoint": "other"})],
        ],
        ids=["other scopes", "another beginning", "no longer in force", "another endpoint's"],
    )
    def test_those_that_differ_are_no_twins(self, blocks: list[Document]) -> None:
        endpoints = [small_endpoint(), small_endpoint(name="other")]

        assert compiled(small_document(endpoints=endpoints, retry=blocks))

    @pytest.mark.parametrize("name", ["params", "render_rules"])
    def test_entries_of_a_list_have_no_twins_either(self, name: str) -> None:
        document = small_document()
        document[name] = [*document[name], {**document[name][0], "for": {}}]
        document[name][0] = {**document[name][0], "location" if name == "params" else "param": "HEADER"}

        assert [problem.rule for problem in problems_of(document)] == ["BLOCK_TWICE"]


class TestScopesThatMeanNothing:
    """A scope that can never hold is a mistake, not a wish."""

    def test_a_block_for_an_endpoint_that_is_not_there_is_refused(self) -> None:
        assert problems_of(small_document(retry=[attempts(2, {"endpoint": "wroks"})]))

    @pytest.mark.parametrize("key", [{"for": {"operation": "UPDATE"}}, {"effective_to": "2020-01-01"}])
    def test_defaults_are_neither_scoped_nor_dated(self, key: Document) -> None:
        with pytest.raises(BadInput):
            rows_from(small_document(source={"defaults": {"retry": {"max_attempts": 2, **key}}}))


OVERRIDES = {
    "pagination.page_size": ("20", 20),
    "pagination.max_page": ("7", 7),
    "window.lag": ("PT20M", 1200),
    "window.lookback": ("P1D", 86_400),
    "window.step": ("PT1H", 3600),
    "window.overlap": ("PT5M", 300),
    "slicing.strategy": ("HYBRID", "HYBRID"),
    "slicing.target_records": ("900", 900),
    "slicing.probe_budget": ("0", 0),
    "slicing.max_queued": ("0", 0),
    "slicing.id_buckets": ("16", 16),
    "batching.id_batch_size": ("50", 50),
    "retry.max_attempts": ("2", 2),
    "http.read_timeout": ("PT0.25S", 250),
    "rate_limit.requests_per_second": ("0.5", 0.5),
}

FIXED = sorted({f"{block}.{key}" for block, kind in SETTINGS.items() for key in kind.keys} - OVERRIDABLE)


class TestOverrides:
    """What a trigger may say for its own plan."""

    def test_the_table_of_this_test_names_all_that_can(self) -> None:
        assert set(OVERRIDES) == OVERRIDABLE

    @pytest.mark.parametrize("name", sorted(OVERRIDES))
    def test_a_value_is_read_as_the_file_would(self, name: str) -> None:
        text, value = OVERRIDES[name]
        block, key = name.split(".")
        column, _ = SETTINGS[block].keys[key]

        assert read_overrides({name: text}) == {block: {column: value}}

    def test_they_reach_the_snapshot_and_say_so(self) -> None:
        plain, said = compiled(small_document()), {name: text for name, (text, _) in OVERRIDES.items()}
        result = compiled(small_document(), overrides=said, strategies=frozenset({"TIME", "HYBRID"}))
        spec = result.spec

        assert (spec.paging.page_size, spec.paging.max_page, spec.time.lag_seconds) == (20, 7, 1200)
        assert (spec.time.lookback_seconds, spec.time.step_seconds, spec.time.overlap_seconds) == (86_400, 3600, 300)
        assert (spec.slicing.strategy, spec.slicing.target_records, spec.slicing.probe_budget) == ("HYBRID", 900, 0)
        assert (spec.slicing.max_queued, spec.slicing.id_buckets) == (0, 16)
        assert (spec.retry.max_attempts, spec.http.read_timeout_seconds) == (2, 0.25)
        assert (spec.rate.requests_per_second, spec.rate.asked_for) == (0.5, True)
        assert {name for name, origin in result.origins().items() if origin == "trigger"} == OVERRIDABLE
        assert spec.fingerprint != plain.spec.fingerprint
        assert spec.expr_proto_hash == plain.spec.expr_proto_hash

    @pytest.mark.parametrize("name", [*FIXED, "", "page_size", "pagination", "pagination.", "window.lag.x"])
    def test_nothing_else_can(self, name: str) -> None:
        with pytest.raises(BadInput) as refused:
            read_overrides({"window.lag": "PT1M", name: "1"})

        assert (refused.value.code, refused.value.where) == ("OVERRIDE_UNKNOWN", "overrides")
        assert repr(name) in refused.value.message
        assert all(one in refused.value.remedy for one in OVERRIDABLE)

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("pagination.page_size", "0"),
            ("pagination.page_size", "-5"),
            ("pagination.page_size", "many"),
            ("pagination.page_size", "1.5"),
            ("pagination.page_size", ""),
            ("window.lag", "-PT1M"),
            ("window.lag", "ten"),
            ("window.step", "P1Y2"),
            ("slicing.strategy", "time"),
            ("slicing.probe_budget", "1001"),
            ("slicing.max_queued", "-1"),
            ("retry.max_attempts", "21"),
            ("http.read_timeout", "PT5M"),
            ("http.read_timeout", "PT0S"),
            ("rate_limit.requests_per_second", "0"),
            ("rate_limit.requests_per_second", "fast"),
        ],
    )
    def test_a_value_that_does_not_fit_is_named(self, name: str, text: str) -> None:
        with pytest.raises(BadInput) as refused:
            read_overrides({name: text})

        assert (refused.value.code, refused.value.where) == ("OVERRIDE_INVALID", name)
        assert repr(text) in refused.value.message

    def test_one_that_breaks_a_rule_is_refused_like_a_file(self) -> None:
        said = {"pagination.page_size": "101", "window.step": "PT30M", "slicing.strategy": "HYBRID"}
        rules = [problem.rule for problem in problems_of(small_document(), overrides=said)]

        assert rules == ["PAGE_SIZE_ABOVE_CAP", "STEP_NOT_WHOLE", "STRATEGY_UNAVAILABLE"]

    @pytest.mark.parametrize(
        ("limits", "most"),
        [
            ({"requests_per_second": 5}, 5),
            ({"requests_per_second": 5, "with_credential": 10}, 10),
            ({"requests_per_second": 5, "provider_cap": 50}, 5),
        ],
        ids=str,
    )
    def test_a_rate_is_never_faster_than_the_registrys(self, limits: dict[str, float], most: float) -> None:
        document = small_document(rate_limit=limits)
        rate = compiled(document, overrides={"rate_limit.requests_per_second": str(most)}).spec.rate
        (problem,) = problems_of(document, overrides={"rate_limit.requests_per_second": str(most + 0.5)})

        assert (rate.requests_per_second, rate.asked_for) == (most, True)
        assert (problem.rule, problem.value) == ("RATE_ABOVE_REGISTRY", most + 0.5)
        assert f"{most + 0.5} requests a second are more than the Registry's {most}" in problem.message
