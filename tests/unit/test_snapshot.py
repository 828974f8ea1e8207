"""A snapshot is frozen and hashed: every setting is in its fingerprint, the query alone in the watermark's key."""

import json
from typing import Any

import pytest
from pydantic import BaseModel

from ingest_core.model.spec import (
    AuthSpec,
    DetailSpec,
    HttpSpec,
    PaginationSpec,
    ParamSpec,
    PredicateSpec,
    RateSpec,
    ResponseSpec,
    RetrySpec,
    RuleSpec,
    SlicingSpec,
    SpecSnapshot,
    WindowSpec,
)
from tests.support.specs import compile_document, crossref_document, crossref_spec

PARTS: dict[str, type[BaseModel]] = {
    "http": HttpSpec,
    "auth": AuthSpec,
    "pagination": PaginationSpec,
    "window": WindowSpec,
    "slicing": SlicingSpec,
    "retry": RetrySpec,
    "rate": RateSpec,
    "response": ResponseSpec,
}
HTTP = crossref_spec().http.model_dump(mode="json")
RESPONSE = {"items_path": "$", "id_path": "$", "updated_at_path": None, "total_path": None}
DETAIL: dict[str, Any] = {"endpoint_name": "d", "http": HTTP, "params": [], "response": RESPONSE, "id_batch_size": 9}

OTHER_SETTINGS: dict[str, Any] = {
    "snapshot_version": 3,
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
        "body_format": "JSON",
        "body": {"sort": "date"},
        "user_agent": "reader",
        "max_redirects": 1,
        "proxy": "http://proxy.example",
        "verify_tls": False,
        "ca_bundle": "certificates.pem",
        "deadline_seconds": 60.0,
        "max_body_bytes": 64_000_000,
        "max_values": 500,
    },
    "auth": {
        "type": "BEARER",
        "credential_ref": "env:KEY",
        "username_ref": "env:USER",
        "location": "QUERY",
        "name": "key",
        "optional": True,
        "token_url": "https://example.org/token",
        "scope": "read",
        "signing_hook": "hook",
    },
    "pagination": {
        "type": "URL",
        "position": "CLIENT",
        "page_size": 1,
        "max_page": 9,
        "initial_token": "0",
        "next_token_path": "$.next",
        "has_more_path": "$.more",
        "token_ttl_seconds": None,
        "next_url_path": "$.url",
        "step_path": "$.step",
        "page_base": 1,
        "max_records": 1000,
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
        "time_zone": "Europe/Berlin",
        "supports_updated_since": False,
        "min_window_seconds": 1,
        "max_window_seconds": 99,
    },
    "slicing": {
        "strategy": "HYBRID",
        "target_records": 900,
        "probe_budget": 0,
        "split_field": "number",
        "split_max": 9,
        "max_queued": 0,
        "id_buckets": 16,
    },
    "retry": {
        "max_attempts": 1,
        "initial_seconds": 1.0,
        "max_seconds": 1.0,
        "multiplier": 1.0,
        "jitter": 0.0,
        "retry_statuses": [],
    },
    "rate": {
        "requests_per_second": 1.0,
        "burst": 2,
        "cost": 2,
        "max_concurrency": 3,
        "with_credential_per_second": 9.0,
        "daily_quota": 5,
        "limit_header": "x-other",
        "remaining_header": "x-left",
        "reset_header": "x-reset",
        "reset_kind": "SECONDS_LEFT",
        "asked_for": True,
        "scope": "ENDPOINT",
        "share": "account",
        "demote": 3.0,
        "cool_down_seconds": 20.0,
        "open_seconds": 90.0,
        "hourly_quota": 7,
        "quota_cost": 2,
        "quota_margin": 0.2,
        "quota_reset_hour": 6,
        "interval_header": "x-interval",
        "concurrency_header": "x-concurrency",
        "refusal_statuses": [403],
        "query_costs": [{"param": "search", "quota_cost": 10}],
    },
    "params": [],
    "rules": [],
    "response": {
        "items_path": "$",
        "id_path": {"all": ["$.a", "$.b"]},
        "updated_at_path": "$.at",
        "total_path": None,
        "version_path": "$.version",
        "format": "XML",
        "namespaces": {"a": "urn:a"},
        "time_zone": "Europe/Berlin",
        "errors": [{"path": "$.error"}],
        "empty": [{"path": "$.none"}],
        "record_error": {"path": "$.bad"},
        "deleted": {"path": "$.deleted"},
        "merged_into_path": "$.merged",
    },
    "mapping": {},
    "id_normalizer": "NONE",
    "on_equal": "CHANGED",
    "on_refresh": "FILL_EMPTY",
    "detail": DETAIL,
    "item_endpoint": "dois",
    "drift": {"share": 0.5, "records": 20},
}
EACH_SETTING = [
    {part: {name: value} if part in PARTS else change}
    for part, change in OTHER_SETTINGS.items()
    for name, value in (change.items() if part in PARTS else [("", None)])
]


