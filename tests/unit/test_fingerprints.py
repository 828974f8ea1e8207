"""What a source means is in its fingerprint, how it is said is not; the query alone is in expr_proto_hash."""

import random
from collections.abc import Iterator
from copy import deepcopy
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from ingest_core.model.codes import Operation
from ingest_core.model.errors import BadInput
from ingest_core.model.spec import SpecSnapshot
from ingest_core.registry.columns import SETTINGS
from ingest_core.registry.compile import CompileRequest, compile_source
from ingest_core.registry.merge import PLATFORM
from ingest_core.registry.read import read_source
from ingest_core.registry.rows import rows_of
from ingest_core.registry.source_file import SourceFile
from ingest_core.shipped import shipped_sources
from tests.support.specs import NOW, at
from tests.support.yaml_text import read_yaml

Document = dict[str, Any]
Path = tuple[str | int, ...]

TEXT = shipped_sources()["crossref.yaml"]
STRATEGIES = frozenset({"TIME", "HYBRID"})


def crossref(**blocks: Document) -> Document:
    """The shipped file as a document, with keys of its blocks changed; None takes one out."""
    document: Document = read_yaml(TEXT)
    for name, change in blocks.items():
        block = {**document.get(name, {}), **change}
        document[name] = {key: value for key, value in block.items() if value is not None}
    return document


def spec_of(document: Document | str, query: str | None = None, now: datetime = NOW) -> SpecSnapshot:
    """What a document, or its text, compiles to for harvests."""
    file = read_source(document, "a.yaml") if isinstance(document, str) else SourceFile.model_validate(document)
    request = CompileRequest(file.source.code, file.endpoints[0].name, Operation.HARVEST, query, strategies=STRATEGIES)
    return compile_source(rows_of(file), request, now).spec


def hashes(document: Document | str, query: str | None = None) -> tuple[str, str]:
    """Fingerprint and expr_proto_hash."""
    spec = spec_of(document, query)
    return spec.fingerprint, spec.expr_proto_hash


SHIPPED = hashes(TEXT)


class TestHowItIsSaid:
    """Comments, the order of keys and entries, the layer and the spelling leave no trace."""

    def test_comments_and_blank_lines(self) -> None:
        commented = "\n".join(f"{line}  # a comment\n" for line in TEXT.splitlines() if line.strip())

        assert hashes(commented) == SHIPPED

    @settings(deadline=None, max_examples=15)
    @given(st.randoms(use_true_random=False))
    def test_the_order_of_keys_and_of_entries(self, order: random.Random) -> None:
        document = _reordered(crossref(), order)
        for name in ("params", "fields", "capabilities", "render_rules"):
            order.shuffle(document[name])

        assert hashes(document) == SHIPPED

    @pytest.mark.parametrize(
        "changes",
        [
            {"window": {"lookback": "PT120M"}},
            {"window": {"window_size": "PT24H"}},
            {"window": {"lag": 600}},
            {"retry": {"initial": "PT0.500S"}},
            {"retry": {"statuses": [504, 503, 502, 500, 429, 408, 408]}},
            {"rate_limit": {"requests_per_second": 5.0}},
            {"http": {"base_url": "https://api.crossref.org/"}},
        ],
        ids=str,
    )
    def test_another_spelling_of_the_same_value(self, changes: dict[str, Document]) -> None:
        assert hashes(crossref(**changes)) == SHIPPED

    @pytest.mark.parametrize("said", ["2020-01-01", "2020-01-01T08:00:00+08:00", "2019-12-31T19:00:00-05:00"])
    def test_the_zone_of_an_instant(self, said: str) -> None:
        assert hashes(crossref(window={"baseline": said})) == hashes(
            crossref(window={"baseline": "2020-01-01T00:00:00Z"})
        )

    @pytest.mark.parametrize("block", sorted(set(SETTINGS) & set(read_yaml(TEXT))))
    def test_the_layer_that_says_it(self, block: str) -> None:
        for holder in ("source", "endpoint"):
            document = crossref()
            place = document["source"] if holder == "source" else document["endpoints"][0]
            place["defaults"] = {block: document.pop(block)}
            assert hashes(document) == SHIPPED

    def test_scope_and_dates_of_what_is_in_force(self) -> None:
        scope = {"for": {"endpoint": "works", "operation": "HARVEST"}, "effective_from": "2020-01-01"}

        assert hashes(crossref(rate_limit=scope, window=scope)) == SHIPPED

    def test_what_is_not_in_force(self) -> None:
        document = crossref()
        document["retry"] = [document["retry"], {"max_attempts": 9, "effective_from": "2030-01-01"}]
        document["params"].append({"name": "x", "value": "query", "for": {"operation": "UPDATE"}})

        assert hashes(document) == SHIPPED
        assert spec_of(document, now=at("2031-01-01")).fingerprint != SHIPPED[0]


