"""Inheritance: platform < source < endpoint < blocks, least specific first < trigger; each value knows whence."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from ingest_core.model.codes import (
    AuthType,
    BackoffPolicy,
    PagePosition,
    SliceStrategy,
    TotalKind,
    WindowMode,
)
from ingest_core.model.errors import BadInput
from ingest_core.registry.columns import LISTS, SETTINGS
from ingest_core.registry.rows import Row, Rows, in_force, scope_text

Overrides = Mapping[str, Mapping[str, Any]]
"""What a trigger says, by block and column."""

PLATFORM: dict[str, dict[str, Any]] = {
    "http": {
        "headers": {},
        "query_params": {},
        "connect_timeout_ms": 10_000,
        "read_timeout_ms": 30_000,
        "allow_plain_http": False,
        "max_redirects": 0,
        "verify_tls": True,
        "deadline_ms": 300_000,
        "max_body_bytes": 32_000_000,
        "max_values": 2_000_000,
    },
    "credential": {"auth_type_code": AuthType.NONE.value, "is_optional": False},
    "pagination": {
        "position_code": PagePosition.CLIENT.value,
        "ascending": False,
        "tail_probe": False,
        "total_kind_code": TotalKind.CHECKED.value,
    },
    "window": {
        "window_mode_code": WindowMode.SLIDING.value,
        "watermark_lag_seconds": 600,
        "lookback_seconds": 0,
        "window_size_seconds": 86_400,
        "overlap_seconds": 0,
        "time_zone": "UTC",
        "supports_updated_since": True,
        "stable_order": False,
    },
    "slicing": {"slice_strategy_code": SliceStrategy.TIME.value, "split_max": 2**31 - 1, "max_queued": 10_000},
    "retry": {
        "backoff_policy_code": BackoffPolicy.EXPONENTIAL_JITTER.value,
        "max_attempts": 5,
        "initial_delay_ms": 100,
        "max_delay_ms": 30_000,
        "multiplier": 2.0,
        "jitter": 0.2,
        "retry_statuses": [408, 429, 500, 502, 503, 504],
    },
    "rate_limit": {"refill_rate_per_sec": 1.0, "burst_capacity": 1, "permit_cost": 1},
    "batching": {"id_batch_size": 200},
}
"""Platform defaults."""

PLATFORM_DEFAULT = "platform default"

OVERRIDABLE = {
    "pagination.page_size",
    "pagination.max_page",
    "window.lag",
    "window.lookback",
    "window.step",
    "window.overlap",
    "slicing.strategy",
    "slicing.target_records",
    "slicing.probe_budget",
    "slicing.max_queued",
    "slicing.id_buckets",
    "batching.id_batch_size",
    "retry.max_attempts",
    "http.read_timeout",
    "rate_limit.requests_per_second",
}
"""What a trigger may say for its own plan; credentials are always today's, and so are rates but for a slower one."""


@dataclass(frozen=True)
class Setting:
    """One value of the result, and which layer said it."""

    key: str
    value: Any
    origin: str


@dataclass(frozen=True)
class Merged:
    """One block's settings by column, and where each came from."""

    block: str
    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, column: str) -> Any:
        return self.values.get(column)

    def settings(self) -> list[Setting]:
        """Every value that is said, under the source file's names, with where it came from."""
        said = [(key, *pair) for key, pair in SETTINGS[self.block].keys.items() if pair[0] in self.origins]
        return [
            Setting(f"{self.block}.{key}", kind.read(self.values[column]), self.origins[column])
            for key, column, kind in said
        ]


def merge_block(
    rows: Rows, block: str, endpoint: str, operation: str, now: datetime, overrides: Overrides | None = None
) -> Merged:
    """The block's settings for this endpoint and operation, layer over layer."""
    return merge_layers(block, _layers(rows, block, endpoint, operation, now, overrides or {}))


def merge_layers(block: str, layers: Iterable[tuple[str, Mapping[str, Any]]]) -> Merged:
    """Later layers say more; headers and parameters are merged name by name."""
    values, origins = dict(PLATFORM[block]), dict.fromkeys(PLATFORM[block], PLATFORM_DEFAULT)
    for origin, layer in layers:
        for column in (column for column, _ in SETTINGS[block].keys.values()):
            value = layer.get(column)
            if value is None:
                continue
            both_maps = isinstance(value, dict) and isinstance(values.get(column), dict)
            values[column] = {**values[column], **value} if both_maps else value
            origins[column] = origin
    return Merged(block, values, origins)


def _layers(
    rows: Rows, block: str, endpoint: str, operation: str, now: datetime, overrides: Overrides
) -> Iterable[tuple[str, Mapping[str, Any]]]:
    provenance = rows["reg_provenance"][0]
    yield "source.defaults (reg_provenance)", (provenance.get("defaults") or {}).get(block, {})
    definition = next((row for row in rows["reg_prov_endpoint_def"] if row["endpoint_name"] == endpoint), {})
    yield f"endpoint {endpoint} defaults (reg_prov_endpoint_def)", (definition.get("defaults") or {}).get(block, {})
    table = SETTINGS[block].table
    for row in in_force(rows.get(table, []), endpoint, operation, now):
        yield f"{block} block for {scope_text(row)} ({table})", row
    yield "trigger", overrides.get(block, {})


def twins(rows: Rows, block: str, endpoint: str, operation: str, now: datetime) -> list[Row]:
    """Rows in force that another row of the same scope and beginning contradicts."""
    seen: set[tuple[Any, ...]] = set()
    found = []
    for row in in_force(rows.get({**SETTINGS, **LISTS}[block].table, []), endpoint, operation, now):
        own = list_identity(block, row) if block in LISTS else ()
        key = (*own, row["endpoint_name"], row["operation_code"], row["effective_from"])
        if key in seen:
            found.append(row)
        seen.add(key)
    return found


def list_identity(name: str, row: Row) -> tuple[Any, ...]:
    """Which entry of a list block a row is: those of the same identity override each other."""
    if name == "params":
        return (row["param_name"],)
    if name == "capabilities":
        return (row["field_code"],)
    return (row["field_code"], row["op_code"], row.get("match_code"))


def read_overrides(given: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """`{"pagination.page_size": "200"}` by block and column; BadInput names what cannot be overridden or meant."""
    overrides: dict[str, dict[str, Any]] = {}
    for name, text in given.items():
        if name not in OVERRIDABLE:
            raise BadInput(
                "OVERRIDE_UNKNOWN",
                f"{name!r} cannot be set for one plan",
                where="overrides",
                remedy=f"what can: {', '.join(sorted(OVERRIDABLE))}",
            )
        block, _, key = name.partition(".")
        column, kind = SETTINGS[block].keys[key]
        overrides.setdefault(block, {})[column] = kind.write(_parse(block, key, text))
    return overrides


def _parse(block: str, key: str, text: str) -> Any:
    try:
        return getattr(SETTINGS[block].model.model_validate({key: text}), key)
    except ValidationError as error:
        expected = error.errors(include_url=False)[0]["msg"]
        raise BadInput(
            "OVERRIDE_INVALID",
            f"{text!r} does not fit: {expected}",
            where=f"{block}.{key}",
            remedy="give another value",
        ) from error
