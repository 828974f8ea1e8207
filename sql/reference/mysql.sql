CREATE TABLE ing_arrival (
    id BIGINT NOT NULL AUTO_INCREMENT,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    operation_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    namespace_key VARCHAR(128) COLLATE utf8mb4_0900_bin NOT NULL,
    arrived_on DATETIME(6) NOT NULL,
    received_count BIGINT NOT NULL,
    late_count BIGINT NOT NULL,
    provider_late_seconds INTEGER NOT NULL,
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_arrival_day UNIQUE (provenance_code, operation_code, namespace_key, arrived_on)
);

CREATE TABLE ing_cursor (
    id BIGINT NOT NULL AUTO_INCREMENT,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    operation_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    cursor_key VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    namespace_scope_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    namespace_key VARCHAR(128) COLLATE utf8mb4_0900_bin NOT NULL,
    cursor_type_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    direction_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    cursor_value LONGTEXT COLLATE utf8mb4_0900_bin NOT NULL,
    normalized_instant DATETIME(6),
    normalized_numeric NUMERIC(38, 0),
    anchor_instant DATETIME(6),
    settled_instant DATETIME(6),
    observed_max_value LONGTEXT COLLATE utf8mb4_0900_bin,
    schedule_instance_id BIGINT,
    plan_id BIGINT,
    slice_id BIGINT,
    task_id BIGINT,
    run_id BIGINT,
    batch_id BIGINT,
    expr_hash VARCHAR(64) COLLATE utf8mb4_0900_bin,
    version INTEGER NOT NULL DEFAULT '0',
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    bound_from DATETIME(6),
    bound_to DATETIME(6),
    is_descending SMALLINT NOT NULL DEFAULT '0',
    lag_seconds INTEGER,
    lag_changed_at DATETIME(6),
    PRIMARY KEY (id),
    CONSTRAINT uk_cursor_ns UNIQUE (provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key)
);

CREATE INDEX idx_cursor_id ON ing_cursor (provenance_code, operation_code, normalized_numeric);

CREATE INDEX idx_cursor_time ON ing_cursor (provenance_code, operation_code, normalized_instant);

CREATE TABLE ing_cursor_event (
    id BIGINT NOT NULL AUTO_INCREMENT,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    operation_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    cursor_key VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    namespace_scope_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    namespace_key VARCHAR(128) COLLATE utf8mb4_0900_bin NOT NULL,
    cursor_type_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    direction_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    event_type VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    window_from DATETIME(6),
    window_to DATETIME(6),
    `range` JSON,
    as_of DATETIME(6),
    prev_value LONGTEXT COLLATE utf8mb4_0900_bin,
    new_value LONGTEXT COLLATE utf8mb4_0900_bin,
    prev_instant DATETIME(6),
    new_instant DATETIME(6),
    prev_numeric NUMERIC(38, 0),
    new_numeric NUMERIC(38, 0),
    observed_max_value LONGTEXT COLLATE utf8mb4_0900_bin,
    idempotent_key VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    schedule_instance_id BIGINT,
    plan_id BIGINT NOT NULL,
    slice_id BIGINT,
    task_id BIGINT,
    run_id BIGINT,
    batch_id BIGINT,
    expr_hash VARCHAR(64) COLLATE utf8mb4_0900_bin,
    record_remarks JSON,
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
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
    id BIGINT NOT NULL AUTO_INCREMENT,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    expr_hash VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    window_from DATETIME(6) NOT NULL,
    window_to DATETIME(6) NOT NULL,
    record_count BIGINT NOT NULL,
    method_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    created_at DATETIME(6) NOT NULL,
    `range` JSON,
    PRIMARY KEY (id)
);

CREATE INDEX idx_estimate_window ON ing_estimate (provenance_code, endpoint_name, expr_hash, window_from);

CREATE TABLE ing_gate_use (
    id BIGINT NOT NULL AUTO_INCREMENT,
    rate_key VARCHAR(200) COLLATE utf8mb4_0900_bin NOT NULL,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    operation_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_gate_use UNIQUE (rate_key, provenance_code, endpoint_name, operation_code)
);

CREATE INDEX idx_gate_use_partition ON ing_gate_use (provenance_code, endpoint_name, operation_code);

