CREATE TABLE ing_arrival (
    id BIGSERIAL NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_name VARCHAR(64) COLLATE "C" NOT NULL,
    operation_code VARCHAR(32) COLLATE "C" NOT NULL,
    namespace_key VARCHAR(128) COLLATE "C" NOT NULL,
    arrived_on TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    received_count BIGINT NOT NULL,
    late_count BIGINT NOT NULL,
    provider_late_seconds INTEGER NOT NULL,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_arrival_day UNIQUE (provenance_code, operation_code, namespace_key, arrived_on)
);

CREATE TABLE ing_cursor (
    id BIGSERIAL NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_name VARCHAR(64) COLLATE "C" NOT NULL,
    operation_code VARCHAR(32) COLLATE "C" NOT NULL,
    cursor_key VARCHAR(64) COLLATE "C" NOT NULL,
    namespace_scope_code VARCHAR(32) COLLATE "C" NOT NULL,
    namespace_key VARCHAR(128) COLLATE "C" NOT NULL,
    cursor_type_code VARCHAR(32) COLLATE "C" NOT NULL,
    direction_code VARCHAR(32) COLLATE "C" NOT NULL,
    cursor_value TEXT COLLATE "C" NOT NULL,
    normalized_instant TIMESTAMP(6) WITH TIME ZONE,
    normalized_numeric NUMERIC(38, 0),
    anchor_instant TIMESTAMP(6) WITH TIME ZONE,
    settled_instant TIMESTAMP(6) WITH TIME ZONE,
    observed_max_value TEXT COLLATE "C",
    schedule_instance_id BIGINT,
    plan_id BIGINT,
    slice_id BIGINT,
    task_id BIGINT,
    run_id BIGINT,
    batch_id BIGINT,
    expr_hash VARCHAR(64) COLLATE "C",
    version INTEGER DEFAULT '0' NOT NULL,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    bound_from TIMESTAMP(6) WITH TIME ZONE,
    bound_to TIMESTAMP(6) WITH TIME ZONE,
    is_descending SMALLINT DEFAULT '0' NOT NULL,
    lag_seconds INTEGER,
    lag_changed_at TIMESTAMP(6) WITH TIME ZONE,
    PRIMARY KEY (id),
    CONSTRAINT uk_cursor_ns UNIQUE (provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key)
);

CREATE INDEX idx_cursor_id ON ing_cursor (provenance_code, operation_code, normalized_numeric);

CREATE INDEX idx_cursor_time ON ing_cursor (provenance_code, operation_code, normalized_instant);

CREATE TABLE ing_cursor_event (
    id BIGSERIAL NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_name VARCHAR(64) COLLATE "C" NOT NULL,
    operation_code VARCHAR(32) COLLATE "C" NOT NULL,
    cursor_key VARCHAR(64) COLLATE "C" NOT NULL,
    namespace_scope_code VARCHAR(32) COLLATE "C" NOT NULL,
    namespace_key VARCHAR(128) COLLATE "C" NOT NULL,
    cursor_type_code VARCHAR(32) COLLATE "C" NOT NULL,
    direction_code VARCHAR(32) COLLATE "C" NOT NULL,
    event_type VARCHAR(32) COLLATE "C" NOT NULL,
    window_from TIMESTAMP(6) WITH TIME ZONE,
    window_to TIMESTAMP(6) WITH TIME ZONE,
    range JSONB,
    as_of TIMESTAMP(6) WITH TIME ZONE,
    prev_value TEXT COLLATE "C",
    new_value TEXT COLLATE "C",
    prev_instant TIMESTAMP(6) WITH TIME ZONE,
    new_instant TIMESTAMP(6) WITH TIME ZONE,
    prev_numeric NUMERIC(38, 0),
    new_numeric NUMERIC(38, 0),
    observed_max_value TEXT COLLATE "C",
    idempotent_key VARCHAR(64) COLLATE "C" NOT NULL,
    schedule_instance_id BIGINT,
    plan_id BIGINT NOT NULL,
    slice_id BIGINT,
    task_id BIGINT,
    run_id BIGINT,
    batch_id BIGINT,
    expr_hash VARCHAR(64) COLLATE "C",
    record_remarks JSONB,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_cur_evt_idem UNIQUE (idempotent_key)
);

CREATE INDEX idx_cur_evt_from ON ing_cursor_event (provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key, window_from);

CREATE INDEX idx_cur_evt_instant ON ing_cursor_event (provenance_code, operation_code, new_instant);

CREATE INDEX idx_cur_evt_lineage ON ing_cursor_event (schedule_instance_id, plan_id, slice_id, task_id, run_id);

CREATE INDEX idx_cur_evt_number ON ing_cursor_event (provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key, prev_numeric, new_numeric);

CREATE INDEX idx_cur_evt_numeric ON ing_cursor_event (provenance_code, operation_code, new_numeric);

CREATE INDEX idx_cur_evt_reach ON ing_cursor_event (provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key, window_to, window_from);