def _reordered(value: Any, order: random.Random) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        order.shuffle(keys)
        return {key: _reordered(value[key], order) for key in keys}
    return [_reordered(one, order) for one in value] if isinstance(value, list) else value


class TestDefaults:
    """A setting said at its default value is as if not said."""

    UNSAID = sorted(
        (block, key)
        for block, kind in SETTINGS.items()
        for key, (column, _) in kind.keys.items()
        if column in PLATFORM[block] and key not in read_yaml(TEXT).get(block, {})
    )

    @pytest.mark.parametrize(("block", "key"), UNSAID, ids=[".".join(pair) for pair in UNSAID])
    def test_of_the_platform(self, block: str, key: str) -> None:
        column, kind = SETTINGS[block].keys[key]
        said = kind.read(PLATFORM[block][column])

        assert hashes(crossref(**{block: {key: said}})) == SHIPPED

    @pytest.mark.parametrize(
        "changes",
        [
            {"pagination": {"page_size": 700}},
            {"pagination": {"page_base": 0}},
            {"window": {"recheck": "PT30M"}},
            {"credential": {"location": "HEADER"}},
        ],
        ids=str,
    )
    def test_that_is_computed(self, changes: dict[str, Document]) -> None:
        assert hashes(crossref(**changes)) == SHIPPED

    @pytest.mark.parametrize(
        ("place", "default"),
        [
            (("source", "on_equal"), "KEEP"),
            (("endpoints", 0, "method"), "GET"),
            (("endpoints", 0, "role"), "SEARCH"),
            (("endpoints", 0, "restricted"), False),
            (("endpoints", 0, "response", "format"), "JSON"),
            (("endpoints", 0, "response", "time_zone"), "UTC"),
            (("endpoints", 0, "response", "errors"), []),
            (("endpoints", 0, "response", "empty"), []),
            (("endpoints", 0, "response", "namespaces"), {}),
            (("params", 0, "location"), "QUERY"),
            (("params", 0, "required"), False),
            (("params", 0, "as"), []),
            (("render_rules", 0, "separator"), ","),
        ],
        ids=str,
    )
    def test_of_the_file(self, place: Path, default: Any) -> None:
        assert hashes(changed(crossref(), place, default)) == SHIPPED

    def test_of_an_error_in_an_answer(self) -> None:
        place: Path = ("endpoints", 0, "response", "errors")

        assert hashes(changed(crossref(), place, [{"path": "$.error", "level": None}])) == hashes(
            changed(crossref(), place, {"path": "$.error"})
        )


def changed(document: Document, path: Path, value: Any) -> Document:
    """The document with another value at a place."""
    result: Any = deepcopy(document)
    place = result
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return dict(result)


