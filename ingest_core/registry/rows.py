"""A source file as the rows of the `reg_*` tables."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from ingest_core.model.codes import ALL_OPERATIONS
from ingest_core.model.instant import as_utc
from ingest_core.registry.source_file import ScopedBlock, SourceFile

Row = dict[str, Any]
Rows = dict[str, list[Row]]

PAGE_SIZE_SHARE = 0.7
"""A page asks for this share of the provider's cap unless the file says otherwise."""


def rows_of(file: SourceFile) -> Rows:
    """Every row the file stands for, by table."""
    code = file.source.code
    rows: Rows = {
        "reg_provenance": [_provenance(file)],
        "reg_prov_endpoint_def": _endpoints(file),
        "reg_prov_http_cfg": [
            {
                "base_url": block.base_url.rstrip("/"),
                "headers": block.headers,
                "query_params": block.query,
                "connect_timeout_ms": _millis(block.connect_timeout),
                "read_timeout_ms": _millis(block.read_timeout),
                "allow_plain_http": block.allow_plain_http,
                **_scope(block),
            }
            for block in file.http
        ],
        "reg_prov_credential": [
            {"auth_type_code": block.auth.value, "credential_ref": block.ref, **_scope(block)}
            for block in file.credential
        ],
        "reg_prov_batching_cfg": [{"id_batch_size": block.id_batch_size, **_scope(block)} for block in file.batching],
        "reg_prov_rate_limit_cfg": [
            {
                "refill_rate_per_sec": block.requests_per_second,
                "burst_capacity": block.burst,
                **_scope(block),
            }
            for block in file.rate_limit
        ],
        **_paging_rows(file),
        **_expression_rows(file),
    }
    return {table: [{"provenance_code": code, **row} for row in table_rows] for table, table_rows in rows.items()}


def _provenance(file: SourceFile) -> Row:
    return {
        "provenance_name": file.source.name,
        "description": file.source.description,
        "docs_url": file.source.docs_url,
        "id_normalizer_code": file.source.id_normalizer.value,
        "on_equal_code": file.source.on_equal.value,
        "output_mapping": dict(file.mapping),
    }


def _endpoints(file: SourceFile) -> list[Row]:
    return [
        {
            "endpoint_name": endpoint.name,
            "endpoint_role_code": endpoint.role.value,
            "http_method_code": endpoint.method.value,
            "path_template": endpoint.path,
            "operations": sorted(operation.value for operation in endpoint.operations),
            "items_path": endpoint.response.items,
            "id_path": endpoint.response.id,
            "updated_at_path": endpoint.response.updated_at,
            "total_path": endpoint.response.total,
        }
        for endpoint in file.endpoints
    ]


def _paging_rows(file: SourceFile) -> Rows:
    return {
        "reg_prov_pagination_cfg": [
            {
                "pagination_type_code": block.type.value,
                "position_code": block.position.value,
                "page_size": block.page_size or max(1, int(block.max_page_size * PAGE_SIZE_SHARE)),
                "max_page_size": block.max_page_size,
                "max_page": block.max_page,
                "initial_token": block.initial_token,
                "next_token_path": block.next_token,
                "has_more_path": block.has_more,
                "token_ttl_seconds": _seconds(block.token_ttl),
                **_scope(block),
            }
            for block in file.pagination
        ],
        "reg_prov_window_offset_cfg": [
            {
                "window_mode_code": block.mode.value,
                "offset_field_name": block.field,
                "watermark_key": block.watermark_key,
                "watermark_lag_seconds": _seconds(block.lag),
                "lookback_seconds": _seconds(block.lookback),
                "recheck_seconds": _seconds(block.lookback / 4 if block.recheck is None else block.recheck),
                "window_size_seconds": _seconds(block.window_size),
                "step_seconds": _seconds(block.step),
                "overlap_seconds": _seconds(block.overlap),
                "baseline_at": as_utc(block.baseline) if block.baseline else None,
                "calendar_align_to": block.align_to.value if block.align_to else None,
                "time_unit_code": block.unit.value,
                "time_format": block.format,
                "upper_inclusive": block.upper_inclusive,
                "stored_precision_code": block.stored_precision.value if block.stored_precision else None,
                **_scope(block),
            }
            for block in file.window
        ],
        "reg_prov_retry_cfg": [
            {
                "backoff_policy_code": block.policy.value,
                "max_attempts": block.max_attempts,
                "initial_delay_ms": _millis(block.initial),
                "max_delay_ms": _millis(block.max),
                "multiplier": block.multiplier,
                "jitter": block.jitter,
                "retry_statuses": sorted(set(block.statuses)),
                **_scope(block),
            }
            for block in file.retry
        ],
    }


def _expression_rows(file: SourceFile) -> Rows:
    return {
        "reg_prov_api_param_map": [
            {
                "param_name": block.name,
                "location_code": block.location.value,
                "std_key": block.value,
                **_scope(block),
            }
            for block in file.params
        ],
        "reg_expr_field_dict": [
            {"field_code": field.name, "field_type_code": field.type.value} for field in file.fields
        ],
        "reg_prov_expr_capability": [
            {"field_code": block.field, "ops": sorted(op.value for op in block.ops), **_scope(block)}
            for block in file.capabilities
        ],
        "reg_prov_expr_render_rule": [
            {
                "field_code": block.field,
                "op_code": block.op.value,
                "param_name": block.param,
                "template": block.template,
                **_scope(block),
            }
            for block in file.render_rules
        ],
    }


def _scope(block: ScopedBlock) -> Row:
    return {
        "operation_code": block.scope.operation.value if block.scope.operation else ALL_OPERATIONS,
        "endpoint_name": block.scope.endpoint,
        "effective_from": _instant(block.effective_from),
        "effective_to": _instant(block.effective_to),
    }


def _instant(moment: datetime | None) -> datetime | None:
    return as_utc(moment) if moment else None


def _seconds(span: timedelta | None) -> int | None:
    return None if span is None else int(span.total_seconds())


def _millis(span: timedelta) -> int:
    return span // timedelta(milliseconds=1)


def most_specific(rows: Iterable[Row], endpoint: str, operation: str, now: datetime) -> Row | None:
    """The row in force that names this endpoint and operation most closely."""
    fitting = [
        row
        for row in rows
        if row["endpoint_name"] in (None, endpoint)
        and row["operation_code"] in (ALL_OPERATIONS, operation)
        and (row["effective_from"] is None or row["effective_from"] <= now)
        and (row["effective_to"] is None or now < row["effective_to"])
    ]
    return max(fitting, key=_specificity, default=None)


def _specificity(row: Row) -> tuple[bool, bool, float]:
    started = row["effective_from"].timestamp() if row["effective_from"] else 0.0
    return (row["endpoint_name"] is not None, row["operation_code"] != ALL_OPERATIONS, started)