CREATE INDEX idx_cur_evt_timeline ON ing_cursor_event (provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key, created_at);

CREATE TABLE ing_estimate (
    id BIGSERIAL NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_name VARCHAR(64) COLLATE "C" NOT NULL,
    expr_hash VARCHAR(64) COLLATE "C" NOT NULL,
    window_from TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    window_to TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    record_count BIGINT NOT NULL,
    method_code VARCHAR(32) COLLATE "C" NOT NULL,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    range JSONB,
    PRIMARY KEY (id)
);

CREATE INDEX idx_estimate_window ON ing_estimate (provenance_code, endpoint_name, expr_hash, window_from);

CREATE TABLE ing_gate_use (
    id BIGSERIAL NOT NULL,
    rate_key VARCHAR(200) COLLATE "C" NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_name VARCHAR(64) COLLATE "C" NOT NULL,
    operation_code VARCHAR(32) COLLATE "C" NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_gate_use UNIQUE (rate_key, provenance_code, endpoint_name, operation_code)
);

CREATE INDEX idx_gate_use_partition ON ing_gate_use (provenance_code, endpoint_name, operation_code);

CREATE TABLE ing_item (
    id BIGSERIAL NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_name VARCHAR(64) COLLATE "C" NOT NULL,
    provider_id VARCHAR(512) COLLATE "C" NOT NULL,
    source_updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    source_version VARCHAR(128) COLLATE "C",
    payload JSON NOT NULL,
    payload_hash VARCHAR(64) COLLATE "C" NOT NULL,
    record JSONB NOT NULL,
    expr_hash VARCHAR(64) COLLATE "C" NOT NULL,
    state_code VARCHAR(32) COLLATE "C" NOT NULL,
    refresh_checked_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    first_run_id BIGINT NOT NULL,
    first_batch_no INTEGER NOT NULL,
    last_run_id BIGINT NOT NULL,
    last_batch_no INTEGER NOT NULL,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    gone_at TIMESTAMP(6) WITH TIME ZONE,
    gone_reason_code VARCHAR(64) COLLATE "C",
    merged_into VARCHAR(512) COLLATE "C",
    PRIMARY KEY (id),
    CONSTRAINT uk_item_business UNIQUE (provenance_code, endpoint_name, provider_id)
);

CREATE INDEX idx_item_updated ON ing_item (provenance_code, endpoint_name, source_updated_at);

CREATE TABLE ing_outbox_message (
    id BIGSERIAL NOT NULL,
    dedup_key VARCHAR(64) COLLATE "C" NOT NULL,
    ordering_key VARCHAR(64) COLLATE "C" NOT NULL,
    topic VARCHAR(128) COLLATE "C" NOT NULL,
    payload JSONB NOT NULL,
    status_code VARCHAR(32) COLLATE "C" NOT NULL,
    attempts INTEGER DEFAULT '0' NOT NULL,
    lease_owner VARCHAR(200) COLLATE "C",
    leased_until TIMESTAMP(6) WITH TIME ZONE,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    sent_at TIMESTAMP(6) WITH TIME ZONE,
    next_attempt_at TIMESTAMP(6) WITH TIME ZONE,
    last_error TEXT COLLATE "C",
    PRIMARY KEY (id),
    CONSTRAINT uk_outbox_dedup UNIQUE (dedup_key)
);

CREATE INDEX idx_outbox_dead ON ing_outbox_message (status_code, id) WHERE status_code = 'DEAD';

CREATE INDEX idx_outbox_due ON ing_outbox_message (status_code, next_attempt_at, id) WHERE status_code = 'PENDING';

CREATE INDEX idx_outbox_order ON ing_outbox_message (ordering_key, status_code, id) WHERE status_code = 'PENDING';

CREATE INDEX idx_outbox_sent ON ing_outbox_message (status_code, sent_at, id) WHERE status_code = 'SENT';

CREATE TABLE ing_partition_control (
    id BIGSERIAL NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_name VARCHAR(64) COLLATE "C" NOT NULL,
    operation_code VARCHAR(32) COLLATE "C" NOT NULL,
    control_code VARCHAR(32) COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C",
    version INTEGER DEFAULT '0' NOT NULL,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    claimed_at TIMESTAMP(6) WITH TIME ZONE,
    closed_until TIMESTAMP(6) WITH TIME ZONE,
    PRIMARY KEY (id),
    CONSTRAINT uk_partition_control UNIQUE (provenance_code, endpoint_name, operation_code)
);

CREATE TABLE ing_plan (
    id BIGSERIAL NOT NULL,
    schedule_instance_id BIGINT NOT NULL,
    plan_key VARCHAR(200) COLLATE "C" NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_name VARCHAR(64) COLLATE "C" NOT NULL,
    operation_code VARCHAR(32) COLLATE "C" NOT NULL,
    window_from TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    window_to TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    slice_strategy_code VARCHAR(32) COLLATE "C" NOT NULL,
    slice_params JSONB NOT NULL,
    expr_proto_hash VARCHAR(64) COLLATE "C" NOT NULL,
    expr_proto_snapshot JSONB NOT NULL,
    provenance_config_snapshot JSONB NOT NULL,
    spec_fingerprint VARCHAR(64) COLLATE "C" NOT NULL,
    status_code VARCHAR(32) COLLATE "C" NOT NULL,
    record_remarks JSONB,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_plan_key UNIQUE (plan_key)
);