API_KEY = {"auth": "API_KEY", "ref": "env:A", "name": "key"}
OAUTH = {"auth": "OAUTH2", "ref": "env:A", "username_ref": "env:B", "token_url": "https://a.org"}
OTHERWISE: dict[str, dict[str, Any]] = {
    "http": {
        "base_url": "https://api.example.org",
        "headers": {"Accept": "text/json"},
        "query": {"select": "DOI"},
        "connect_timeout": "PT1S",
        "read_timeout": "PT61S",
        "allow_plain_http": True,
        "user_agent": "other",
        "max_redirects": 1,
        "proxy": "https://proxy.example.org",
        "verify_tls": False,
        "ca_bundle": "own.pem",
        "deadline": "PT1M",
        "max_body_bytes": 64_000_000,
        "max_values": 500,
    },
    "credential": {
        "auth": (API_KEY, "BEARER"),
        "ref": (API_KEY, "env:OTHER"),
        "username_ref": (OAUTH, "env:OTHER"),
        "location": (API_KEY, "QUERY"),
        "name": (API_KEY, "token"),
        "optional": (API_KEY, True),
        "token_url": (OAUTH, "https://b.org"),
        "oauth_scope": (OAUTH, "read"),
        "signing_hook": ({"auth": "CUSTOM", "signing_hook": "a"}, "b"),
    },
    "pagination": {
        "type": "TIME",
        "position": "CLIENT",
        "page_size": 699,
        "max_page_size": 999,
        "max_page": 10,
        "max_records": 10_000,
        "initial_token": "0",
        "next_token": "$.next",
        "next_url": ({"type": "URL", "next_token": None, "next_url": "$.a"}, "$.b"),
        "has_more": "$.more",
        "step": "$.count",
        "page_base": 1,
        "token_ttl": "PT4M",
        "ascending": True,
        "tail_probe": True,
        "next_hosts": ["cdn.example"],
        "max_page_bytes": 1000,
        "empty_page": "CONTINUE",
        "total_kind": "ESTIMATE",
        "max_shortfall": 5,
        "restart_statuses": [422],
    },
    "window": {
        "mode": ({"align_to": "HOUR"}, "CALENDAR"),
        "field": "published",
        "watermark_key": "published",
        "lag": "PT9M",
        "lookback": ({"recheck": "PT1M"}, "PT3H"),
        "recheck": "PT1M",
        "window_size": "P2D",
        "step": "PT5H",
        "min_window": "PT1H",
        "max_window": "P1D",
        "overlap": "PT1M",
        "baseline": "2020-01-01",
        "align_to": "HOUR",
        "unit": ({"format": "%Y-%m-%dT%H:%M"}, "MINUTE"),
        "format": "%Y-%m-%d %H",
        "time_zone": "Europe/Berlin",
        "upper_inclusive": False,
        "stored_precision": "HOUR",
        "supports_updated_since": ({"stable_order": True}, False),
    },
    "slicing": {
        "strategy": "HYBRID",
        "target_records": 900,
        "probe_budget": 0,
        "split_max": 9,
        "max_queued": 0,
        "id_buckets": 16,
    },
    "retry": {
        "max_attempts": 4,
        "initial": "PT0.4S",
        "max": "PT29S",
        "multiplier": 3,
        "jitter": 0.1,
        "statuses": [429],
    },
    "rate_limit": {
        "requests_per_second": 4.5,
        "with_credential": 10,
        "burst": 2,
        "cost": 2,
        "max_concurrency": 3,
        "daily_quota": 1000,
        "limit_header": "x-limit",
        "remaining_header": "x-left",
        "reset_header": ({"reset_kind": "SECONDS_LEFT"}, "x-reset"),
        "reset_kind": ({"reset_header": "x-reset", "reset_kind": "SECONDS_LEFT"}, "EPOCH_SECONDS"),
        "hourly_quota": 100,
        "quota_cost": 2,
        "quota_margin": 0.2,
        "quota_reset_hour": 6,
        "query_costs": [{"param": "search", "quota_cost": 10}],
        "scope": "ENDPOINT",
        "share": "account",
        "demote": 3,
        "cool_down": "PT20S",
        "open_time": "PT2M",
        "interval_header": ({"limit_header": "x-limit"}, "x-interval"),
        "concurrency_header": "x-concurrency",
        "refusal_statuses": [403],
    },
}
"""For every setting another value; where it means nothing alone, with what both sides have beside it."""

FOR_CHECKS_AND_PEOPLE = {
    "pagination.order_by": "for people",
    "window.stable_order": "a promise the compiler checks",
    "slicing.split_field": "there is no field here that can; see below",
    "retry.policy": "there is one",
    "rate_limit.provider_cap": "a limit the compiler checks",
    "batching.max_ids": "a limit the compiler checks",
    "batching.id_batch_size": "there are no details here; see below",
}
CASES = [(block, key) for block, keys in OTHERWISE.items() for key in keys]