def test_the_table_of_other_settings_names_every_setting() -> None:
    assert set(OTHER_SETTINGS) | {"expression"} == set(SpecSnapshot.model_fields)
    for part, model in PARTS.items():
        assert set(OTHER_SETTINGS[part]) | {"policy"} == set(model.model_fields) | {"policy"}  # there is one policy


@pytest.mark.parametrize("change", EACH_SETTING, ids=lambda change: str(change)[:60])
def test_any_setting_is_in_the_fingerprint_and_not_in_the_query(change: dict[str, Any]) -> None:
    changed = crossref_spec(**change)

    assert changed != crossref_spec()
    assert changed.fingerprint != crossref_spec().fingerprint
    assert changed.expr_proto_hash == crossref_spec().expr_proto_hash
    assert SpecSnapshot.from_json(json.loads(json.dumps(changed.json_value()))) == changed


NESTED: list[tuple[type[BaseModel], dict[str, Any], dict[str, Any]]] = [
    (
        ParamSpec,
        {"name": "a", "location": "QUERY", "value": "query"},
        {"name": "b", "location": "PATH", "value": "ids", "default": "x", "functions": ["url"], "required": True},
    ),
    (
        RuleSpec,
        {"op": "TERM"},
        {
            "op": "IN",
            "field": "f",
            "match": "EXACT",
            "template": "t",
            "params": {"p": "t"},
            "separator": ";",
            "joiner": ";",
            "open_start": "0",
            "open_end": "*",
        },
    ),
    (
        PredicateSpec,
        {"path": "$.a"},
        {"path": "$.b", "equals": False, "matches": "x", "message": "$.m", "level": "L1", "effect": "RESTART"},
    ),
    (
        DetailSpec,
        DETAIL,
        {
            "endpoint_name": "e",
            "http": {**HTTP, "path": "/x"},
            "params": [{"name": "a", "location": "QUERY", "value": "ids"}],
            "response": {**RESPONSE, "format": "XML"},
            "id_batch_size": 10,
            "auth": {"type": "NONE", "credential_ref": None},
            "rate": {"requests_per_second": 1.0, "burst": 1},
        },
    ),
]


@pytest.mark.parametrize(("model", "plain", "others"), NESTED, ids=lambda value: getattr(value, "__name__", ""))
def test_a_part_of_a_part_writes_every_setting_and_reads_it_back(
    model: type[BaseModel], plain: dict[str, Any], others: dict[str, Any]
) -> None:
    assert set(others) == set(model.model_fields)
    written = [model(**{**plain, name: value}).model_dump(mode="json") for name, value in others.items()]

    assert len({json.dumps(one, sort_keys=True) for one in [*written, model(**plain).model_dump(mode="json")]}) == (
        len(others) + 1
    )
    assert [model(**one).model_dump(mode="json") for one in written] == written


def test_a_setting_left_at_its_default_is_not_written_so_that_a_new_one_changes_no_hash() -> None:
    written = crossref_spec().json_value()

    assert not {"detail", "slicing", "item_endpoint"} & written.keys()
    assert not {"body", "proxy", "verify_tls"} & written["http"].keys()
    assert not {"namespaces", "errors", "format"} & written["response"].keys()
    assert {"max_page", "token_ttl_seconds"} <= written["pagination"].keys()  # those of the first version always are


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


@pytest.mark.parametrize("part", ["http", "window", "slicing", "response"])
def test_a_setting_that_is_not_known_is_refused(part: str) -> None:
    with pytest.raises(ValueError, match="surprise"):
        crossref_spec(**{part: {"surprise": 1}})