CREATE INDEX idx_plan_expr ON ing_plan (expr_proto_hash);

CREATE INDEX idx_plan_prov_op ON ing_plan (provenance_code, operation_code);

CREATE INDEX idx_plan_srcop_time ON ing_plan (provenance_code, operation_code, created_at);

CREATE TABLE ing_plan_slice (
    id BIGSERIAL NOT NULL,
    plan_id BIGINT NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_name VARCHAR(64) COLLATE "C" NOT NULL,
    operation_code VARCHAR(32) COLLATE "C" NOT NULL,
    slice_no INTEGER NOT NULL,
    slice_signature_hash VARCHAR(64) COLLATE "C" NOT NULL,
    slice_spec JSONB NOT NULL,
    expr_hash VARCHAR(64) COLLATE "C" NOT NULL,
    expr_snapshot JSONB NOT NULL,
    status_code VARCHAR(32) COLLATE "C" NOT NULL,
    record_remarks JSONB,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_slice_sig UNIQUE (plan_id, slice_signature_hash)
);

CREATE INDEX idx_slice_prov_status ON ing_plan_slice (provenance_code, status_code);

CREATE INDEX idx_slice_status ON ing_plan_slice (plan_id, status_code);

CREATE TABLE ing_quarantine (
    id BIGSERIAL NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_name VARCHAR(64) COLLATE "C" NOT NULL,
    operation_code VARCHAR(32) COLLATE "C" NOT NULL,
    provider_id VARCHAR(512) COLLATE "C",
    reason_code VARCHAR(64) COLLATE "C" NOT NULL,
    json_path VARCHAR(400) NOT NULL,
    fragment TEXT COLLATE "C" NOT NULL,
    fragment_hash VARCHAR(64) COLLATE "C" NOT NULL,
    plan_id BIGINT NOT NULL,
    slice_id BIGINT NOT NULL,
    task_id BIGINT NOT NULL,
    run_id BIGINT NOT NULL,
    batch_no INTEGER NOT NULL,
    state_code VARCHAR(32) COLLATE "C" NOT NULL,
    seen_count INTEGER NOT NULL,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    record_remarks JSONB,
    PRIMARY KEY (id),
    CONSTRAINT uk_quarantine UNIQUE (provenance_code, endpoint_name, fragment_hash, reason_code)
);

CREATE INDEX idx_quarantine_item ON ing_quarantine (provenance_code, endpoint_name, provider_id);

CREATE INDEX idx_quarantine_state ON ing_quarantine (provenance_code, endpoint_name, state_code);

CREATE TABLE ing_quota_ledger (
    id BIGSERIAL NOT NULL,
    rate_key VARCHAR(200) COLLATE "C" NOT NULL,
    quota_window_from TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    quota_window_to TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    used_count BIGINT NOT NULL,
    reserved_count BIGINT NOT NULL,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_quota_window UNIQUE (rate_key, quota_window_from, quota_window_to)
);

CREATE TABLE ing_quota_reservation (
    id BIGSERIAL NOT NULL,
    plan_id BIGINT NOT NULL,
    rate_key VARCHAR(200) COLLATE "C" NOT NULL,
    quota_window_from TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    quota_window_to TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    priority INTEGER NOT NULL,
    reserved_count BIGINT NOT NULL,
    used_count BIGINT NOT NULL,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_quota_reservation UNIQUE (plan_id, rate_key, quota_window_from, quota_window_to)
);

CREATE INDEX idx_quota_reservation_key ON ing_quota_reservation (rate_key, quota_window_to);

CREATE TABLE ing_rate_gate (
    rate_key VARCHAR(200) COLLATE "C" NOT NULL,
    tat TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    cooldown_until TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    rate_per_sec DOUBLE PRECISION,
    last_changes JSONB,
    counted_at TIMESTAMP(6) WITH TIME ZONE,
    tokens DOUBLE PRECISION,
    rate_now DOUBLE PRECISION,
    warm_from TIMESTAMP(6) WITH TIME ZONE,
    changed_at TIMESTAMP(6) WITH TIME ZONE,
    step DOUBLE PRECISION,
    rate_before DOUBLE PRECISION,
    decreases INTEGER DEFAULT '0' NOT NULL,
    stated_rate DOUBLE PRECISION,
    operator_rate DOUBLE PRECISION,
    stated_concurrency INTEGER,
    closed_until TIMESTAMP(6) WITH TIME ZONE,
    closed_reason VARCHAR(32) COLLATE "C",
    failures INTEGER DEFAULT '0' NOT NULL,
    failed_by JSONB,
    success_at TIMESTAMP(6) WITH TIME ZONE,
    circuit_code VARCHAR(32) COLLATE "C" DEFAULT 'CLOSED' NOT NULL,
    circuit_until TIMESTAMP(6) WITH TIME ZONE,
    circuit_seconds DOUBLE PRECISION DEFAULT '0' NOT NULL,
    low_since TIMESTAMP(6) WITH TIME ZONE,
    PRIMARY KEY (rate_key)
);