CREATE TABLE ing_item (
    id BIGINT NOT NULL AUTO_INCREMENT,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    provider_id VARCHAR(512) COLLATE utf8mb4_0900_bin NOT NULL,
    source_updated_at DATETIME(6) NOT NULL,
    source_version VARCHAR(128) COLLATE utf8mb4_0900_bin,
    payload LONGTEXT COLLATE utf8mb4_0900_bin NOT NULL,
    payload_hash VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    record JSON NOT NULL,
    expr_hash VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    state_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    refresh_checked_at DATETIME(6) NOT NULL,
    first_run_id BIGINT NOT NULL,
    first_batch_no INTEGER NOT NULL,
    last_run_id BIGINT NOT NULL,
    last_batch_no INTEGER NOT NULL,
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    gone_at DATETIME(6),
    gone_reason_code VARCHAR(64) COLLATE utf8mb4_0900_bin,
    merged_into VARCHAR(512) COLLATE utf8mb4_0900_bin,
    PRIMARY KEY (id),
    CONSTRAINT uk_item_business UNIQUE (provenance_code, endpoint_name, provider_id)
);

CREATE INDEX idx_item_updated ON ing_item (provenance_code, endpoint_name, source_updated_at);

CREATE TABLE ing_outbox_message (
    id BIGINT NOT NULL AUTO_INCREMENT,
    dedup_key VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    ordering_key VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    topic VARCHAR(128) COLLATE utf8mb4_0900_bin NOT NULL,
    payload JSON NOT NULL,
    status_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    attempts INTEGER NOT NULL DEFAULT '0',
    lease_owner VARCHAR(200) COLLATE utf8mb4_0900_bin,
    leased_until DATETIME(6),
    created_at DATETIME(6) NOT NULL,
    sent_at DATETIME(6),
    next_attempt_at DATETIME(6),
    last_error LONGTEXT COLLATE utf8mb4_0900_bin,
    PRIMARY KEY (id),
    CONSTRAINT uk_outbox_dedup UNIQUE (dedup_key)
);

CREATE INDEX idx_outbox_dead ON ing_outbox_message (status_code, id);

CREATE INDEX idx_outbox_due ON ing_outbox_message (status_code, next_attempt_at, id);

CREATE INDEX idx_outbox_order ON ing_outbox_message (ordering_key, status_code, id);

CREATE INDEX idx_outbox_sent ON ing_outbox_message (status_code, sent_at, id);

CREATE TABLE ing_partition_control (
    id BIGINT NOT NULL AUTO_INCREMENT,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    operation_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    control_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    reason LONGTEXT COLLATE utf8mb4_0900_bin,
    version INTEGER NOT NULL DEFAULT '0',
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    claimed_at DATETIME(6),
    closed_until DATETIME(6),
    PRIMARY KEY (id),
    CONSTRAINT uk_partition_control UNIQUE (provenance_code, endpoint_name, operation_code)
);

CREATE TABLE ing_plan (
    id BIGINT NOT NULL AUTO_INCREMENT,
    schedule_instance_id BIGINT NOT NULL,
    plan_key VARCHAR(200) COLLATE utf8mb4_0900_bin NOT NULL,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    operation_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    window_from DATETIME(6) NOT NULL,
    window_to DATETIME(6) NOT NULL,
    slice_strategy_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    slice_params JSON NOT NULL,
    expr_proto_hash VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    expr_proto_snapshot JSON NOT NULL,
    provenance_config_snapshot JSON NOT NULL,
    spec_fingerprint VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    status_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    record_remarks JSON,
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_plan_key UNIQUE (plan_key)
);

CREATE INDEX idx_plan_expr ON ing_plan (expr_proto_hash);

CREATE INDEX idx_plan_prov_op ON ing_plan (provenance_code, operation_code);

CREATE INDEX idx_plan_srcop_time ON ing_plan (provenance_code, operation_code, created_at);

CREATE TABLE ing_plan_slice (
    id BIGINT NOT NULL AUTO_INCREMENT,
    plan_id BIGINT NOT NULL,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    operation_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    slice_no INTEGER NOT NULL,
    slice_signature_hash VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    slice_spec JSON NOT NULL,
    expr_hash VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    expr_snapshot JSON NOT NULL,
    status_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    record_remarks JSON,
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_slice_sig UNIQUE (plan_id, slice_signature_hash)
);

CREATE INDEX idx_slice_prov_status ON ing_plan_slice (provenance_code, status_code);