def _file_key(block: str, key: str) -> str:
    return SETTINGS[block].model.model_fields[key].alias or key


def test_the_table_of_other_values_names_every_setting() -> None:
    every = {f"{block}.{_file_key(block, key)}" for block, kind in SETTINGS.items() for key in kind.keys}

    assert every == {f"{block}.{key}" for block, key in CASES} | set(FOR_CHECKS_AND_PEOPLE)


@pytest.mark.parametrize(("block", "key"), CASES, ids=[f"{block}.{key}" for block, key in CASES])
def test_another_value_of_a_setting_is_another_fingerprint_and_the_same_query(block: str, key: str) -> None:
    said = OTHERWISE[block][key]
    beside, value = said if isinstance(said, tuple) else ({}, said)
    before, after = hashes(crossref(**{block: beside})), hashes(crossref(**{block: {**beside, key: value}}))

    assert after[0] != before[0]
    assert after[1] == before[1] == SHIPPED[1]


@pytest.mark.parametrize(("place", "other"), [(("batching", "id_batch_size"), 199), (("slicing", "split_field"), None)])
def test_what_has_no_use_here_is_in_the_fingerprint_of_a_source_that_uses_it(place: Path, other: Any) -> None:
    document = read_yaml(shipped_sources()["pubmed.yaml"])
    before, after = hashes(document), hashes(changed(document, place, other))

    assert after[0] != before[0]
    assert after[1] == before[1]


WORDS_AND_GUARDS = {"source": {"name", "description", "docs_url"}, "endpoints": {"operations", "role"}}
"""Keys that mean nothing to a plan."""


def leaves_of(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value of a document that is no mapping and no list, with its place."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if pairs is None:
        yield path, value
        return
    for step, one in pairs:
        yield from leaves_of(one, (*path, step))


def goes_unnoticed(path: Path) -> bool:
    """Words for people, and what only decides which queries and operations are let in."""
    if path[0] in ("capabilities", "fields"):
        return True
    return not WORDS_AND_GUARDS.get(str(path[0]), set()).isdisjoint(map(str, path))


OTHER_CODES = {"DOI": "NONE", "SEARCH": "METRICS", "HARVEST": "HARVEST", "BACKFILL": "UPDATE", "doi": "orcid"}
REST = [(path, value) for path, value in leaves_of(read_yaml(TEXT)) if path[0] not in SETTINGS]


@pytest.mark.parametrize(("path", "value"), REST, ids=[".".join(map(str, path)) for path, _ in REST])
def test_no_other_word_of_the_file_can_change_unseen(path: Path, value: Any) -> None:
    other = OTHER_CODES.get(value, f"{value}x") if isinstance(value, str) else not value
    try:
        after = hashes(changed(crossref(), path, other))
    except (BadInput, ValidationError):
        return  # seen well enough
    assert (after[0] == SHIPPED[0]) == goes_unnoticed(path)
    assert after[1] == SHIPPED[1]


class TestQueries:
    """Only a query changes expr_proto_hash, and the same query never does."""

    def test_a_query_changes_both(self) -> None:
        fingerprint, query = hashes(TEXT, "type:book")

        assert fingerprint != SHIPPED[0]
        assert query != SHIPPED[1]

    def test_it_does_not_matter_who_asks(self) -> None:
        standing = changed(crossref(), ("endpoints", 0, "query"), "type:book heart")

        assert hashes(standing) == hashes(TEXT, "heart AND type:book")
        assert hashes(standing, "heart") == hashes(standing)

    @pytest.mark.parametrize("query", ["heart failure", "failure AND heart", "(heart) failure heart"])
    def test_the_same_query_said_otherwise_is_the_same(self, query: str) -> None:
        assert hashes(TEXT, query) == hashes(TEXT, "failure heart")

    @pytest.mark.parametrize("query", ["heart", "Heart failure", '"heart failure"', "type:heart failure"])
    def test_another_query_is_another(self, query: str) -> None:
        assert hashes(TEXT, query)[1] != hashes(TEXT, "failure heart")[1]