CREATE TABLE ing_reslice_request (
    id BIGSERIAL NOT NULL,
    plan_id BIGINT NOT NULL,
    slice_id BIGINT NOT NULL,
    task_id BIGINT NOT NULL,
    run_id BIGINT NOT NULL,
    remaining_from TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    remaining_to TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    range JSONB,
    reason_code VARCHAR(64) COLLATE "C" NOT NULL,
    status_code VARCHAR(32) COLLATE "C" NOT NULL,
    idempotent_key VARCHAR(64) COLLATE "C" NOT NULL,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_reslice_idem UNIQUE (idempotent_key)
);

CREATE INDEX idx_reslice_status ON ing_reslice_request (status_code, id);

CREATE INDEX idx_reslice_task ON ing_reslice_request (task_id);

CREATE TABLE ing_schedule_instance (
    id BIGSERIAL NOT NULL,
    scheduler_code VARCHAR(32) COLLATE "C" NOT NULL,
    scheduler_job_id VARCHAR(200) COLLATE "C",
    scheduler_log_id VARCHAR(200) COLLATE "C" NOT NULL,
    trigger_type_code VARCHAR(32) COLLATE "C" NOT NULL,
    triggered_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    trigger_params JSONB NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_name VARCHAR(64) COLLATE "C" NOT NULL,
    operation_code VARCHAR(32) COLLATE "C" NOT NULL,
    expr_proto_hash VARCHAR(64) COLLATE "C",
    expr_proto_snapshot JSONB,
    record_remarks JSONB,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_sched_log UNIQUE (scheduler_code, scheduler_log_id)
);

CREATE INDEX idx_sched_src ON ing_schedule_instance (scheduler_code, scheduler_job_id, scheduler_log_id);

CREATE TABLE ing_schema_info (
    id INTEGER NOT NULL,
    schema_level INTEGER NOT NULL,
    oldest_code_level INTEGER NOT NULL,
    purpose_code VARCHAR(32) COLLATE "C",
    PRIMARY KEY (id)
);

CREATE TABLE ing_signal (
    id BIGSERIAL NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_name VARCHAR(64) COLLATE "C" NOT NULL,
    operation_code VARCHAR(32) COLLATE "C" NOT NULL,
    provider_id VARCHAR(512) COLLATE "C" NOT NULL,
    signal_code VARCHAR(64) COLLATE "C" NOT NULL,
    campaign VARCHAR(128) COLLATE "C" NOT NULL,
    state_code VARCHAR(32) COLLATE "C" NOT NULL,
    record_remarks JSONB,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_signal UNIQUE (campaign, provenance_code, endpoint_name, provider_id)
);

CREATE INDEX idx_signal_open ON ing_signal (provenance_code, endpoint_name, state_code, provider_id);

CREATE TABLE ing_task (
    id BIGSERIAL NOT NULL,
    schedule_instance_id BIGINT NOT NULL,
    plan_id BIGINT NOT NULL,
    slice_id BIGINT NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_name VARCHAR(64) COLLATE "C" NOT NULL,
    operation_code VARCHAR(32) COLLATE "C" NOT NULL,
    namespace_key VARCHAR(128) COLLATE "C" NOT NULL,
    credential_id BIGINT,
    params JSONB NOT NULL,
    window_from TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    window_to TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    expr_hash VARCHAR(64) COLLATE "C" NOT NULL,
    idempotent_key VARCHAR(64) COLLATE "C" NOT NULL,
    priority SMALLINT NOT NULL,
    scheduled_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    status_code VARCHAR(32) COLLATE "C" NOT NULL,
    lease_owner VARCHAR(200) COLLATE "C",
    leased_until TIMESTAMP(6) WITH TIME ZONE,
    lease_count INTEGER DEFAULT '0' NOT NULL,
    fence_no BIGINT DEFAULT '0' NOT NULL,
    expiry_count INTEGER DEFAULT '0' NOT NULL,
    attempt_count INTEGER DEFAULT '0' NOT NULL,
    checkpoint JSONB,
    last_error JSONB,
    started_at TIMESTAMP(6) WITH TIME ZONE,
    finished_at TIMESTAMP(6) WITH TIME ZONE,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    blamed_count INTEGER DEFAULT '0' NOT NULL,
    expired_at TIMESTAMP(6) WITH TIME ZONE,
    expired_owner VARCHAR(200) COLLATE "C",
    PRIMARY KEY (id),
    CONSTRAINT uk_task_idem UNIQUE (idempotent_key)
);

CREATE INDEX idx_task_cred ON ing_task (credential_id);