CREATE INDEX idx_slice_status ON ing_plan_slice (plan_id, status_code);

CREATE TABLE ing_quarantine (
    id BIGINT NOT NULL AUTO_INCREMENT,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    operation_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    provider_id VARCHAR(512) COLLATE utf8mb4_0900_bin,
    reason_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    json_path VARCHAR(400) NOT NULL,
    fragment LONGTEXT COLLATE utf8mb4_0900_bin NOT NULL,
    fragment_hash VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    plan_id BIGINT NOT NULL,
    slice_id BIGINT NOT NULL,
    task_id BIGINT NOT NULL,
    run_id BIGINT NOT NULL,
    batch_no INTEGER NOT NULL,
    state_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    seen_count INTEGER NOT NULL,
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    record_remarks JSON,
    PRIMARY KEY (id),
    CONSTRAINT uk_quarantine UNIQUE (provenance_code, endpoint_name, fragment_hash, reason_code)
);

CREATE INDEX idx_quarantine_item ON ing_quarantine (provenance_code, endpoint_name, provider_id);

CREATE INDEX idx_quarantine_state ON ing_quarantine (provenance_code, endpoint_name, state_code);

CREATE TABLE ing_quota_ledger (
    id BIGINT NOT NULL AUTO_INCREMENT,
    rate_key VARCHAR(200) COLLATE utf8mb4_0900_bin NOT NULL,
    quota_window_from DATETIME(6) NOT NULL,
    quota_window_to DATETIME(6) NOT NULL,
    used_count BIGINT NOT NULL,
    reserved_count BIGINT NOT NULL,
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_quota_window UNIQUE (rate_key, quota_window_from, quota_window_to)
);

CREATE TABLE ing_quota_reservation (
    id BIGINT NOT NULL AUTO_INCREMENT,
    plan_id BIGINT NOT NULL,
    rate_key VARCHAR(200) COLLATE utf8mb4_0900_bin NOT NULL,
    quota_window_from DATETIME(6) NOT NULL,
    quota_window_to DATETIME(6) NOT NULL,
    priority INTEGER NOT NULL,
    reserved_count BIGINT NOT NULL,
    used_count BIGINT NOT NULL,
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_quota_reservation UNIQUE (plan_id, rate_key, quota_window_from, quota_window_to)
);

CREATE INDEX idx_quota_reservation_key ON ing_quota_reservation (rate_key, quota_window_to);

CREATE TABLE ing_rate_gate (
    rate_key VARCHAR(200) COLLATE utf8mb4_0900_bin NOT NULL,
    tat DATETIME(6) NOT NULL,
    cooldown_until DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    rate_per_sec DOUBLE,
    last_changes JSON,
    counted_at DATETIME(6),
    tokens DOUBLE,
    rate_now DOUBLE,
    warm_from DATETIME(6),
    changed_at DATETIME(6),
    step DOUBLE,
    rate_before DOUBLE,
    decreases INTEGER NOT NULL DEFAULT '0',
    stated_rate DOUBLE,
    operator_rate DOUBLE,
    stated_concurrency INTEGER,
    closed_until DATETIME(6),
    closed_reason VARCHAR(32) COLLATE utf8mb4_0900_bin,
    failures INTEGER NOT NULL DEFAULT '0',
    failed_by JSON,
    success_at DATETIME(6),
    circuit_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL DEFAULT 'CLOSED',
    circuit_until DATETIME(6),
    circuit_seconds DOUBLE NOT NULL DEFAULT '0',
    low_since DATETIME(6),
    PRIMARY KEY (rate_key)
);

CREATE TABLE ing_reslice_request (
    id BIGINT NOT NULL AUTO_INCREMENT,
    plan_id BIGINT NOT NULL,
    slice_id BIGINT NOT NULL,
    task_id BIGINT NOT NULL,
    run_id BIGINT NOT NULL,
    remaining_from DATETIME(6) NOT NULL,
    remaining_to DATETIME(6) NOT NULL,
    `range` JSON,
    reason_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    status_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    idempotent_key VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    created_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_reslice_idem UNIQUE (idempotent_key)
);

CREATE INDEX idx_reslice_status ON ing_reslice_request (status_code, id);

CREATE INDEX idx_reslice_task ON ing_reslice_request (task_id);

