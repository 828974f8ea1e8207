"""Where each key of a source file's blocks lives: its table, its column, and how its value is written there."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from ingest_core.model.instant import as_utc, format_instant
from ingest_core.registry.source_file import (
    Batching,
    Block,
    Capability,
    Credential,
    Http,
    Pagination,
    Param,
    RateLimit,
    RenderRule,
    Retry,
    Slicing,
    WindowBlock,
)

Convert = Callable[[Any], Any]


@dataclass(frozen=True)
class Notation:
    """How a value is written in a row, and read back for a file."""

    write: Convert
    read: Convert


def _plain(value: Any) -> Any:
    if isinstance(value, StrEnum):
        return value.value
    return [_plain(one) for one in value] if isinstance(value, list) else value


def iso_span(span: timedelta) -> str:
    """A duration as files write it."""
    micros = span // timedelta(microseconds=1)
    if micros and micros % 86_400_000_000 == 0:
        return f"P{micros // 86_400_000_000}D"
    seconds, fraction = divmod(micros, 1_000_000)
    hours, seconds = divmod(seconds, 3600)
    minutes, seconds = divmod(seconds, 60)
    tail = f"{seconds}.{fraction:06d}".rstrip("0") if fraction else str(seconds)
    text = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "") + (f"{tail}S" if tail != "0" else "")
    return f"PT{text or '0S'}"


PLAIN = Notation(_plain, lambda value: value)
SORTED = Notation(lambda value: sorted(set(_plain(value))), lambda value: value)
URL = Notation(lambda value: value.rstrip("/"), lambda value: value)
SECONDS = Notation(lambda span: int(span.total_seconds()), lambda value: iso_span(timedelta(seconds=value)))
MILLIS = Notation(lambda span: span // timedelta(milliseconds=1), lambda value: iso_span(timedelta(milliseconds=value)))
RULES = Notation(lambda value: [one.model_dump(exclude_none=True) for one in value], lambda value: value)
INSTANT = Notation(as_utc, lambda value: format_instant(value) if isinstance(value, datetime) else value)


@dataclass(frozen=True)
class BlockTable:
    """A kind of block: its model, its table, and a column for each key."""

    model: type[Block]
    table: str
    keys: Mapping[str, tuple[str, Notation]]

    def row(self, block: Block) -> dict[str, Any]:
        """The block's values by column; None where it says nothing."""
        values = {key: getattr(block, key) for key in self.keys}
        return {
            column: None if values[key] is None else kind.write(values[key])
            for key, (column, kind) in self.keys.items()
        }

    def document(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The row as a file would say it, under the file's names; what it does not say is left out."""
        fields = self.model.model_fields
        return {
            fields[key].alias or key: kind.read(row[column])
            for key, (column, kind) in self.keys.items()
            if row.get(column) is not None
        }


def _table(model: type[Block], table: str, **keys: tuple[str, Notation]) -> BlockTable:
    return BlockTable(model, table, keys)


SETTINGS: dict[str, BlockTable] = {
    "http": _table(
        Http,
        "reg_prov_http_cfg",
        base_url=("base_url", URL),
        headers=("headers", PLAIN),
        query=("query_params", PLAIN),
        connect_timeout=("connect_timeout_ms", MILLIS),
        read_timeout=("read_timeout_ms", MILLIS),
        allow_plain_http=("allow_plain_http", PLAIN),
        user_agent=("user_agent", PLAIN),
        max_redirects=("max_redirects", PLAIN),
        proxy=("proxy_url", PLAIN),
        verify_tls=("verify_tls", PLAIN),
        ca_bundle=("ca_bundle", PLAIN),
        deadline=("deadline_ms", MILLIS),
        max_body_bytes=("max_body_bytes", PLAIN),
        max_values=("max_values", PLAIN),
    ),
    "credential": _table(
        Credential,
        "reg_prov_credential",
        auth=("auth_type_code", PLAIN),
        ref=("credential_ref", PLAIN),
        username_ref=("username_ref", PLAIN),
        location=("auth_location_code", PLAIN),
        name=("auth_name", PLAIN),
        optional=("is_optional", PLAIN),
        token_url=("token_url", PLAIN),
        scope_text=("oauth_scope", PLAIN),
        signing_hook=("signing_hook", PLAIN),
    ),
    "pagination": _table(
        Pagination,
        "reg_prov_pagination_cfg",
        type=("pagination_type_code", PLAIN),
        position=("position_code", PLAIN),
        page_size=("page_size", PLAIN),
        max_page_size=("max_page_size", PLAIN),
        max_page=("max_page", PLAIN),
        max_records=("max_records", PLAIN),
        initial_token=("initial_token", PLAIN),
        next_token=("next_token_path", PLAIN),
        next_url=("next_url_path", PLAIN),
        has_more=("has_more_path", PLAIN),
        step=("step_path", PLAIN),
        page_base=("page_base", PLAIN),
        token_ttl=("token_ttl_seconds", SECONDS),
        order_by=("order_by", PLAIN),
        ascending=("ascending", PLAIN),
        tail_probe=("tail_probe", PLAIN),
        next_hosts=("next_hosts", SORTED),
        max_page_bytes=("max_page_bytes", PLAIN),
        empty_page=("empty_page_code", PLAIN),
        total_kind=("total_kind_code", PLAIN),
        max_shortfall=("max_shortfall", PLAIN),
        restart_statuses=("restart_statuses", SORTED),
    ),
    "window": _table(
        WindowBlock,
        "reg_prov_window_offset_cfg",
        mode=("window_mode_code", PLAIN),
        field=("offset_field_name", PLAIN),
        watermark_key=("watermark_key", PLAIN),
        lag=("watermark_lag_seconds", SECONDS),
        lookback=("lookback_seconds", SECONDS),
        recheck=("recheck_seconds", SECONDS),
        window_size=("window_size_seconds", SECONDS),
        step=("step_seconds", SECONDS),
        min_window=("min_window_seconds", SECONDS),
        max_window=("max_window_seconds", SECONDS),
        overlap=("overlap_seconds", SECONDS),
        baseline=("baseline_at", INSTANT),
        align_to=("calendar_align_to", PLAIN),
        unit=("time_unit_code", PLAIN),
        format=("time_format", PLAIN),
        time_zone=("time_zone", PLAIN),
        upper_inclusive=("upper_inclusive", PLAIN),
        stored_precision=("stored_precision_code", PLAIN),
        supports_updated_since=("supports_updated_since", PLAIN),
        stable_order=("stable_order", PLAIN),
    ),
    "slicing": _table(
        Slicing,
        "reg_prov_slicing_cfg",
        strategy=("slice_strategy_code", PLAIN),
        target_records=("target_records", PLAIN),
        probe_budget=("probe_budget", PLAIN),
        split_field=("split_field_name", PLAIN),
        split_max=("split_max", PLAIN),
        max_queued=("max_queued", PLAIN),
        id_buckets=("id_buckets", PLAIN),
    ),
    "retry": _table(
        Retry,
        "reg_prov_retry_cfg",
        policy=("backoff_policy_code", PLAIN),
        max_attempts=("max_attempts", PLAIN),
        initial=("initial_delay_ms", MILLIS),
        max=("max_delay_ms", MILLIS),
        multiplier=("multiplier", PLAIN),
        jitter=("jitter", PLAIN),
        statuses=("retry_statuses", SORTED),
    ),
    "rate_limit": _table(
        RateLimit,
        "reg_prov_rate_limit_cfg",
        requests_per_second=("refill_rate_per_sec", PLAIN),
        with_credential=("with_credential_per_sec", PLAIN),
        provider_cap=("provider_cap_per_sec", PLAIN),
        burst=("burst_capacity", PLAIN),
        cost=("permit_cost", PLAIN),
        max_concurrency=("max_concurrency", PLAIN),
        daily_quota=("daily_quota", PLAIN),
        hourly_quota=("hourly_quota", PLAIN),
        quota_cost=("quota_cost", PLAIN),
        quota_margin=("quota_margin", PLAIN),
        quota_reset_hour=("quota_reset_hour", PLAIN),
        query_costs=("query_costs", RULES),
        gate_scope=("scope_code", PLAIN),
        share=("share_name", PLAIN),
        demote=("demote_factor", PLAIN),
        cool_down=("cool_down_ms", MILLIS),
        open_time=("open_time_ms", MILLIS),
        limit_header=("limit_header", PLAIN),
        interval_header=("interval_header", PLAIN),
        remaining_header=("remaining_header", PLAIN),
        reset_header=("reset_header", PLAIN),
        reset_kind=("reset_kind_code", PLAIN),
        concurrency_header=("concurrency_header", PLAIN),
        refusal_statuses=("refusal_statuses", SORTED),
    ),
    "batching": _table(
        Batching,
        "reg_prov_batching_cfg",
        id_batch_size=("id_batch_size", PLAIN),
        max_ids=("max_ids", PLAIN),
    ),
}
"""The blocks whose values are inherited key by key."""

LISTS: dict[str, BlockTable] = {
    "params": _table(
        Param,
        "reg_prov_api_param_map",
        name=("param_name", PLAIN),
        location=("location_code", PLAIN),
        value=("std_key", PLAIN),
        default=("default_value", PLAIN),
        functions=("functions", PLAIN),
        required=("is_required", PLAIN),
    ),
    "capabilities": _table(
        Capability,
        "reg_prov_expr_capability",
        field=("field_code", PLAIN),
        ops=("ops", SORTED),
        matches=("matches", SORTED),
        negatable=("negatable", PLAIN),
        max_length=("max_length", PLAIN),
        pattern=("term_pattern", PLAIN),
        max_values=("max_values", PLAIN),
    ),
    "render_rules": _table(
        RenderRule,
        "reg_prov_expr_render_rule",
        field=("field_code", PLAIN),
        op=("op_code", PLAIN),
        match=("match_code", PLAIN),
        param=("param_name", PLAIN),
        template=("template", PLAIN),
        params=("rule_params", PLAIN),
        separator=("value_separator", PLAIN),
        joiner=("rule_joiner", PLAIN),
        open_start=("open_start", PLAIN),
        open_end=("open_end", PLAIN),
    ),
}
"""The blocks that are lists of named things, of which the most specific in force counts."""