CREATE INDEX idx_task_expired ON ing_task (expired_at);

CREATE INDEX idx_task_lease ON ing_task (status_code, leased_until);

CREATE INDEX idx_task_live ON ing_task (namespace_key, status_code, window_from);

CREATE INDEX idx_task_plan ON ing_task (plan_id, status_code);

CREATE INDEX idx_task_queue ON ing_task (provenance_code, endpoint_name, operation_code, priority, scheduled_at, id) WHERE status_code = 'QUEUED';

CREATE INDEX idx_task_slice ON ing_task (slice_id);

CREATE INDEX idx_task_src_op ON ing_task (provenance_code, operation_code, status_code);

CREATE TABLE ing_task_run (
    id BIGSERIAL NOT NULL,
    schedule_instance_id BIGINT NOT NULL,
    plan_id BIGINT NOT NULL,
    slice_id BIGINT NOT NULL,
    task_id BIGINT NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_name VARCHAR(64) COLLATE "C" NOT NULL,
    operation_code VARCHAR(32) COLLATE "C" NOT NULL,
    attempt_no INTEGER NOT NULL,
    fence_no BIGINT NOT NULL,
    lease_owner VARCHAR(200) COLLATE "C" NOT NULL,
    flow_run_id VARCHAR(64) COLLATE "C",
    flow_task_run_id VARCHAR(64) COLLATE "C",
    status_code VARCHAR(32) COLLATE "C" NOT NULL,
    checkpoint JSONB,
    stats JSONB,
    error JSONB,
    window_from TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    window_to TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    expr_hash VARCHAR(64) COLLATE "C" NOT NULL,
    started_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    finished_at TIMESTAMP(6) WITH TIME ZONE,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_run_attempt UNIQUE (task_id, attempt_no)
);

CREATE INDEX idx_run_flow ON ing_task_run (flow_run_id);

CREATE INDEX idx_run_prov_op_status ON ing_task_run (provenance_code, operation_code, status_code);

CREATE INDEX idx_run_task ON ing_task_run (task_id, status_code, created_at);

CREATE TABLE ing_task_run_batch (
    id BIGSERIAL NOT NULL,
    plan_id BIGINT NOT NULL,
    slice_id BIGINT NOT NULL,
    task_id BIGINT NOT NULL,
    run_id BIGINT NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_name VARCHAR(64) COLLATE "C" NOT NULL,
    operation_code VARCHAR(32) COLLATE "C" NOT NULL,
    batch_no INTEGER NOT NULL,
    page_no INTEGER NOT NULL,
    page_size INTEGER NOT NULL,
    before_token TEXT COLLATE "C",
    after_token TEXT COLLATE "C",
    before_hash VARCHAR(64) COLLATE "C" NOT NULL,
    next_url TEXT COLLATE "C",
    idempotent_key VARCHAR(64) COLLATE "C" NOT NULL,
    expr_hash VARCHAR(64) COLLATE "C" NOT NULL,
    status_code VARCHAR(32) COLLATE "C" NOT NULL,
    record_count INTEGER DEFAULT '0' NOT NULL,
    id_hashes BYTEA,
    request_digest JSONB,
    response_digest JSONB,
    stats JSONB,
    error JSONB,
    asked_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    committed_at TIMESTAMP(6) WITH TIME ZONE,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_run_batch_no UNIQUE (run_id, batch_no),
    CONSTRAINT uk_run_before_tok UNIQUE (run_id, before_hash),
    CONSTRAINT uk_batch_idem UNIQUE (idempotent_key)
);

CREATE INDEX idx_batch_prov_op_status ON ing_task_run_batch (provenance_code, operation_code, status_code, committed_at);

CREATE INDEX idx_batch_status ON ing_task_run_batch (run_id, status_code);

CREATE INDEX idx_batch_task ON ing_task_run_batch (task_id, status_code);

CREATE INDEX idx_batch_time ON ing_task_run_batch (run_id, created_at);