CREATE TABLE ing_schedule_instance (
    id BIGINT NOT NULL AUTO_INCREMENT,
    scheduler_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    scheduler_job_id VARCHAR(200) COLLATE utf8mb4_0900_bin,
    scheduler_log_id VARCHAR(200) COLLATE utf8mb4_0900_bin NOT NULL,
    trigger_type_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    triggered_at DATETIME(6) NOT NULL,
    trigger_params JSON NOT NULL,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    operation_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    expr_proto_hash VARCHAR(64) COLLATE utf8mb4_0900_bin,
    expr_proto_snapshot JSON,
    record_remarks JSON,
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_sched_log UNIQUE (scheduler_code, scheduler_log_id)
);

CREATE INDEX idx_sched_src ON ing_schedule_instance (scheduler_code, scheduler_job_id, scheduler_log_id);

CREATE TABLE ing_schema_info (
    id INTEGER NOT NULL,
    schema_level INTEGER NOT NULL,
    oldest_code_level INTEGER NOT NULL,
    purpose_code VARCHAR(32) COLLATE utf8mb4_0900_bin,
    PRIMARY KEY (id)
);

CREATE TABLE ing_signal (
    id BIGINT NOT NULL AUTO_INCREMENT,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    operation_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    provider_id VARCHAR(512) COLLATE utf8mb4_0900_bin NOT NULL,
    signal_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    campaign VARCHAR(128) COLLATE utf8mb4_0900_bin NOT NULL,
    state_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    record_remarks JSON,
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_signal UNIQUE (campaign, provenance_code, endpoint_name, provider_id)
);

CREATE INDEX idx_signal_open ON ing_signal (provenance_code, endpoint_name, state_code, provider_id);

CREATE TABLE ing_task (
    id BIGINT NOT NULL AUTO_INCREMENT,
    schedule_instance_id BIGINT NOT NULL,
    plan_id BIGINT NOT NULL,
    slice_id BIGINT NOT NULL,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    operation_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    namespace_key VARCHAR(128) COLLATE utf8mb4_0900_bin NOT NULL,
    credential_id BIGINT,
    params JSON NOT NULL,
    window_from DATETIME(6) NOT NULL,
    window_to DATETIME(6) NOT NULL,
    expr_hash VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    idempotent_key VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    priority SMALLINT NOT NULL,
    scheduled_at DATETIME(6) NOT NULL,
    status_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    lease_owner VARCHAR(200) COLLATE utf8mb4_0900_bin,
    leased_until DATETIME(6),
    lease_count INTEGER NOT NULL DEFAULT '0',
    fence_no BIGINT NOT NULL DEFAULT '0',
    expiry_count INTEGER NOT NULL DEFAULT '0',
    attempt_count INTEGER NOT NULL DEFAULT '0',
    checkpoint JSON,
    last_error JSON,
    started_at DATETIME(6),
    finished_at DATETIME(6),
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    blamed_count INTEGER NOT NULL DEFAULT '0',
    expired_at DATETIME(6),
    expired_owner VARCHAR(200) COLLATE utf8mb4_0900_bin,
    PRIMARY KEY (id),
    CONSTRAINT uk_task_idem UNIQUE (idempotent_key)
);

CREATE INDEX idx_task_cred ON ing_task (credential_id);

CREATE INDEX idx_task_expired ON ing_task (expired_at);

CREATE INDEX idx_task_lease ON ing_task (status_code, leased_until);

CREATE INDEX idx_task_live ON ing_task (namespace_key, status_code, window_from);

CREATE INDEX idx_task_plan ON ing_task (plan_id, status_code);

CREATE INDEX idx_task_queue ON ing_task (status_code, provenance_code, endpoint_name, operation_code, priority, scheduled_at, id);

CREATE INDEX idx_task_slice ON ing_task (slice_id);

CREATE INDEX idx_task_src_op ON ing_task (provenance_code, operation_code, status_code);

CREATE TABLE ing_task_run (
    id BIGINT NOT NULL AUTO_INCREMENT,
    schedule_instance_id BIGINT NOT NULL,
    plan_id BIGINT NOT NULL,
    slice_id BIGINT NOT NULL,
    task_id BIGINT NOT NULL,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    operation_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    attempt_no INTEGER NOT NULL,
    fence_no BIGINT NOT NULL,
    lease_owner VARCHAR(200) COLLATE utf8mb4_0900_bin NOT NULL,
    flow_run_id VARCHAR(64) COLLATE utf8mb4_0900_bin,
    flow_task_run_id VARCHAR(64) COLLATE utf8mb4_0900_bin,
    status_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    checkpoint JSON,
    stats JSON,
    error JSON,
    window_from DATETIME(6) NOT NULL,
    window_to DATETIME(6) NOT NULL,
    expr_hash VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    started_at DATETIME(6) NOT NULL,
    finished_at DATETIME(6),
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_run_attempt UNIQUE (task_id, attempt_no)
);

