"""The `ing_*` tables: plans, tasks, the ledger, cursors and records."""

from typing import Any

import sqlalchemy as sa

from ingest_core.store.engine.types import BigId, RawJson, Utc, Whole, binary, code, json_value, long_text
from ingest_core.store.schema.registry_tables import metadata

HASH = 64


def _id() -> sa.Column[int]:
    return sa.Column("id", BigId, primary_key=True, autoincrement=True)


def _times() -> list[sa.Column[Any]]:
    return [sa.Column("created_at", Utc, nullable=False), sa.Column("updated_at", Utc, nullable=False)]


def _partition() -> list[sa.Column[Any]]:
    return [
        sa.Column("provenance_code", code(), nullable=False),
        sa.Column("endpoint_name", code(), nullable=False),
        sa.Column("operation_code", code(32), nullable=False),
    ]


def _up(*names: str) -> list[sa.Column[Any]]:
    """Columns that lead to the rows above."""
    return [sa.Column(name, BigId, nullable=False) for name in names]


ing_schedule_instance = sa.Table(
    "ing_schedule_instance",
    metadata,
    _id(),
    sa.Column("scheduler_code", code(32), nullable=False),
    sa.Column("scheduler_job_id", code(200)),
    sa.Column("scheduler_log_id", code(200), nullable=False),
    sa.Column("trigger_type_code", code(32), nullable=False),
    sa.Column("triggered_at", Utc, nullable=False),
    sa.Column("trigger_params", json_value(), nullable=False),
    *_partition(),
    sa.Column("expr_proto_hash", code(HASH)),
    sa.Column("expr_proto_snapshot", json_value()),
    sa.Column("record_remarks", json_value()),
    *_times(),
    sa.UniqueConstraint("scheduler_code", "scheduler_log_id", name="uk_sched_log"),
    sa.Index("idx_sched_src", "scheduler_code", "scheduler_job_id", "scheduler_log_id"),
)

ing_plan = sa.Table(
    "ing_plan",
    metadata,
    _id(),
    *_up("schedule_instance_id"),
    sa.Column("plan_key", code(200), nullable=False),
    *_partition(),
    sa.Column("window_from", Utc, nullable=False),
    sa.Column("window_to", Utc, nullable=False),
    sa.Column("slice_strategy_code", code(32), nullable=False),
    sa.Column("slice_params", json_value(), nullable=False),
    sa.Column("expr_proto_hash", code(HASH), nullable=False),
    sa.Column("expr_proto_snapshot", json_value(), nullable=False),
    sa.Column("provenance_config_snapshot", json_value(), nullable=False),
    sa.Column("spec_fingerprint", code(HASH), nullable=False),
    sa.Column("status_code", code(32), nullable=False),
    sa.Column("record_remarks", json_value()),
    *_times(),
    sa.UniqueConstraint("plan_key", name="uk_plan_key"),
    sa.Index("idx_plan_prov_op", "provenance_code", "operation_code"),
    sa.Index("idx_plan_srcop_time", "provenance_code", "operation_code", "created_at"),
    sa.Index("idx_plan_expr", "expr_proto_hash"),
)

ing_plan_slice = sa.Table(
    "ing_plan_slice",
    metadata,
    _id(),
    *_up("plan_id"),
    *_partition(),
    sa.Column("slice_no", sa.Integer, nullable=False),
    sa.Column("slice_signature_hash", code(HASH), nullable=False),
    sa.Column("slice_spec", json_value(), nullable=False),
    sa.Column("expr_hash", code(HASH), nullable=False),
    sa.Column("expr_snapshot", json_value(), nullable=False),
    sa.Column("status_code", code(32), nullable=False),
    sa.Column("record_remarks", json_value()),
    *_times(),
    sa.UniqueConstraint("plan_id", "slice_signature_hash", name="uk_slice_sig"),
    sa.Index("idx_slice_status", "plan_id", "status_code"),
    sa.Index("idx_slice_prov_status", "provenance_code", "status_code"),
)