CREATE TABLE reg_expr_field_dict (
    id BIGSERIAL NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    field_code VARCHAR(64) COLLATE "C" NOT NULL,
    field_type_code VARCHAR(32) COLLATE "C" NOT NULL,
    description TEXT COLLATE "C",
    closed_at TIMESTAMP(6) WITH TIME ZONE,
    record_remarks JSONB,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_expr_field_dict_scope ON reg_expr_field_dict (provenance_code, closed_at);

CREATE TABLE reg_prov_api_param_map (
    id BIGSERIAL NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_name VARCHAR(64) COLLATE "C",
    operation_code VARCHAR(32) COLLATE "C" NOT NULL,
    param_name VARCHAR(64) COLLATE "C" NOT NULL,
    location_code VARCHAR(32) COLLATE "C" NOT NULL,
    std_key VARCHAR(64) COLLATE "C" NOT NULL,
    default_value TEXT COLLATE "C",
    functions JSONB,
    is_required BOOLEAN,
    effective_from TIMESTAMP(6) WITH TIME ZONE,
    effective_to TIMESTAMP(6) WITH TIME ZONE,
    closed_at TIMESTAMP(6) WITH TIME ZONE,
    record_remarks JSONB,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_api_param_map_scope ON reg_prov_api_param_map (provenance_code, closed_at);

CREATE TABLE reg_prov_batching_cfg (
    id BIGSERIAL NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_name VARCHAR(64) COLLATE "C",
    operation_code VARCHAR(32) COLLATE "C" NOT NULL,
    id_batch_size INTEGER,
    max_ids INTEGER,
    effective_from TIMESTAMP(6) WITH TIME ZONE,
    effective_to TIMESTAMP(6) WITH TIME ZONE,
    closed_at TIMESTAMP(6) WITH TIME ZONE,
    record_remarks JSONB,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_batching_cfg_scope ON reg_prov_batching_cfg (provenance_code, closed_at);

CREATE TABLE reg_prov_credential (
    id BIGSERIAL NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_name VARCHAR(64) COLLATE "C",
    operation_code VARCHAR(32) COLLATE "C" NOT NULL,
    auth_type_code VARCHAR(32) COLLATE "C",
    credential_ref VARCHAR(200) COLLATE "C",
    username_ref VARCHAR(200) COLLATE "C",
    auth_location_code VARCHAR(32) COLLATE "C",
    auth_name VARCHAR(200) COLLATE "C",
    is_optional BOOLEAN,
    token_url TEXT COLLATE "C",
    oauth_scope TEXT COLLATE "C",
    signing_hook VARCHAR(200) COLLATE "C",
    effective_from TIMESTAMP(6) WITH TIME ZONE,
    effective_to TIMESTAMP(6) WITH TIME ZONE,
    closed_at TIMESTAMP(6) WITH TIME ZONE,
    record_remarks JSONB,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_credential_scope ON reg_prov_credential (provenance_code, closed_at);

CREATE TABLE reg_prov_endpoint_def (
    id BIGSERIAL NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_name VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_role_code VARCHAR(32) COLLATE "C" NOT NULL,
    http_method_code VARCHAR(16) COLLATE "C" NOT NULL,
    path_template TEXT COLLATE "C" NOT NULL,
    operations JSONB NOT NULL,
    items_path TEXT COLLATE "C" NOT NULL,
    id_path TEXT COLLATE "C",
    id_expr JSONB,
    updated_at_path TEXT COLLATE "C",
    updated_at_expr JSONB,
    total_path TEXT COLLATE "C",
    response_format_code VARCHAR(32) COLLATE "C",
    xml_namespaces JSONB,
    response_time_zone VARCHAR(64) COLLATE "C",
    error_predicates JSONB,
    empty_predicates JSONB,
    record_error JSONB,
    restricted BOOLEAN,
    detail_endpoint_name VARCHAR(64) COLLATE "C",
    query_text TEXT COLLATE "C",
    body_format_code VARCHAR(32) COLLATE "C",
    body_template JSONB,
    output_mapping JSONB,
    defaults JSONB,
    closed_at TIMESTAMP(6) WITH TIME ZONE,
    record_remarks JSONB,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    version_expr JSONB,
    deleted_predicate JSONB,
    merged_into_expr JSONB,
    refreshes_endpoint_name VARCHAR(64) COLLATE "C",
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_endpoint_def_scope ON reg_prov_endpoint_def (provenance_code, closed_at);

CREATE TABLE reg_prov_expr_capability (
    id BIGSERIAL NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_name VARCHAR(64) COLLATE "C",
    operation_code VARCHAR(32) COLLATE "C" NOT NULL,
    field_code VARCHAR(64) COLLATE "C",
    ops JSONB NOT NULL,
    matches JSONB,
    negatable BOOLEAN,
    max_length INTEGER,
    term_pattern TEXT COLLATE "C",
    max_values INTEGER,
    effective_from TIMESTAMP(6) WITH TIME ZONE,
    effective_to TIMESTAMP(6) WITH TIME ZONE,
    closed_at TIMESTAMP(6) WITH TIME ZONE,
    record_remarks JSONB,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_expr_capability_scope ON reg_prov_expr_capability (provenance_code, closed_at);

CREATE TABLE reg_prov_expr_render_rule (
    id BIGSERIAL NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_name VARCHAR(64) COLLATE "C",
    operation_code VARCHAR(32) COLLATE "C" NOT NULL,
    field_code VARCHAR(64) COLLATE "C",
    op_code VARCHAR(32) COLLATE "C" NOT NULL,
    match_code VARCHAR(32) COLLATE "C",
    param_name VARCHAR(64) COLLATE "C",
    template TEXT COLLATE "C",
    rule_params JSONB,
    value_separator VARCHAR(32) COLLATE "C",
    rule_joiner VARCHAR(32) COLLATE "C",
    open_start VARCHAR(64) COLLATE "C",
    open_end VARCHAR(64) COLLATE "C",
    effective_from TIMESTAMP(6) WITH TIME ZONE,
    effective_to TIMESTAMP(6) WITH TIME ZONE,
    closed_at TIMESTAMP(6) WITH TIME ZONE,
    record_remarks JSONB,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_expr_render_rule_scope ON reg_prov_expr_render_rule (provenance_code, closed_at);

CREATE TABLE reg_prov_http_cfg (
    id BIGSERIAL NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_name VARCHAR(64) COLLATE "C",
    operation_code VARCHAR(32) COLLATE "C" NOT NULL,
    base_url TEXT COLLATE "C",
    headers JSONB,
    query_params JSONB,
    connect_timeout_ms INTEGER,
    read_timeout_ms INTEGER,
    allow_plain_http BOOLEAN,
    user_agent TEXT COLLATE "C",
    max_redirects INTEGER,
    proxy_url TEXT COLLATE "C",
    verify_tls BOOLEAN,
    ca_bundle TEXT COLLATE "C",
    effective_from TIMESTAMP(6) WITH TIME ZONE,
    effective_to TIMESTAMP(6) WITH TIME ZONE,
    closed_at TIMESTAMP(6) WITH TIME ZONE,
    record_remarks JSONB,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    deadline_ms INTEGER,
    max_body_bytes INTEGER,
    max_values INTEGER,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_http_cfg_scope ON reg_prov_http_cfg (provenance_code, closed_at);

CREATE TABLE reg_prov_pagination_cfg (
    id BIGSERIAL NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_name VARCHAR(64) COLLATE "C",
    operation_code VARCHAR(32) COLLATE "C" NOT NULL,
    pagination_type_code VARCHAR(32) COLLATE "C",
    position_code VARCHAR(32) COLLATE "C",
    page_size INTEGER,
    max_page_size INTEGER,
    max_page INTEGER,
    max_records INTEGER,
    initial_token TEXT COLLATE "C",
    next_token_path TEXT COLLATE "C",
    next_url_path TEXT COLLATE "C",
    has_more_path TEXT COLLATE "C",
    step_path TEXT COLLATE "C",
    page_base INTEGER,
    token_ttl_seconds INTEGER,
    order_by TEXT COLLATE "C",
    effective_from TIMESTAMP(6) WITH TIME ZONE,
    effective_to TIMESTAMP(6) WITH TIME ZONE,
    closed_at TIMESTAMP(6) WITH TIME ZONE,
    record_remarks JSONB,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    ascending BOOLEAN,
    tail_probe BOOLEAN,
    next_hosts JSONB,
    max_page_bytes INTEGER,
    empty_page_code VARCHAR(32) COLLATE "C",
    total_kind_code VARCHAR(32) COLLATE "C",
    max_shortfall INTEGER,
    restart_statuses JSONB,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_pagination_cfg_scope ON reg_prov_pagination_cfg (provenance_code, closed_at);

CREATE TABLE reg_prov_rate_limit_cfg (
    id BIGSERIAL NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_name VARCHAR(64) COLLATE "C",
    operation_code VARCHAR(32) COLLATE "C" NOT NULL,
    refill_rate_per_sec DOUBLE PRECISION,
    with_credential_per_sec DOUBLE PRECISION,
    provider_cap_per_sec DOUBLE PRECISION,
    burst_capacity INTEGER,
    daily_quota INTEGER,
    limit_header VARCHAR(64) COLLATE "C",
    remaining_header VARCHAR(64) COLLATE "C",
    reset_header VARCHAR(64) COLLATE "C",
    reset_kind_code VARCHAR(32) COLLATE "C",
    effective_from TIMESTAMP(6) WITH TIME ZONE,
    effective_to TIMESTAMP(6) WITH TIME ZONE,
    closed_at TIMESTAMP(6) WITH TIME ZONE,
    record_remarks JSONB,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    permit_cost INTEGER,
    max_concurrency INTEGER,
    hourly_quota INTEGER,
    quota_cost INTEGER,
    quota_margin DOUBLE PRECISION,
    quota_reset_hour INTEGER,
    query_costs JSONB,
    scope_code VARCHAR(32) COLLATE "C",
    share_name VARCHAR(64) COLLATE "C",
    demote_factor DOUBLE PRECISION,
    cool_down_ms INTEGER,
    open_time_ms INTEGER,
    interval_header VARCHAR(64) COLLATE "C",
    concurrency_header VARCHAR(64) COLLATE "C",
    refusal_statuses JSONB,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_rate_limit_cfg_scope ON reg_prov_rate_limit_cfg (provenance_code, closed_at);

CREATE TABLE reg_prov_retry_cfg (
    id BIGSERIAL NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_name VARCHAR(64) COLLATE "C",
    operation_code VARCHAR(32) COLLATE "C" NOT NULL,
    backoff_policy_code VARCHAR(32) COLLATE "C",
    max_attempts INTEGER,
    initial_delay_ms INTEGER,
    max_delay_ms INTEGER,
    multiplier DOUBLE PRECISION,
    jitter DOUBLE PRECISION,
    retry_statuses JSONB,
    effective_from TIMESTAMP(6) WITH TIME ZONE,
    effective_to TIMESTAMP(6) WITH TIME ZONE,
    closed_at TIMESTAMP(6) WITH TIME ZONE,
    record_remarks JSONB,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_retry_cfg_scope ON reg_prov_retry_cfg (provenance_code, closed_at);

CREATE TABLE reg_prov_slicing_cfg (
    id BIGSERIAL NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_name VARCHAR(64) COLLATE "C",
    operation_code VARCHAR(32) COLLATE "C" NOT NULL,
    slice_strategy_code VARCHAR(32) COLLATE "C",
    target_records INTEGER,
    probe_budget INTEGER,
    split_field_name VARCHAR(64) COLLATE "C",
    split_max BIGINT,
    max_queued INTEGER,
    id_buckets INTEGER,
    effective_from TIMESTAMP(6) WITH TIME ZONE,
    effective_to TIMESTAMP(6) WITH TIME ZONE,
    closed_at TIMESTAMP(6) WITH TIME ZONE,
    record_remarks JSONB,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_slicing_cfg_scope ON reg_prov_slicing_cfg (provenance_code, closed_at);

CREATE TABLE reg_prov_window_offset_cfg (
    id BIGSERIAL NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    endpoint_name VARCHAR(64) COLLATE "C",
    operation_code VARCHAR(32) COLLATE "C" NOT NULL,
    window_mode_code VARCHAR(32) COLLATE "C",
    offset_field_name VARCHAR(64) COLLATE "C",
    watermark_key VARCHAR(64) COLLATE "C",
    watermark_lag_seconds INTEGER,
    lookback_seconds INTEGER,
    recheck_seconds INTEGER,
    window_size_seconds INTEGER,
    step_seconds INTEGER,
    min_window_seconds INTEGER,
    max_window_seconds INTEGER,
    overlap_seconds INTEGER,
    baseline_at TIMESTAMP(6) WITH TIME ZONE,
    calendar_align_to VARCHAR(32) COLLATE "C",
    time_unit_code VARCHAR(32) COLLATE "C",
    time_format VARCHAR(64),
    time_zone VARCHAR(64) COLLATE "C",
    upper_inclusive BOOLEAN,
    stored_precision_code VARCHAR(32) COLLATE "C",
    supports_updated_since BOOLEAN,
    stable_order BOOLEAN,
    effective_from TIMESTAMP(6) WITH TIME ZONE,
    effective_to TIMESTAMP(6) WITH TIME ZONE,
    closed_at TIMESTAMP(6) WITH TIME ZONE,
    record_remarks JSONB,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_window_offset_cfg_scope ON reg_prov_window_offset_cfg (provenance_code, closed_at);

CREATE TABLE reg_provenance (
    id BIGSERIAL NOT NULL,
    provenance_code VARCHAR(64) COLLATE "C" NOT NULL,
    provenance_name VARCHAR(200) NOT NULL,
    description TEXT COLLATE "C" NOT NULL,
    docs_url TEXT COLLATE "C",
    id_normalizer_code VARCHAR(32) COLLATE "C" NOT NULL,
    on_equal_code VARCHAR(32) COLLATE "C" NOT NULL,
    output_mapping JSONB NOT NULL,
    defaults JSONB,
    closed_at TIMESTAMP(6) WITH TIME ZONE,
    record_remarks JSONB,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    on_refresh_code VARCHAR(32) COLLATE "C",
    id_pattern TEXT COLLATE "C",
    drift_share DOUBLE PRECISION,
    drift_records INTEGER,
    PRIMARY KEY (id)
);

CREATE INDEX idx_provenance_code ON reg_provenance (provenance_code, closed_at);

CREATE TABLE sys_dict_item (
    id BIGSERIAL NOT NULL,
    type_code VARCHAR(64) COLLATE "C" NOT NULL,
    item_code VARCHAR(64) COLLATE "C" NOT NULL,
    item_name VARCHAR(200) NOT NULL,
    sort_no INTEGER NOT NULL,
    record_remarks JSONB,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_dict_item UNIQUE (type_code, item_code)
);

CREATE TABLE sys_dict_item_alias (
    id BIGSERIAL NOT NULL,
    type_code VARCHAR(64) COLLATE "C" NOT NULL,
    item_code VARCHAR(64) COLLATE "C" NOT NULL,
    alias_code VARCHAR(64) COLLATE "C" NOT NULL,
    record_remarks JSONB,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_dict_alias UNIQUE (type_code, alias_code)
);

CREATE TABLE sys_dict_type (
    id BIGSERIAL NOT NULL,
    type_code VARCHAR(64) COLLATE "C" NOT NULL,
    type_name VARCHAR(200) NOT NULL,
    record_remarks JSONB,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP(6) WITH TIME ZONE NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_dict_type UNIQUE (type_code)
);

ALTER TABLE ing_item ALTER COLUMN payload SET COMPRESSION lz4;
