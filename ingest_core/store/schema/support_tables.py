"""The `ing_*` tables around the way of a record: outbox, requests, gate, controls, schema."""

import sqlalchemy as sa

from ingest_core.store.engine.types import BigId, Utc, code, json_value, long_text
from ingest_core.store.schema.ingest_tables import HASH, _id, _partition, _times, _up
from ingest_core.store.schema.registry_tables import metadata

ing_outbox_message = sa.Table(
    "ing_outbox_message",
    metadata,
    _id(),
    sa.Column("dedup_key", code(HASH), nullable=False),
    sa.Column("ordering_key", code(HASH), nullable=False),
    sa.Column("topic", code(128), nullable=False),
    sa.Column("payload", json_value(), nullable=False),
    sa.Column("status_code", code(32), nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    sa.Column("lease_owner", code(200)),
    sa.Column("leased_until", Utc),
    sa.Column("created_at", Utc, nullable=False),
    sa.Column("sent_at", Utc),
    sa.Column("next_attempt_at", Utc),
    sa.Column("last_error", long_text()),
    sa.UniqueConstraint("dedup_key", name="uk_outbox_dedup"),
)

for _name, _status, _columns in (
    ("idx_outbox_due", "PENDING", ("status_code", "next_attempt_at", "id")),
    ("idx_outbox_order", "PENDING", ("ordering_key", "status_code", "id")),
    ("idx_outbox_dead", "DEAD", ("status_code", "id")),
    ("idx_outbox_sent", "SENT", ("status_code", "sent_at", "id")),
):
    _only = sa.text(f"status_code = '{_status}'")
    sa.Index(_name, *(ing_outbox_message.c[one] for one in _columns), postgresql_where=_only, sqlite_where=_only)

ing_reslice_request = sa.Table(
    "ing_reslice_request",
    metadata,
    _id(),
    *_up("plan_id", "slice_id", "task_id", "run_id"),
    sa.Column("remaining_from", Utc, nullable=False),
    sa.Column("remaining_to", Utc, nullable=False),
    sa.Column("range", json_value()),
    sa.Column("reason_code", code(64), nullable=False),
    sa.Column("status_code", code(32), nullable=False),
    sa.Column("idempotent_key", code(HASH), nullable=False),
    sa.Column("created_at", Utc, nullable=False),
    sa.UniqueConstraint("idempotent_key", name="uk_reslice_idem"),
    sa.Index("idx_reslice_status", "status_code", "id"),
    sa.Index("idx_reslice_task", "task_id"),
)

ing_signal = sa.Table(
    "ing_signal",
    metadata,
    _id(),
    *_partition(),
    sa.Column("provider_id", code(512), nullable=False),
    sa.Column("signal_code", code(64), nullable=False),
    sa.Column("campaign", code(128), nullable=False),
    sa.Column("state_code", code(32), nullable=False),
    sa.Column("record_remarks", json_value()),
    *_times(),
    sa.UniqueConstraint("campaign", "provenance_code", "endpoint_name", "provider_id", name="uk_signal"),
    sa.Index("idx_signal_open", "provenance_code", "endpoint_name", "state_code", "provider_id"),
)

ing_arrival = sa.Table(
    "ing_arrival",
    metadata,
    _id(),
    *_partition(),
    sa.Column("namespace_key", code(128), nullable=False),
    sa.Column("arrived_on", Utc, nullable=False),
    sa.Column("received_count", sa.BigInteger, nullable=False),
    sa.Column("late_count", sa.BigInteger, nullable=False),
    sa.Column("provider_late_seconds", sa.Integer, nullable=False),
    *_times(),
    sa.UniqueConstraint("provenance_code", "operation_code", "namespace_key", "arrived_on", name="uk_arrival_day"),
)

ing_estimate = sa.Table(
    "ing_estimate",
    metadata,
    _id(),
    sa.Column("provenance_code", code(), nullable=False),
    sa.Column("endpoint_name", code(), nullable=False),
    sa.Column("expr_hash", code(HASH), nullable=False),
    sa.Column("window_from", Utc, nullable=False),
    sa.Column("window_to", Utc, nullable=False),
    sa.Column("record_count", sa.BigInteger, nullable=False),
    sa.Column("method_code", code(32), nullable=False),
    sa.Column("created_at", Utc, nullable=False),
    sa.Column("range", json_value()),
    sa.Index("idx_estimate_window", "provenance_code", "endpoint_name", "expr_hash", "window_from"),
)

ing_rate_gate = sa.Table(
    "ing_rate_gate",
    metadata,
    sa.Column("rate_key", code(200), primary_key=True),
    sa.Column("tat", Utc, nullable=False),
    sa.Column("cooldown_until", Utc, nullable=False),
    sa.Column("updated_at", Utc, nullable=False),
    sa.Column("rate_per_sec", sa.Double),
    sa.Column("last_changes", json_value()),
    sa.Column("counted_at", Utc),
    sa.Column("tokens", sa.Double),
    sa.Column("rate_now", sa.Double),
    sa.Column("warm_from", Utc),
    sa.Column("changed_at", Utc),
    sa.Column("step", sa.Double),
    sa.Column("rate_before", sa.Double),
    sa.Column("decreases", sa.Integer, nullable=False, server_default="0"),
    sa.Column("stated_rate", sa.Double),
    sa.Column("operator_rate", sa.Double),
    sa.Column("stated_concurrency", sa.Integer),
    sa.Column("closed_until", Utc),
    sa.Column("closed_reason", code(32)),
    sa.Column("failures", sa.Integer, nullable=False, server_default="0"),
    sa.Column("failed_by", json_value()),
    sa.Column("success_at", Utc),
    sa.Column("circuit_code", code(32), nullable=False, server_default="CLOSED"),
    sa.Column("circuit_until", Utc),
    sa.Column("circuit_seconds", sa.Double, nullable=False, server_default="0"),
    sa.Column("low_since", Utc),
)

ing_gate_use = sa.Table(
    "ing_gate_use",
    metadata,
    _id(),
    sa.Column("rate_key", code(200), nullable=False),
    *_partition(),
    sa.UniqueConstraint("rate_key", "provenance_code", "endpoint_name", "operation_code", name="uk_gate_use"),
    sa.Index("idx_gate_use_partition", "provenance_code", "endpoint_name", "operation_code"),
)

ing_quota_ledger = sa.Table(
    "ing_quota_ledger",
    metadata,
    _id(),
    sa.Column("rate_key", code(200), nullable=False),
    sa.Column("quota_window_from", Utc, nullable=False),
    sa.Column("quota_window_to", Utc, nullable=False),
    sa.Column("used_count", sa.BigInteger, nullable=False),
    sa.Column("reserved_count", sa.BigInteger, nullable=False),
    *_times(),
    sa.UniqueConstraint("rate_key", "quota_window_from", "quota_window_to", name="uk_quota_window"),
)

ing_quota_reservation = sa.Table(
    "ing_quota_reservation",
    metadata,
    _id(),
    sa.Column("plan_id", BigId, nullable=False),
    sa.Column("rate_key", code(200), nullable=False),
    sa.Column("quota_window_from", Utc, nullable=False),
    sa.Column("quota_window_to", Utc, nullable=False),
    sa.Column("priority", sa.Integer, nullable=False),
    sa.Column("reserved_count", sa.BigInteger, nullable=False),
    sa.Column("used_count", sa.BigInteger, nullable=False),
    *_times(),
    sa.UniqueConstraint("plan_id", "rate_key", "quota_window_from", "quota_window_to", name="uk_quota_reservation"),
    sa.Index("idx_quota_reservation_key", "rate_key", "quota_window_to"),
)

ing_partition_control = sa.Table(
    "ing_partition_control",
    metadata,
    _id(),
    *_partition(),
    sa.Column("control_code", code(32), nullable=False),
    sa.Column("reason", long_text()),
    sa.Column("version", sa.Integer, nullable=False, server_default="0"),
    *_times(),
    sa.Column("claimed_at", Utc),
    sa.Column("closed_until", Utc),
    sa.UniqueConstraint("provenance_code", "endpoint_name", "operation_code", name="uk_partition_control"),
)

ing_schema_info = sa.Table(
    "ing_schema_info",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("schema_level", sa.Integer, nullable=False),
    sa.Column("oldest_code_level", sa.Integer, nullable=False),
    sa.Column("purpose_code", code(32)),
)
