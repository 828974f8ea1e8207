"""The `reg_*` and `sys_dict_*` tables."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from ingest_core.store.engine.types import BigId, Utc, code, json_value, long_text

metadata = sa.MetaData()


def _id() -> sa.Column[int]:
    return sa.Column("id", BigId, primary_key=True, autoincrement=True)


def _audit() -> list[sa.Column[Any]]:
    return [
        sa.Column("record_remarks", json_value()),
        sa.Column("version", sa.Integer, nullable=False, server_default="0"),
        sa.Column("created_at", Utc, nullable=False),
        sa.Column("updated_at", Utc, nullable=False),
    ]


def _dated() -> list[sa.Column[Any]]:
    return [
        sa.Column("effective_from", Utc),
        sa.Column("effective_to", Utc),
        sa.Column("closed_at", Utc),
    ]


def _scoped(name: str, *columns: sa.Column[Any], later: Sequence[sa.Column[Any]] = ()) -> sa.Table:
    """A configuration table: scoped by operation and endpoint, temporal; a closed row is history.

    Columns that came with a later migration stand at its end.
    """
    return sa.Table(
        name,
        metadata,
        _id(),
        sa.Column("provenance_code", code(), nullable=False),
        sa.Column("endpoint_name", code()),
        sa.Column("operation_code", code(32), nullable=False),
        *columns,
        *_dated(),
        *_audit(),
        *later,
        sa.Index(f"idx_{name.removeprefix('reg_')}_scope", "provenance_code", "closed_at"),
    )


sys_dict_type = sa.Table(
    "sys_dict_type",
    metadata,
    _id(),
    sa.Column("type_code", code(), nullable=False),
    sa.Column("type_name", sa.String(200), nullable=False),
    *_audit(),
    sa.UniqueConstraint("type_code", name="uk_dict_type"),
)

sys_dict_item = sa.Table(
    "sys_dict_item",
    metadata,
    _id(),
    sa.Column("type_code", code(), nullable=False),
    sa.Column("item_code", code(), nullable=False),
    sa.Column("item_name", sa.String(200), nullable=False),
    sa.Column("sort_no", sa.Integer, nullable=False),
    *_audit(),
    sa.UniqueConstraint("type_code", "item_code", name="uk_dict_item"),
)

sys_dict_item_alias = sa.Table(
    "sys_dict_item_alias",
    metadata,
    _id(),
    sa.Column("type_code", code(), nullable=False),
    sa.Column("item_code", code(), nullable=False),
    sa.Column("alias_code", code(), nullable=False),
    *_audit(),
    sa.UniqueConstraint("type_code", "alias_code", name="uk_dict_alias"),
)

reg_provenance = sa.Table(
    "reg_provenance",
    metadata,
    _id(),
    sa.Column("provenance_code", code(), nullable=False),
    sa.Column("provenance_name", sa.String(200), nullable=False),
    sa.Column("description", long_text(), nullable=False),
    sa.Column("docs_url", long_text()),
    sa.Column("id_normalizer_code", code(32), nullable=False),
    sa.Column("on_equal_code", code(32), nullable=False),
    sa.Column("output_mapping", json_value(), nullable=False),
    sa.Column("defaults", json_value()),
    sa.Column("closed_at", Utc),
    *_audit(),
    sa.Column("on_refresh_code", code(32)),
    sa.Column("id_pattern", long_text()),
    sa.Column("drift_share", sa.Double),
    sa.Column("drift_records", sa.Integer),
    sa.Index("idx_provenance_code", "provenance_code", "closed_at"),
)

reg_prov_endpoint_def = sa.Table(
    "reg_prov_endpoint_def",
    metadata,
    _id(),
    sa.Column("provenance_code", code(), nullable=False),
    sa.Column("endpoint_name", code(), nullable=False),
    sa.Column("endpoint_role_code", code(32), nullable=False),
    sa.Column("http_method_code", code(16), nullable=False),
    sa.Column("path_template", long_text(), nullable=False),
    sa.Column("operations", json_value(), nullable=False),
    sa.Column("items_path", long_text(), nullable=False),
    sa.Column("id_path", long_text()),
    sa.Column("id_expr", json_value()),
    sa.Column("updated_at_path", long_text()),
    sa.Column("updated_at_expr", json_value()),
    sa.Column("total_path", long_text()),
    sa.Column("response_format_code", code(32)),
    sa.Column("xml_namespaces", json_value()),
    sa.Column("response_time_zone", code()),
    sa.Column("error_predicates", json_value()),
    sa.Column("empty_predicates", json_value()),
    sa.Column("record_error", json_value()),
    sa.Column("restricted", sa.Boolean),
    sa.Column("detail_endpoint_name", code()),
    sa.Column("query_text", long_text()),
    sa.Column("body_format_code", code(32)),
    sa.Column("body_template", json_value()),
    sa.Column("output_mapping", json_value()),
    sa.Column("defaults", json_value()),
    sa.Column("closed_at", Utc),
    *_audit(),
    sa.Column("version_expr", json_value()),
    sa.Column("deleted_predicate", json_value()),
    sa.Column("merged_into_expr", json_value()),
    sa.Column("refreshes_endpoint_name", code()),
    sa.Index("idx_prov_endpoint_def_scope", "provenance_code", "closed_at"),
)

reg_prov_http_cfg = _scoped(
    "reg_prov_http_cfg",
    sa.Column("base_url", long_text()),
    sa.Column("headers", json_value()),
    sa.Column("query_params", json_value()),
    sa.Column("connect_timeout_ms", sa.Integer),
    sa.Column("read_timeout_ms", sa.Integer),
    sa.Column("allow_plain_http", sa.Boolean),
    sa.Column("user_agent", long_text()),
    sa.Column("max_redirects", sa.Integer),
    sa.Column("proxy_url", long_text()),
    sa.Column("verify_tls", sa.Boolean),
    sa.Column("ca_bundle", long_text()),
    later=(
        sa.Column("deadline_ms", sa.Integer),
        sa.Column("max_body_bytes", sa.Integer),
        sa.Column("max_values", sa.Integer),
    ),
)

reg_prov_credential = _scoped(
    "reg_prov_credential",
    sa.Column("auth_type_code", code(32)),
    sa.Column("credential_ref", code(200)),
    sa.Column("username_ref", code(200)),
    sa.Column("auth_location_code", code(32)),
    sa.Column("auth_name", code(200)),
    sa.Column("is_optional", sa.Boolean),
    sa.Column("token_url", long_text()),
    sa.Column("oauth_scope", long_text()),
    sa.Column("signing_hook", code(200)),
)

reg_prov_pagination_cfg = _scoped(
    "reg_prov_pagination_cfg",
    sa.Column("pagination_type_code", code(32)),
    sa.Column("position_code", code(32)),
    sa.Column("page_size", sa.Integer),
    sa.Column("max_page_size", sa.Integer),
    sa.Column("max_page", sa.Integer),
    sa.Column("max_records", sa.Integer),
    sa.Column("initial_token", long_text()),
    sa.Column("next_token_path", long_text()),
    sa.Column("next_url_path", long_text()),
    sa.Column("has_more_path", long_text()),
    sa.Column("step_path", long_text()),
    sa.Column("page_base", sa.Integer),
    sa.Column("token_ttl_seconds", sa.Integer),
    sa.Column("order_by", long_text()),
    later=(
        sa.Column("ascending", sa.Boolean),
        sa.Column("tail_probe", sa.Boolean),
        sa.Column("next_hosts", json_value()),
        sa.Column("max_page_bytes", sa.Integer),
        sa.Column("empty_page_code", code(32)),
        sa.Column("total_kind_code", code(32)),
        sa.Column("max_shortfall", sa.Integer),
        sa.Column("restart_statuses", json_value()),
    ),
)

reg_prov_window_offset_cfg = _scoped(
    "reg_prov_window_offset_cfg",
    sa.Column("window_mode_code", code(32)),
    sa.Column("offset_field_name", code()),
    sa.Column("watermark_key", code()),
    sa.Column("watermark_lag_seconds", sa.Integer),
    sa.Column("lookback_seconds", sa.Integer),
    sa.Column("recheck_seconds", sa.Integer),
    sa.Column("window_size_seconds", sa.Integer),
    sa.Column("step_seconds", sa.Integer),
    sa.Column("min_window_seconds", sa.Integer),
    sa.Column("max_window_seconds", sa.Integer),
    sa.Column("overlap_seconds", sa.Integer),
    sa.Column("baseline_at", Utc),
    sa.Column("calendar_align_to", code(32)),
    sa.Column("time_unit_code", code(32)),
    sa.Column("time_format", sa.String(64)),
    sa.Column("time_zone", code()),
    sa.Column("upper_inclusive", sa.Boolean),
    sa.Column("stored_precision_code", code(32)),
    sa.Column("supports_updated_since", sa.Boolean),
    sa.Column("stable_order", sa.Boolean),
)

reg_prov_slicing_cfg = _scoped(
    "reg_prov_slicing_cfg",
    sa.Column("slice_strategy_code", code(32)),
    sa.Column("target_records", sa.Integer),
    sa.Column("probe_budget", sa.Integer),
    sa.Column("split_field_name", code()),
    sa.Column("split_max", sa.BigInteger),
    sa.Column("max_queued", sa.Integer),
    sa.Column("id_buckets", sa.Integer),
)

reg_prov_retry_cfg = _scoped(
    "reg_prov_retry_cfg",
    sa.Column("backoff_policy_code", code(32)),
    sa.Column("max_attempts", sa.Integer),
    sa.Column("initial_delay_ms", sa.Integer),
    sa.Column("max_delay_ms", sa.Integer),
    sa.Column("multiplier", sa.Double),
    sa.Column("jitter", sa.Double),
    sa.Column("retry_statuses", json_value()),
)

reg_prov_rate_limit_cfg = _scoped(
    "reg_prov_rate_limit_cfg",
    sa.Column("refill_rate_per_sec", sa.Double),
    sa.Column("with_credential_per_sec", sa.Double),
    sa.Column("provider_cap_per_sec", sa.Double),
    sa.Column("burst_capacity", sa.Integer),
    sa.Column("daily_quota", sa.Integer),
    sa.Column("limit_header", code()),
    sa.Column("remaining_header", code()),
    sa.Column("reset_header", code()),
    sa.Column("reset_kind_code", code(32)),
    later=(
        sa.Column("permit_cost", sa.Integer),
        sa.Column("max_concurrency", sa.Integer),
        sa.Column("hourly_quota", sa.Integer),
        sa.Column("quota_cost", sa.Integer),
        sa.Column("quota_margin", sa.Double),
        sa.Column("quota_reset_hour", sa.Integer),
        sa.Column("query_costs", json_value()),
        sa.Column("scope_code", code(32)),
        sa.Column("share_name", code()),
        sa.Column("demote_factor", sa.Double),
        sa.Column("cool_down_ms", sa.Integer),
        sa.Column("open_time_ms", sa.Integer),
        sa.Column("interval_header", code()),
        sa.Column("concurrency_header", code()),
        sa.Column("refusal_statuses", json_value()),
    ),
)

reg_prov_batching_cfg = _scoped(
    "reg_prov_batching_cfg",
    sa.Column("id_batch_size", sa.Integer),
    sa.Column("max_ids", sa.Integer),
)

reg_prov_api_param_map = _scoped(
    "reg_prov_api_param_map",
    sa.Column("param_name", code(), nullable=False),
    sa.Column("location_code", code(32), nullable=False),
    sa.Column("std_key", code(), nullable=False),
    sa.Column("default_value", long_text()),
    sa.Column("functions", json_value()),
    sa.Column("is_required", sa.Boolean),
)

reg_prov_expr_capability = _scoped(
    "reg_prov_expr_capability",
    sa.Column("field_code", code()),
    sa.Column("ops", json_value(), nullable=False),
    sa.Column("matches", json_value()),
    sa.Column("negatable", sa.Boolean),
    sa.Column("max_length", sa.Integer),
    sa.Column("term_pattern", long_text()),
    sa.Column("max_values", sa.Integer),
)

reg_prov_expr_render_rule = _scoped(
    "reg_prov_expr_render_rule",
    sa.Column("field_code", code()),
    sa.Column("op_code", code(32), nullable=False),
    sa.Column("match_code", code(32)),
    sa.Column("param_name", code()),
    sa.Column("template", long_text()),
    sa.Column("rule_params", json_value()),
    sa.Column("value_separator", code(32)),
    sa.Column("rule_joiner", code(32)),
    sa.Column("open_start", code()),
    sa.Column("open_end", code()),
)

reg_expr_field_dict = sa.Table(
    "reg_expr_field_dict",
    metadata,
    _id(),
    sa.Column("provenance_code", code(), nullable=False),
    sa.Column("field_code", code(), nullable=False),
    sa.Column("field_type_code", code(32), nullable=False),
    sa.Column("description", long_text()),
    sa.Column("closed_at", Utc),
    *_audit(),
    sa.Index("idx_expr_field_dict_scope", "provenance_code", "closed_at"),
)

SOURCE_TABLES: dict[str, sa.Table] = {
    table.name: table for table in metadata.sorted_tables if table.name.startswith("reg_")
}
"""The tables a source file is written to."""