ing_task = sa.Table(
    "ing_task",
    metadata,
    _id(),
    *_up("schedule_instance_id", "plan_id", "slice_id"),
    *_partition(),
    sa.Column("namespace_key", code(128), nullable=False),
    sa.Column("credential_id", BigId),
    sa.Column("params", json_value(), nullable=False),
    sa.Column("window_from", Utc, nullable=False),
    sa.Column("window_to", Utc, nullable=False),
    sa.Column("expr_hash", code(HASH), nullable=False),
    sa.Column("idempotent_key", code(HASH), nullable=False),
    sa.Column("priority", sa.SmallInteger, nullable=False),
    sa.Column("scheduled_at", Utc, nullable=False),
    sa.Column("status_code", code(32), nullable=False),
    sa.Column("lease_owner", code(200)),
    sa.Column("leased_until", Utc),
    sa.Column("lease_count", sa.Integer, nullable=False, server_default="0"),
    sa.Column("fence_no", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("expiry_count", sa.Integer, nullable=False, server_default="0"),
    sa.Column("attempt_count", sa.Integer, nullable=False, server_default="0"),
    sa.Column("checkpoint", json_value()),
    sa.Column("last_error", json_value()),
    sa.Column("started_at", Utc),
    sa.Column("finished_at", Utc),
    *_times(),
    sa.Column("blamed_count", sa.Integer, nullable=False, server_default="0"),
    sa.Column("expired_at", Utc),
    sa.Column("expired_owner", code(200)),
    sa.UniqueConstraint("idempotent_key", name="uk_task_idem"),
    sa.Index("idx_task_src_op", "provenance_code", "operation_code", "status_code"),
    sa.Index("idx_task_slice", "slice_id"),
    sa.Index("idx_task_cred", "credential_id"),
    sa.Index("idx_task_plan", "plan_id", "status_code"),
    sa.Index("idx_task_lease", "status_code", "leased_until"),
    sa.Index("idx_task_expired", "expired_at"),
    sa.Index("idx_task_live", "namespace_key", "status_code", "window_from"),
)

QUEUED_ONLY = sa.text("status_code = 'QUEUED'")
_TURN = ("provenance_code", "endpoint_name", "operation_code", "priority", "scheduled_at", "id")
_TURNS = [ing_task.c[name] for name in _TURN]
sa.Index("idx_task_queue", ing_task.c.status_code, *_TURNS, sqlite_where=QUEUED_ONLY, info={"not": "postgresql"})
# PostgreSQL drops a condition the index implies, and would then read the index from its beginning.
sa.Index("idx_task_queue", *_TURNS, postgresql_where=QUEUED_ONLY, info={"only": "postgresql"})

ing_task_run = sa.Table(
    "ing_task_run",
    metadata,
    _id(),
    *_up("schedule_instance_id", "plan_id", "slice_id", "task_id"),
    *_partition(),
    sa.Column("attempt_no", sa.Integer, nullable=False),
    sa.Column("fence_no", sa.BigInteger, nullable=False),
    sa.Column("lease_owner", code(200), nullable=False),
    sa.Column("flow_run_id", code(64)),
    sa.Column("flow_task_run_id", code(64)),
    sa.Column("status_code", code(32), nullable=False),
    sa.Column("checkpoint", json_value()),
    sa.Column("stats", json_value()),
    sa.Column("error", json_value()),
    sa.Column("window_from", Utc, nullable=False),
    sa.Column("window_to", Utc, nullable=False),
    sa.Column("expr_hash", code(HASH), nullable=False),
    sa.Column("started_at", Utc, nullable=False),
    sa.Column("finished_at", Utc),
    *_times(),
    sa.UniqueConstraint("task_id", "attempt_no", name="uk_run_attempt"),
    sa.Index("idx_run_task", "task_id", "status_code", "created_at"),
    sa.Index("idx_run_prov_op_status", "provenance_code", "operation_code", "status_code"),
    sa.Index("idx_run_flow", "flow_run_id"),
)

ing_task_run_batch = sa.Table(
    "ing_task_run_batch",
    metadata,
    _id(),
    *_up("plan_id", "slice_id", "task_id", "run_id"),
    *_partition(),
    sa.Column("batch_no", sa.Integer, nullable=False),
    sa.Column("page_no", sa.Integer, nullable=False),
    sa.Column("page_size", sa.Integer, nullable=False),
    sa.Column("before_token", long_text()),
    sa.Column("after_token", long_text()),
    sa.Column("before_hash", code(HASH), nullable=False),
    sa.Column("next_url", long_text()),
    sa.Column("idempotent_key", code(HASH), nullable=False),
    sa.Column("expr_hash", code(HASH), nullable=False),
    sa.Column("status_code", code(32), nullable=False),
    sa.Column("record_count", sa.Integer, nullable=False, server_default="0"),
    sa.Column("id_hashes", binary()),
    sa.Column("request_digest", json_value()),
    sa.Column("response_digest", json_value()),
    sa.Column("stats", json_value()),
    sa.Column("error", json_value()),
    sa.Column("asked_at", Utc, nullable=False),
    sa.Column("committed_at", Utc),
    *_times(),
    sa.UniqueConstraint("run_id", "batch_no", name="uk_run_batch_no"),
    sa.UniqueConstraint("run_id", "before_hash", name="uk_run_before_tok"),
    sa.UniqueConstraint("idempotent_key", name="uk_batch_idem"),
    sa.Index("idx_batch_time", "run_id", "created_at"),
    sa.Index("idx_batch_status", "run_id", "status_code"),
    sa.Index("idx_batch_task", "task_id", "status_code"),
    sa.Index("idx_batch_prov_op_status", "provenance_code", "operation_code", "status_code", "committed_at"),
)


def _namespace() -> list[sa.Column[Any]]:
    return [
        *_partition(),
        sa.Column("cursor_key", code(), nullable=False),
        sa.Column("namespace_scope_code", code(32), nullable=False),
        sa.Column("namespace_key", code(128), nullable=False),
    ]


_NAMESPACE_KEY = ("provenance_code", "operation_code", "cursor_key", "namespace_scope_code", "namespace_key")


def _last_lineage(*, required: bool) -> list[sa.Column[Any]]:
    names = ("schedule_instance_id", "plan_id", "slice_id", "task_id", "run_id", "batch_id")
    return [
        *(sa.Column(name, BigId, nullable=not (required and name == "plan_id")) for name in names),
        sa.Column("expr_hash", code(HASH)),
    ]


ing_cursor = sa.Table(
    "ing_cursor",
    metadata,
    _id(),
    *_namespace(),
    sa.Column("cursor_type_code", code(32), nullable=False),
    sa.Column("direction_code", code(32), nullable=False),
    sa.Column("cursor_value", long_text(), nullable=False),
    sa.Column("normalized_instant", Utc),
    sa.Column("normalized_numeric", Whole),
    sa.Column("anchor_instant", Utc),
    sa.Column("settled_instant", Utc),
    sa.Column("observed_max_value", long_text()),
    *_last_lineage(required=False),
    sa.Column("version", sa.Integer, nullable=False, server_default="0"),
    *_times(),
    sa.Column("bound_from", Utc),
    sa.Column("bound_to", Utc),
    sa.Column("is_descending", sa.SmallInteger, nullable=False, server_default="0"),
    sa.Column("lag_seconds", sa.Integer),
    sa.Column("lag_changed_at", Utc),
    sa.UniqueConstraint(*_NAMESPACE_KEY, name="uk_cursor_ns"),
    sa.Index("idx_cursor_time", "provenance_code", "operation_code", "normalized_instant"),
    sa.Index("idx_cursor_id", "provenance_code", "operation_code", "normalized_numeric"),
)

ing_cursor_event = sa.Table(
    "ing_cursor_event",
    metadata,
    _id(),
    *_namespace(),
    sa.Column("cursor_type_code", code(32), nullable=False),
    sa.Column("direction_code", code(32), nullable=False),
    sa.Column("event_type", code(32), nullable=False),
    sa.Column("window_from", Utc),
    sa.Column("window_to", Utc),
    sa.Column("range", json_value()),
    sa.Column("as_of", Utc),
    sa.Column("prev_value", long_text()),
    sa.Column("new_value", long_text()),
    sa.Column("prev_instant", Utc),
    sa.Column("new_instant", Utc),
    sa.Column("prev_numeric", Whole),
    sa.Column("new_numeric", Whole),
    sa.Column("observed_max_value", long_text()),
    sa.Column("idempotent_key", code(HASH), nullable=False),
    *_last_lineage(required=True),
    sa.Column("record_remarks", json_value()),
    *_times(),
    sa.UniqueConstraint("idempotent_key", name="uk_cur_evt_idem"),
    sa.Index("idx_cur_evt_timeline", *_NAMESPACE_KEY, "created_at"),
    sa.Index("idx_cur_evt_reach", *_NAMESPACE_KEY, "window_to", "window_from"),
    sa.Index("idx_cur_evt_from", *_NAMESPACE_KEY, "window_from"),
    sa.Index("idx_cur_evt_number", *_NAMESPACE_KEY, "prev_numeric", "new_numeric"),
    sa.Index("idx_cur_evt_instant", "provenance_code", "operation_code", "new_instant"),
    sa.Index("idx_cur_evt_numeric", "provenance_code", "operation_code", "new_numeric"),
    sa.Index("idx_cur_evt_lineage", "schedule_instance_id", "plan_id", "slice_id", "task_id", "run_id"),
)

ing_item = sa.Table(
    "ing_item",
    metadata,
    _id(),
    sa.Column("provenance_code", code(), nullable=False),
    sa.Column("endpoint_name", code(), nullable=False),
    sa.Column("provider_id", code(512), nullable=False),
    sa.Column("source_updated_at", Utc, nullable=False),
    sa.Column("source_version", code(128)),
    sa.Column("payload", RawJson, nullable=False),
    sa.Column("payload_hash", code(HASH), nullable=False),
    sa.Column("record", json_value(), nullable=False),
    sa.Column("expr_hash", code(HASH), nullable=False),
    sa.Column("state_code", code(32), nullable=False),
    sa.Column("refresh_checked_at", Utc, nullable=False),
    sa.Column("first_run_id", BigId, nullable=False),
    sa.Column("first_batch_no", sa.Integer, nullable=False),
    sa.Column("last_run_id", BigId, nullable=False),
    sa.Column("last_batch_no", sa.Integer, nullable=False),
    *_times(),
    sa.Column("gone_at", Utc),
    sa.Column("gone_reason_code", code(64)),
    sa.Column("merged_into", code(512)),
    sa.UniqueConstraint("provenance_code", "endpoint_name", "provider_id", name="uk_item_business"),
    sa.Index("idx_item_updated", "provenance_code", "endpoint_name", "source_updated_at"),
)

ing_quarantine = sa.Table(
    "ing_quarantine",
    metadata,
    _id(),
    *_partition(),
    sa.Column("provider_id", code(512)),
    sa.Column("reason_code", code(64), nullable=False),
    sa.Column("json_path", sa.String(400), nullable=False),
    sa.Column("fragment", long_text(), nullable=False),
    sa.Column("fragment_hash", code(HASH), nullable=False),
    *_up("plan_id", "slice_id", "task_id", "run_id"),
    sa.Column("batch_no", sa.Integer, nullable=False),
    sa.Column("state_code", code(32), nullable=False),
    sa.Column("seen_count", sa.Integer, nullable=False),
    *_times(),
    sa.Column("record_remarks", json_value()),
    sa.UniqueConstraint("provenance_code", "endpoint_name", "fragment_hash", "reason_code", name="uk_quarantine"),
    sa.Index("idx_quarantine_state", "provenance_code", "endpoint_name", "state_code"),
    sa.Index("idx_quarantine_item", "provenance_code", "endpoint_name", "provider_id"),
)