CREATE INDEX idx_run_flow ON ing_task_run (flow_run_id);

CREATE INDEX idx_run_prov_op_status ON ing_task_run (provenance_code, operation_code, status_code);

CREATE INDEX idx_run_task ON ing_task_run (task_id, status_code, created_at);

CREATE TABLE ing_task_run_batch (
    id BIGINT NOT NULL AUTO_INCREMENT,
    plan_id BIGINT NOT NULL,
    slice_id BIGINT NOT NULL,
    task_id BIGINT NOT NULL,
    run_id BIGINT NOT NULL,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    operation_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    batch_no INTEGER NOT NULL,
    page_no INTEGER NOT NULL,
    page_size INTEGER NOT NULL,
    before_token LONGTEXT COLLATE utf8mb4_0900_bin,
    after_token LONGTEXT COLLATE utf8mb4_0900_bin,
    before_hash VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    next_url LONGTEXT COLLATE utf8mb4_0900_bin,
    idempotent_key VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    expr_hash VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    status_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    record_count INTEGER NOT NULL DEFAULT '0',
    id_hashes LONGBLOB,
    request_digest JSON,
    response_digest JSON,
    stats JSON,
    error JSON,
    asked_at DATETIME(6) NOT NULL,
    committed_at DATETIME(6),
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
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
    id BIGINT NOT NULL AUTO_INCREMENT,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    field_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    field_type_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    description LONGTEXT COLLATE utf8mb4_0900_bin,
    closed_at DATETIME(6),
    record_remarks JSON,
    version INTEGER NOT NULL DEFAULT '0',
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_expr_field_dict_scope ON reg_expr_field_dict (provenance_code, closed_at);

CREATE TABLE reg_prov_api_param_map (
    id BIGINT NOT NULL AUTO_INCREMENT,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin,
    operation_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    param_name VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    location_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    std_key VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    default_value LONGTEXT COLLATE utf8mb4_0900_bin,
    functions JSON,
    is_required BOOL,
    effective_from DATETIME(6),
    effective_to DATETIME(6),
    closed_at DATETIME(6),
    record_remarks JSON,
    version INTEGER NOT NULL DEFAULT '0',
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_api_param_map_scope ON reg_prov_api_param_map (provenance_code, closed_at);

CREATE TABLE reg_prov_batching_cfg (
    id BIGINT NOT NULL AUTO_INCREMENT,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin,
    operation_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    id_batch_size INTEGER,
    max_ids INTEGER,
    effective_from DATETIME(6),
    effective_to DATETIME(6),
    closed_at DATETIME(6),
    record_remarks JSON,
    version INTEGER NOT NULL DEFAULT '0',
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_batching_cfg_scope ON reg_prov_batching_cfg (provenance_code, closed_at);

CREATE TABLE reg_prov_credential (
    id BIGINT NOT NULL AUTO_INCREMENT,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin,
    operation_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    auth_type_code VARCHAR(32) COLLATE utf8mb4_0900_bin,
    credential_ref VARCHAR(200) COLLATE utf8mb4_0900_bin,
    username_ref VARCHAR(200) COLLATE utf8mb4_0900_bin,
    auth_location_code VARCHAR(32) COLLATE utf8mb4_0900_bin,
    auth_name VARCHAR(200) COLLATE utf8mb4_0900_bin,
    is_optional BOOL,
    token_url LONGTEXT COLLATE utf8mb4_0900_bin,
    oauth_scope LONGTEXT COLLATE utf8mb4_0900_bin,
    signing_hook VARCHAR(200) COLLATE utf8mb4_0900_bin,
    effective_from DATETIME(6),
    effective_to DATETIME(6),
    closed_at DATETIME(6),
    record_remarks JSON,
    version INTEGER NOT NULL DEFAULT '0',
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_credential_scope ON reg_prov_credential (provenance_code, closed_at);

CREATE TABLE reg_prov_endpoint_def (
    id BIGINT NOT NULL AUTO_INCREMENT,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_role_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    http_method_code VARCHAR(16) COLLATE utf8mb4_0900_bin NOT NULL,
    path_template LONGTEXT COLLATE utf8mb4_0900_bin NOT NULL,
    operations JSON NOT NULL,
    items_path LONGTEXT COLLATE utf8mb4_0900_bin NOT NULL,
    id_path LONGTEXT COLLATE utf8mb4_0900_bin,
    id_expr JSON,
    updated_at_path LONGTEXT COLLATE utf8mb4_0900_bin,
    updated_at_expr JSON,
    total_path LONGTEXT COLLATE utf8mb4_0900_bin,
    response_format_code VARCHAR(32) COLLATE utf8mb4_0900_bin,
    xml_namespaces JSON,
    response_time_zone VARCHAR(64) COLLATE utf8mb4_0900_bin,
    error_predicates JSON,
    empty_predicates JSON,
    record_error JSON,
    restricted BOOL,
    detail_endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin,
    query_text LONGTEXT COLLATE utf8mb4_0900_bin,
    body_format_code VARCHAR(32) COLLATE utf8mb4_0900_bin,
    body_template JSON,
    output_mapping JSON,
    defaults JSON,
    closed_at DATETIME(6),
    record_remarks JSON,
    version INTEGER NOT NULL DEFAULT '0',
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    version_expr JSON,
    deleted_predicate JSON,
    merged_into_expr JSON,
    refreshes_endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_endpoint_def_scope ON reg_prov_endpoint_def (provenance_code, closed_at);

CREATE TABLE reg_prov_expr_capability (
    id BIGINT NOT NULL AUTO_INCREMENT,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin,
    operation_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    field_code VARCHAR(64) COLLATE utf8mb4_0900_bin,
    ops JSON NOT NULL,
    matches JSON,
    negatable BOOL,
    max_length INTEGER,
    term_pattern LONGTEXT COLLATE utf8mb4_0900_bin,
    max_values INTEGER,
    effective_from DATETIME(6),
    effective_to DATETIME(6),
    closed_at DATETIME(6),
    record_remarks JSON,
    version INTEGER NOT NULL DEFAULT '0',
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_expr_capability_scope ON reg_prov_expr_capability (provenance_code, closed_at);

CREATE TABLE reg_prov_expr_render_rule (
    id BIGINT NOT NULL AUTO_INCREMENT,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin,
    operation_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    field_code VARCHAR(64) COLLATE utf8mb4_0900_bin,
    op_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    match_code VARCHAR(32) COLLATE utf8mb4_0900_bin,
    param_name VARCHAR(64) COLLATE utf8mb4_0900_bin,
    template LONGTEXT COLLATE utf8mb4_0900_bin,
    rule_params JSON,
    value_separator VARCHAR(32) COLLATE utf8mb4_0900_bin,
    rule_joiner VARCHAR(32) COLLATE utf8mb4_0900_bin,
    open_start VARCHAR(64) COLLATE utf8mb4_0900_bin,
    open_end VARCHAR(64) COLLATE utf8mb4_0900_bin,
    effective_from DATETIME(6),
    effective_to DATETIME(6),
    closed_at DATETIME(6),
    record_remarks JSON,
    version INTEGER NOT NULL DEFAULT '0',
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_expr_render_rule_scope ON reg_prov_expr_render_rule (provenance_code, closed_at);

CREATE TABLE reg_prov_http_cfg (
    id BIGINT NOT NULL AUTO_INCREMENT,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin,
    operation_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    base_url LONGTEXT COLLATE utf8mb4_0900_bin,
    headers JSON,
    query_params JSON,
    connect_timeout_ms INTEGER,
    read_timeout_ms INTEGER,
    allow_plain_http BOOL,
    user_agent LONGTEXT COLLATE utf8mb4_0900_bin,
    max_redirects INTEGER,
    proxy_url LONGTEXT COLLATE utf8mb4_0900_bin,
    verify_tls BOOL,
    ca_bundle LONGTEXT COLLATE utf8mb4_0900_bin,
    effective_from DATETIME(6),
    effective_to DATETIME(6),
    closed_at DATETIME(6),
    record_remarks JSON,
    version INTEGER NOT NULL DEFAULT '0',
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    deadline_ms INTEGER,
    max_body_bytes INTEGER,
    max_values INTEGER,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_http_cfg_scope ON reg_prov_http_cfg (provenance_code, closed_at);

CREATE TABLE reg_prov_pagination_cfg (
    id BIGINT NOT NULL AUTO_INCREMENT,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin,
    operation_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    pagination_type_code VARCHAR(32) COLLATE utf8mb4_0900_bin,
    position_code VARCHAR(32) COLLATE utf8mb4_0900_bin,
    page_size INTEGER,
    max_page_size INTEGER,
    max_page INTEGER,
    max_records INTEGER,
    initial_token LONGTEXT COLLATE utf8mb4_0900_bin,
    next_token_path LONGTEXT COLLATE utf8mb4_0900_bin,
    next_url_path LONGTEXT COLLATE utf8mb4_0900_bin,
    has_more_path LONGTEXT COLLATE utf8mb4_0900_bin,
    step_path LONGTEXT COLLATE utf8mb4_0900_bin,
    page_base INTEGER,
    token_ttl_seconds INTEGER,
    order_by LONGTEXT COLLATE utf8mb4_0900_bin,
    effective_from DATETIME(6),
    effective_to DATETIME(6),
    closed_at DATETIME(6),
    record_remarks JSON,
    version INTEGER NOT NULL DEFAULT '0',
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    ascending BOOL,
    tail_probe BOOL,
    next_hosts JSON,
    max_page_bytes INTEGER,
    empty_page_code VARCHAR(32) COLLATE utf8mb4_0900_bin,
    total_kind_code VARCHAR(32) COLLATE utf8mb4_0900_bin,
    max_shortfall INTEGER,
    restart_statuses JSON,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_pagination_cfg_scope ON reg_prov_pagination_cfg (provenance_code, closed_at);

CREATE TABLE reg_prov_rate_limit_cfg (
    id BIGINT NOT NULL AUTO_INCREMENT,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin,
    operation_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    refill_rate_per_sec DOUBLE,
    with_credential_per_sec DOUBLE,
    provider_cap_per_sec DOUBLE,
    burst_capacity INTEGER,
    daily_quota INTEGER,
    limit_header VARCHAR(64) COLLATE utf8mb4_0900_bin,
    remaining_header VARCHAR(64) COLLATE utf8mb4_0900_bin,
    reset_header VARCHAR(64) COLLATE utf8mb4_0900_bin,
    reset_kind_code VARCHAR(32) COLLATE utf8mb4_0900_bin,
    effective_from DATETIME(6),
    effective_to DATETIME(6),
    closed_at DATETIME(6),
    record_remarks JSON,
    version INTEGER NOT NULL DEFAULT '0',
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    permit_cost INTEGER,
    max_concurrency INTEGER,
    hourly_quota INTEGER,
    quota_cost INTEGER,
    quota_margin DOUBLE,
    quota_reset_hour INTEGER,
    query_costs JSON,
    scope_code VARCHAR(32) COLLATE utf8mb4_0900_bin,
    share_name VARCHAR(64) COLLATE utf8mb4_0900_bin,
    demote_factor DOUBLE,
    cool_down_ms INTEGER,
    open_time_ms INTEGER,
    interval_header VARCHAR(64) COLLATE utf8mb4_0900_bin,
    concurrency_header VARCHAR(64) COLLATE utf8mb4_0900_bin,
    refusal_statuses JSON,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_rate_limit_cfg_scope ON reg_prov_rate_limit_cfg (provenance_code, closed_at);

CREATE TABLE reg_prov_retry_cfg (
    id BIGINT NOT NULL AUTO_INCREMENT,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin,
    operation_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    backoff_policy_code VARCHAR(32) COLLATE utf8mb4_0900_bin,
    max_attempts INTEGER,
    initial_delay_ms INTEGER,
    max_delay_ms INTEGER,
    multiplier DOUBLE,
    jitter DOUBLE,
    retry_statuses JSON,
    effective_from DATETIME(6),
    effective_to DATETIME(6),
    closed_at DATETIME(6),
    record_remarks JSON,
    version INTEGER NOT NULL DEFAULT '0',
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_retry_cfg_scope ON reg_prov_retry_cfg (provenance_code, closed_at);

CREATE TABLE reg_prov_slicing_cfg (
    id BIGINT NOT NULL AUTO_INCREMENT,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin,
    operation_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    slice_strategy_code VARCHAR(32) COLLATE utf8mb4_0900_bin,
    target_records INTEGER,
    probe_budget INTEGER,
    split_field_name VARCHAR(64) COLLATE utf8mb4_0900_bin,
    split_max BIGINT,
    max_queued INTEGER,
    id_buckets INTEGER,
    effective_from DATETIME(6),
    effective_to DATETIME(6),
    closed_at DATETIME(6),
    record_remarks JSON,
    version INTEGER NOT NULL DEFAULT '0',
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_slicing_cfg_scope ON reg_prov_slicing_cfg (provenance_code, closed_at);

CREATE TABLE reg_prov_window_offset_cfg (
    id BIGINT NOT NULL AUTO_INCREMENT,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    endpoint_name VARCHAR(64) COLLATE utf8mb4_0900_bin,
    operation_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    window_mode_code VARCHAR(32) COLLATE utf8mb4_0900_bin,
    offset_field_name VARCHAR(64) COLLATE utf8mb4_0900_bin,
    watermark_key VARCHAR(64) COLLATE utf8mb4_0900_bin,
    watermark_lag_seconds INTEGER,
    lookback_seconds INTEGER,
    recheck_seconds INTEGER,
    window_size_seconds INTEGER,
    step_seconds INTEGER,
    min_window_seconds INTEGER,
    max_window_seconds INTEGER,
    overlap_seconds INTEGER,
    baseline_at DATETIME(6),
    calendar_align_to VARCHAR(32) COLLATE utf8mb4_0900_bin,
    time_unit_code VARCHAR(32) COLLATE utf8mb4_0900_bin,
    time_format VARCHAR(64),
    time_zone VARCHAR(64) COLLATE utf8mb4_0900_bin,
    upper_inclusive BOOL,
    stored_precision_code VARCHAR(32) COLLATE utf8mb4_0900_bin,
    supports_updated_since BOOL,
    stable_order BOOL,
    effective_from DATETIME(6),
    effective_to DATETIME(6),
    closed_at DATETIME(6),
    record_remarks JSON,
    version INTEGER NOT NULL DEFAULT '0',
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_window_offset_cfg_scope ON reg_prov_window_offset_cfg (provenance_code, closed_at);

CREATE TABLE reg_provenance (
    id BIGINT NOT NULL AUTO_INCREMENT,
    provenance_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    provenance_name VARCHAR(200) NOT NULL,
    description LONGTEXT COLLATE utf8mb4_0900_bin NOT NULL,
    docs_url LONGTEXT COLLATE utf8mb4_0900_bin,
    id_normalizer_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    on_equal_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL,
    output_mapping JSON NOT NULL,
    defaults JSON,
    closed_at DATETIME(6),
    record_remarks JSON,
    version INTEGER NOT NULL DEFAULT '0',
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    on_refresh_code VARCHAR(32) COLLATE utf8mb4_0900_bin,
    id_pattern LONGTEXT COLLATE utf8mb4_0900_bin,
    drift_share DOUBLE,
    drift_records INTEGER,
    PRIMARY KEY (id)
);

CREATE INDEX idx_provenance_code ON reg_provenance (provenance_code, closed_at);

CREATE TABLE sys_dict_item (
    id BIGINT NOT NULL AUTO_INCREMENT,
    type_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    item_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    item_name VARCHAR(200) NOT NULL,
    sort_no INTEGER NOT NULL,
    record_remarks JSON,
    version INTEGER NOT NULL DEFAULT '0',
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_dict_item UNIQUE (type_code, item_code)
);

CREATE TABLE sys_dict_item_alias (
    id BIGINT NOT NULL AUTO_INCREMENT,
    type_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    item_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    alias_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    record_remarks JSON,
    version INTEGER NOT NULL DEFAULT '0',
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_dict_alias UNIQUE (type_code, alias_code)
);

CREATE TABLE sys_dict_type (
    id BIGINT NOT NULL AUTO_INCREMENT,
    type_code VARCHAR(64) COLLATE utf8mb4_0900_bin NOT NULL,
    type_name VARCHAR(200) NOT NULL,
    record_remarks JSON,
    version INTEGER NOT NULL DEFAULT '0',
    created_at DATETIME(6) NOT NULL,
    updated_at DATETIME(6) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_dict_type UNIQUE (type_code)
);
