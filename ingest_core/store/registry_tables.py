"""The `reg_*` and `sys_dict_*` tables."""

from typing import Any

import sqlalchemy as sa

from ingest_core.store.types import BigId, Utc, code, json_value, long_text

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


def _scoped(name: str, *columns: sa.Column[Any]) -> sa.Table:
    """A configuration table: scoped by operation and endpoint, temporal; a closed row is history."""
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
    sa.Column("closed_at", Utc),
    *_audit(),
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
    sa.Column("id_path", long_text(), nullable=False),
    sa.Column("updated_at_path", long_text(), nullable=False),
    sa.Column("total_path", long_text()),
    sa.Column("closed_at", Utc),
    *_audit(),
    sa.Index("idx_prov_endpoint_def_scope", "provenance_code", "closed_at"),
)

reg_prov_http_cfg = _scoped(
    "reg_prov_http_cfg",
    sa.Column("base_url", long_text(), nullable=False),
    sa.Column("headers", json_value(), nullable=False),
    sa.Column("query_params", json_value(), nullable=False),
    sa.Column("connect_timeout_ms", sa.Integer, nullable=False),
    sa.Column("read_timeout_ms", sa.Integer, nullable=False),
    sa.Column("allow_plain_http", sa.Boolean, nullable=False),
)

reg_prov_credential = _scoped(
    "reg_prov_credential",
    sa.Column("auth_type_code", code(32), nullable=False),
    sa.Column("credential_ref", code(200)),
)

reg_prov_pagination_cfg = _scoped(
    "reg_prov_pagination_cfg",
    sa.Column("pagination_type_code", code(32), nullable=False),
    sa.Column("position_code", code(32), nullable=False),
    sa.Column("page_size", sa.Integer, nullable=False),
    sa.Column("max_page_size", sa.Integer, nullable=False),
    sa.Column("max_page", sa.Integer),
    sa.Column("initial_token", long_text()),
    sa.Column("next_token_path", long_text()),
    sa.Column("has_more_path", long_text()),
    sa.Column("token_ttl_seconds", sa.Integer),
)

reg_prov_window_offset_cfg = _scoped(
    "reg_prov_window_offset_cfg",
    sa.Column("window_mode_code", code(32), nullable=False),
    sa.Column("offset_field_name", code(), nullable=False),
    sa.Column("watermark_key", code(), nullable=False),
    sa.Column("watermark_lag_seconds", sa.Integer, nullable=False),
    sa.Column("lookback_seconds", sa.Integer, nullable=False),
    sa.Column("recheck_seconds", sa.Integer, nullable=False),
    sa.Column("window_size_seconds", sa.Integer, nullable=False),
    sa.Column("step_seconds", sa.Integer, nullable=False),
    sa.Column("overlap_seconds", sa.Integer, nullable=False),
    sa.Column("baseline_at", Utc),
    sa.Column("calendar_align_to", code(32)),
    sa.Column("time_unit_code", code(32), nullable=False),
    sa.Column("time_format", sa.String(64), nullable=False),
    sa.Column("upper_inclusive", sa.Boolean, nullable=False),
    sa.Column("stored_precision_code", code(32)),
)

reg_prov_retry_cfg = _scoped(
    "reg_prov_retry_cfg",
    sa.Column("backoff_policy_code", code(32), nullable=False),
    sa.Column("max_attempts", sa.Integer, nullable=False),
    sa.Column("initial_delay_ms", sa.Integer, nullable=False),
    sa.Column("max_delay_ms", sa.Integer, nullable=False),
    sa.Column("multiplier", sa.Double, nullable=False),
    sa.Column("jitter", sa.Double, nullable=False),
    sa.Column("retry_statuses", json_value(), nullable=False),
)

reg_prov_rate_limit_cfg = _scoped(
    "reg_prov_rate_limit_cfg",
    sa.Column("refill_rate_per_sec", sa.Double, nullable=False),
    sa.Column("burst_capacity", sa.Integer, nullable=False),
)

reg_prov_batching_cfg = _scoped(
    "reg_prov_batching_cfg",
    sa.Column("id_batch_size", sa.Integer, nullable=False),
)

reg_prov_api_param_map = _scoped(
    "reg_prov_api_param_map",
    sa.Column("param_name", code(), nullable=False),
    sa.Column("location_code", code(32), nullable=False),
    sa.Column("std_key", code(), nullable=False),
)

reg_prov_expr_capability = _scoped(
    "reg_prov_expr_capability",
    sa.Column("field_code", code(), nullable=False),
    sa.Column("ops", json_value(), nullable=False),
)

reg_prov_expr_render_rule = _scoped(
    "reg_prov_expr_render_rule",
    sa.Column("field_code", code(), nullable=False),
    sa.Column("op_code", code(32), nullable=False),
    sa.Column("param_name", code(), nullable=False),
    sa.Column("template", long_text(), nullable=False),
)

reg_expr_field_dict = sa.Table(
    "reg_expr_field_dict",
    metadata,
    _id(),
    sa.Column("provenance_code", code(), nullable=False),
    sa.Column("field_code", code(), nullable=False),
    sa.Column("field_type_code", code(32), nullable=False),
    sa.Column("closed_at", Utc),
    *_audit(),
    sa.Index("idx_expr_field_dict_scope", "provenance_code", "closed_at"),
)

SOURCE_TABLES: dict[str, sa.Table] = {
    table.name: table for table in metadata.sorted_tables if table.name.startswith("reg_")
}
"""The tables a source file is written to."""
