CREATE TABLE ing_arrival (
    id INTEGER NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    endpoint_name VARCHAR(64) NOT NULL,
    operation_code VARCHAR(32) NOT NULL,
    namespace_key VARCHAR(128) NOT NULL,
    arrived_on BIGINT NOT NULL,
    received_count BIGINT NOT NULL,
    late_count BIGINT NOT NULL,
    provider_late_seconds INTEGER NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_arrival_day UNIQUE (provenance_code, operation_code, namespace_key, arrived_on)
);

CREATE TABLE ing_cursor (
    id INTEGER NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    endpoint_name VARCHAR(64) NOT NULL,
    operation_code VARCHAR(32) NOT NULL,
    cursor_key VARCHAR(64) NOT NULL,
    namespace_scope_code VARCHAR(32) NOT NULL,
    namespace_key VARCHAR(128) NOT NULL,
    cursor_type_code VARCHAR(32) NOT NULL,
    direction_code VARCHAR(32) NOT NULL,
    cursor_value TEXT NOT NULL,
    normalized_instant BIGINT,
    normalized_numeric NUMERIC(38, 0),
    anchor_instant BIGINT,
    settled_instant BIGINT,
    observed_max_value TEXT,
    schedule_instance_id INTEGER,
    plan_id INTEGER,
    slice_id INTEGER,
    task_id INTEGER,
    run_id INTEGER,
    batch_id INTEGER,
    expr_hash VARCHAR(64),
    version INTEGER DEFAULT '0' NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    bound_from BIGINT,
    bound_to BIGINT,
    is_descending SMALLINT DEFAULT '0' NOT NULL,
    lag_seconds INTEGER,
    lag_changed_at BIGINT,
    PRIMARY KEY (id),
    CONSTRAINT uk_cursor_ns UNIQUE (provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key)
);

CREATE INDEX idx_cursor_id ON ing_cursor (provenance_code, operation_code, normalized_numeric);

CREATE INDEX idx_cursor_time ON ing_cursor (provenance_code, operation_code, normalized_instant);

CREATE TABLE ing_cursor_event (
    id INTEGER NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    endpoint_name VARCHAR(64) NOT NULL,
    operation_code VARCHAR(32) NOT NULL,
    cursor_key VARCHAR(64) NOT NULL,
    namespace_scope_code VARCHAR(32) NOT NULL,
    namespace_key VARCHAR(128) NOT NULL,
    cursor_type_code VARCHAR(32) NOT NULL,
    direction_code VARCHAR(32) NOT NULL,
    event_type VARCHAR(32) NOT NULL,
    window_from BIGINT,
    window_to BIGINT,
    range JSON,
    as_of BIGINT,
    prev_value TEXT,
    new_value TEXT,
    prev_instant BIGINT,
    new_instant BIGINT,
    prev_numeric NUMERIC(38, 0),
    new_numeric NUMERIC(38, 0),
    observed_max_value TEXT,
    idempotent_key VARCHAR(64) NOT NULL,
    schedule_instance_id INTEGER,
    plan_id INTEGER NOT NULL,
    slice_id INTEGER,
    task_id INTEGER,
    run_id INTEGER,
    batch_id INTEGER,
    expr_hash VARCHAR(64),
    record_remarks JSON,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
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
    id INTEGER NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    endpoint_name VARCHAR(64) NOT NULL,
    expr_hash VARCHAR(64) NOT NULL,
    window_from BIGINT NOT NULL,
    window_to BIGINT NOT NULL,
    record_count BIGINT NOT NULL,
    method_code VARCHAR(32) NOT NULL,
    created_at BIGINT NOT NULL,
    range JSON,
    PRIMARY KEY (id)
);

CREATE INDEX idx_estimate_window ON ing_estimate (provenance_code, endpoint_name, expr_hash, window_from);

CREATE TABLE ing_gate_use (
    id INTEGER NOT NULL,
    rate_key VARCHAR(200) NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    endpoint_name VARCHAR(64) NOT NULL,
    operation_code VARCHAR(32) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_gate_use UNIQUE (rate_key, provenance_code, endpoint_name, operation_code)
);

CREATE INDEX idx_gate_use_partition ON ing_gate_use (provenance_code, endpoint_name, operation_code);

CREATE TABLE ing_item (
    id INTEGER NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    endpoint_name VARCHAR(64) NOT NULL,
    provider_id VARCHAR(512) NOT NULL,
    source_updated_at BIGINT NOT NULL,
    source_version VARCHAR(128),
    payload TEXT NOT NULL,
    payload_hash VARCHAR(64) NOT NULL,
    record JSON NOT NULL,
    expr_hash VARCHAR(64) NOT NULL,
    state_code VARCHAR(32) NOT NULL,
    refresh_checked_at BIGINT NOT NULL,
    first_run_id INTEGER NOT NULL,
    first_batch_no INTEGER NOT NULL,
    last_run_id INTEGER NOT NULL,
    last_batch_no INTEGER NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    gone_at BIGINT,
    gone_reason_code VARCHAR(64),
    merged_into VARCHAR(512),
    PRIMARY KEY (id),
    CONSTRAINT uk_item_business UNIQUE (provenance_code, endpoint_name, provider_id)
);

CREATE INDEX idx_item_updated ON ing_item (provenance_code, endpoint_name, source_updated_at);

CREATE TABLE ing_outbox_message (
    id INTEGER NOT NULL,
    dedup_key VARCHAR(64) NOT NULL,
    ordering_key VARCHAR(64) NOT NULL,
    topic VARCHAR(128) NOT NULL,
    payload JSON NOT NULL,
    status_code VARCHAR(32) NOT NULL,
    attempts INTEGER DEFAULT '0' NOT NULL,
    lease_owner VARCHAR(200),
    leased_until BIGINT,
    created_at BIGINT NOT NULL,
    sent_at BIGINT,
    next_attempt_at BIGINT,
    last_error TEXT,
    PRIMARY KEY (id),
    CONSTRAINT uk_outbox_dedup UNIQUE (dedup_key)
);

CREATE INDEX idx_outbox_dead ON ing_outbox_message (status_code, id) WHERE status_code = 'DEAD';

CREATE INDEX idx_outbox_due ON ing_outbox_message (status_code, next_attempt_at, id) WHERE status_code = 'PENDING';

CREATE INDEX idx_outbox_order ON ing_outbox_message (ordering_key, status_code, id) WHERE status_code = 'PENDING';

CREATE INDEX idx_outbox_sent ON ing_outbox_message (status_code, sent_at, id) WHERE status_code = 'SENT';

CREATE TABLE ing_partition_control (
    id INTEGER NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    endpoint_name VARCHAR(64) NOT NULL,
    operation_code VARCHAR(32) NOT NULL,
    control_code VARCHAR(32) NOT NULL,
    reason TEXT,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    claimed_at BIGINT,
    closed_until BIGINT,
    PRIMARY KEY (id),
    CONSTRAINT uk_partition_control UNIQUE (provenance_code, endpoint_name, operation_code)
);

CREATE TABLE ing_plan (
    id INTEGER NOT NULL,
    schedule_instance_id INTEGER NOT NULL,
    plan_key VARCHAR(200) NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    endpoint_name VARCHAR(64) NOT NULL,
    operation_code VARCHAR(32) NOT NULL,
    window_from BIGINT NOT NULL,
    window_to BIGINT NOT NULL,
    slice_strategy_code VARCHAR(32) NOT NULL,
    slice_params JSON NOT NULL,
    expr_proto_hash VARCHAR(64) NOT NULL,
    expr_proto_snapshot JSON NOT NULL,
    provenance_config_snapshot JSON NOT NULL,
    spec_fingerprint VARCHAR(64) NOT NULL,
    status_code VARCHAR(32) NOT NULL,
    record_remarks JSON,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_plan_key UNIQUE (plan_key)
);

CREATE INDEX idx_plan_expr ON ing_plan (expr_proto_hash);

CREATE INDEX idx_plan_prov_op ON ing_plan (provenance_code, operation_code);

CREATE INDEX idx_plan_srcop_time ON ing_plan (provenance_code, operation_code, created_at);

CREATE TABLE ing_plan_slice (
    id INTEGER NOT NULL,
    plan_id INTEGER NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    endpoint_name VARCHAR(64) NOT NULL,
    operation_code VARCHAR(32) NOT NULL,
    slice_no INTEGER NOT NULL,
    slice_signature_hash VARCHAR(64) NOT NULL,
    slice_spec JSON NOT NULL,
    expr_hash VARCHAR(64) NOT NULL,
    expr_snapshot JSON NOT NULL,
    status_code VARCHAR(32) NOT NULL,
    record_remarks JSON,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_slice_sig UNIQUE (plan_id, slice_signature_hash)
);

CREATE INDEX idx_slice_prov_status ON ing_plan_slice (provenance_code, status_code);

CREATE INDEX idx_slice_status ON ing_plan_slice (plan_id, status_code);

CREATE TABLE ing_quarantine (
    id INTEGER NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    endpoint_name VARCHAR(64) NOT NULL,
    operation_code VARCHAR(32) NOT NULL,
    provider_id VARCHAR(512),
    reason_code VARCHAR(64) NOT NULL,
    json_path VARCHAR(400) NOT NULL,
    fragment TEXT NOT NULL,
    fragment_hash VARCHAR(64) NOT NULL,
    plan_id INTEGER NOT NULL,
    slice_id INTEGER NOT NULL,
    task_id INTEGER NOT NULL,
    run_id INTEGER NOT NULL,
    batch_no INTEGER NOT NULL,
    state_code VARCHAR(32) NOT NULL,
    seen_count INTEGER NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    record_remarks JSON,
    PRIMARY KEY (id),
    CONSTRAINT uk_quarantine UNIQUE (provenance_code, endpoint_name, fragment_hash, reason_code)
);

CREATE INDEX idx_quarantine_item ON ing_quarantine (provenance_code, endpoint_name, provider_id);

CREATE INDEX idx_quarantine_state ON ing_quarantine (provenance_code, endpoint_name, state_code);

CREATE TABLE ing_quota_ledger (
    id INTEGER NOT NULL,
    rate_key VARCHAR(200) NOT NULL,
    quota_window_from BIGINT NOT NULL,
    quota_window_to BIGINT NOT NULL,
    used_count BIGINT NOT NULL,
    reserved_count BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_quota_window UNIQUE (rate_key, quota_window_from, quota_window_to)
);

CREATE TABLE ing_quota_reservation (
    id INTEGER NOT NULL,
    plan_id INTEGER NOT NULL,
    rate_key VARCHAR(200) NOT NULL,
    quota_window_from BIGINT NOT NULL,
    quota_window_to BIGINT NOT NULL,
    priority INTEGER NOT NULL,
    reserved_count BIGINT NOT NULL,
    used_count BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_quota_reservation UNIQUE (plan_id, rate_key, quota_window_from, quota_window_to)
);

CREATE INDEX idx_quota_reservation_key ON ing_quota_reservation (rate_key, quota_window_to);

CREATE TABLE ing_rate_gate (
    rate_key VARCHAR(200) NOT NULL,
    tat BIGINT NOT NULL,
    cooldown_until BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    rate_per_sec DOUBLE,
    last_changes JSON,
    counted_at BIGINT,
    tokens DOUBLE,
    rate_now DOUBLE,
    warm_from BIGINT,
    changed_at BIGINT,
    step DOUBLE,
    rate_before DOUBLE,
    decreases INTEGER DEFAULT '0' NOT NULL,
    stated_rate DOUBLE,
    operator_rate DOUBLE,
    stated_concurrency INTEGER,
    closed_until BIGINT,
    closed_reason VARCHAR(32),
    failures INTEGER DEFAULT '0' NOT NULL,
    failed_by JSON,
    success_at BIGINT,
    circuit_code VARCHAR(32) DEFAULT 'CLOSED' NOT NULL,
    circuit_until BIGINT,
    circuit_seconds DOUBLE DEFAULT '0' NOT NULL,
    low_since BIGINT,
    PRIMARY KEY (rate_key)
);

CREATE TABLE ing_reslice_request (
    id INTEGER NOT NULL,
    plan_id INTEGER NOT NULL,
    slice_id INTEGER NOT NULL,
    task_id INTEGER NOT NULL,
    run_id INTEGER NOT NULL,
    remaining_from BIGINT NOT NULL,
    remaining_to BIGINT NOT NULL,
    range JSON,
    reason_code VARCHAR(64) NOT NULL,
    status_code VARCHAR(32) NOT NULL,
    idempotent_key VARCHAR(64) NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_reslice_idem UNIQUE (idempotent_key)
);

CREATE INDEX idx_reslice_status ON ing_reslice_request (status_code, id);

CREATE INDEX idx_reslice_task ON ing_reslice_request (task_id);

CREATE TABLE ing_schedule_instance (
    id INTEGER NOT NULL,
    scheduler_code VARCHAR(32) NOT NULL,
    scheduler_job_id VARCHAR(200),
    scheduler_log_id VARCHAR(200) NOT NULL,
    trigger_type_code VARCHAR(32) NOT NULL,
    triggered_at BIGINT NOT NULL,
    trigger_params JSON NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    endpoint_name VARCHAR(64) NOT NULL,
    operation_code VARCHAR(32) NOT NULL,
    expr_proto_hash VARCHAR(64),
    expr_proto_snapshot JSON,
    record_remarks JSON,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_sched_log UNIQUE (scheduler_code, scheduler_log_id)
);

CREATE INDEX idx_sched_src ON ing_schedule_instance (scheduler_code, scheduler_job_id, scheduler_log_id);

CREATE TABLE ing_schema_info (
    id INTEGER NOT NULL,
    schema_level INTEGER NOT NULL,
    oldest_code_level INTEGER NOT NULL,
    purpose_code VARCHAR(32),
    PRIMARY KEY (id)
);

CREATE TABLE ing_signal (
    id INTEGER NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    endpoint_name VARCHAR(64) NOT NULL,
    operation_code VARCHAR(32) NOT NULL,
    provider_id VARCHAR(512) NOT NULL,
    signal_code VARCHAR(64) NOT NULL,
    campaign VARCHAR(128) NOT NULL,
    state_code VARCHAR(32) NOT NULL,
    record_remarks JSON,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_signal UNIQUE (campaign, provenance_code, endpoint_name, provider_id)
);

CREATE INDEX idx_signal_open ON ing_signal (provenance_code, endpoint_name, state_code, provider_id);

CREATE TABLE ing_task (
    id INTEGER NOT NULL,
    schedule_instance_id INTEGER NOT NULL,
    plan_id INTEGER NOT NULL,
    slice_id INTEGER NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    endpoint_name VARCHAR(64) NOT NULL,
    operation_code VARCHAR(32) NOT NULL,
    namespace_key VARCHAR(128) NOT NULL,
    credential_id INTEGER,
    params JSON NOT NULL,
    window_from BIGINT NOT NULL,
    window_to BIGINT NOT NULL,
    expr_hash VARCHAR(64) NOT NULL,
    idempotent_key VARCHAR(64) NOT NULL,
    priority SMALLINT NOT NULL,
    scheduled_at BIGINT NOT NULL,
    status_code VARCHAR(32) NOT NULL,
    lease_owner VARCHAR(200),
    leased_until BIGINT,
    lease_count INTEGER DEFAULT '0' NOT NULL,
    fence_no BIGINT DEFAULT '0' NOT NULL,
    expiry_count INTEGER DEFAULT '0' NOT NULL,
    attempt_count INTEGER DEFAULT '0' NOT NULL,
    checkpoint JSON,
    last_error JSON,
    started_at BIGINT,
    finished_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    blamed_count INTEGER DEFAULT '0' NOT NULL,
    expired_at BIGINT,
    expired_owner VARCHAR(200),
    PRIMARY KEY (id),
    CONSTRAINT uk_task_idem UNIQUE (idempotent_key)
);

CREATE INDEX idx_task_cred ON ing_task (credential_id);

CREATE INDEX idx_task_expired ON ing_task (expired_at);

CREATE INDEX idx_task_lease ON ing_task (status_code, leased_until);

CREATE INDEX idx_task_live ON ing_task (namespace_key, status_code, window_from);

CREATE INDEX idx_task_plan ON ing_task (plan_id, status_code);

CREATE INDEX idx_task_queue ON ing_task (status_code, provenance_code, endpoint_name, operation_code, priority, scheduled_at, id) WHERE status_code = 'QUEUED';

CREATE INDEX idx_task_slice ON ing_task (slice_id);

CREATE INDEX idx_task_src_op ON ing_task (provenance_code, operation_code, status_code);

CREATE TABLE ing_task_run (
    id INTEGER NOT NULL,
    schedule_instance_id INTEGER NOT NULL,
    plan_id INTEGER NOT NULL,
    slice_id INTEGER NOT NULL,
    task_id INTEGER NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    endpoint_name VARCHAR(64) NOT NULL,
    operation_code VARCHAR(32) NOT NULL,
    attempt_no INTEGER NOT NULL,
    fence_no BIGINT NOT NULL,
    lease_owner VARCHAR(200) NOT NULL,
    flow_run_id VARCHAR(64),
    flow_task_run_id VARCHAR(64),
    status_code VARCHAR(32) NOT NULL,
    checkpoint JSON,
    stats JSON,
    error JSON,
    window_from BIGINT NOT NULL,
    window_to BIGINT NOT NULL,
    expr_hash VARCHAR(64) NOT NULL,
    started_at BIGINT NOT NULL,
    finished_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_run_attempt UNIQUE (task_id, attempt_no)
);

CREATE INDEX idx_run_flow ON ing_task_run (flow_run_id);

CREATE INDEX idx_run_prov_op_status ON ing_task_run (provenance_code, operation_code, status_code);

CREATE INDEX idx_run_task ON ing_task_run (task_id, status_code, created_at);

CREATE TABLE ing_task_run_batch (
    id INTEGER NOT NULL,
    plan_id INTEGER NOT NULL,
    slice_id INTEGER NOT NULL,
    task_id INTEGER NOT NULL,
    run_id INTEGER NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    endpoint_name VARCHAR(64) NOT NULL,
    operation_code VARCHAR(32) NOT NULL,
    batch_no INTEGER NOT NULL,
    page_no INTEGER NOT NULL,
    page_size INTEGER NOT NULL,
    before_token TEXT,
    after_token TEXT,
    before_hash VARCHAR(64) NOT NULL,
    next_url TEXT,
    idempotent_key VARCHAR(64) NOT NULL,
    expr_hash VARCHAR(64) NOT NULL,
    status_code VARCHAR(32) NOT NULL,
    record_count INTEGER DEFAULT '0' NOT NULL,
    id_hashes BLOB,
    request_digest JSON,
    response_digest JSON,
    stats JSON,
    error JSON,
    asked_at BIGINT NOT NULL,
    committed_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
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
    id INTEGER NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    field_code VARCHAR(64) NOT NULL,
    field_type_code VARCHAR(32) NOT NULL,
    description TEXT,
    closed_at BIGINT,
    record_remarks JSON,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_expr_field_dict_scope ON reg_expr_field_dict (provenance_code, closed_at);

CREATE TABLE reg_prov_api_param_map (
    id INTEGER NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    endpoint_name VARCHAR(64),
    operation_code VARCHAR(32) NOT NULL,
    param_name VARCHAR(64) NOT NULL,
    location_code VARCHAR(32) NOT NULL,
    std_key VARCHAR(64) NOT NULL,
    default_value TEXT,
    functions JSON,
    is_required BOOLEAN,
    effective_from BIGINT,
    effective_to BIGINT,
    closed_at BIGINT,
    record_remarks JSON,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_api_param_map_scope ON reg_prov_api_param_map (provenance_code, closed_at);

CREATE TABLE reg_prov_batching_cfg (
    id INTEGER NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    endpoint_name VARCHAR(64),
    operation_code VARCHAR(32) NOT NULL,
    id_batch_size INTEGER,
    max_ids INTEGER,
    effective_from BIGINT,
    effective_to BIGINT,
    closed_at BIGINT,
    record_remarks JSON,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_batching_cfg_scope ON reg_prov_batching_cfg (provenance_code, closed_at);

CREATE TABLE reg_prov_credential (
    id INTEGER NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    endpoint_name VARCHAR(64),
    operation_code VARCHAR(32) NOT NULL,
    auth_type_code VARCHAR(32),
    credential_ref VARCHAR(200),
    username_ref VARCHAR(200),
    auth_location_code VARCHAR(32),
    auth_name VARCHAR(200),
    is_optional BOOLEAN,
    token_url TEXT,
    oauth_scope TEXT,
    signing_hook VARCHAR(200),
    effective_from BIGINT,
    effective_to BIGINT,
    closed_at BIGINT,
    record_remarks JSON,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_credential_scope ON reg_prov_credential (provenance_code, closed_at);

CREATE TABLE reg_prov_endpoint_def (
    id INTEGER NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    endpoint_name VARCHAR(64) NOT NULL,
    endpoint_role_code VARCHAR(32) NOT NULL,
    http_method_code VARCHAR(16) NOT NULL,
    path_template TEXT NOT NULL,
    operations JSON NOT NULL,
    items_path TEXT NOT NULL,
    id_path TEXT,
    id_expr JSON,
    updated_at_path TEXT,
    updated_at_expr JSON,
    total_path TEXT,
    response_format_code VARCHAR(32),
    xml_namespaces JSON,
    response_time_zone VARCHAR(64),
    error_predicates JSON,
    empty_predicates JSON,
    record_error JSON,
    restricted BOOLEAN,
    detail_endpoint_name VARCHAR(64),
    query_text TEXT,
    body_format_code VARCHAR(32),
    body_template JSON,
    output_mapping JSON,
    defaults JSON,
    closed_at BIGINT,
    record_remarks JSON,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    version_expr JSON,
    deleted_predicate JSON,
    merged_into_expr JSON,
    refreshes_endpoint_name VARCHAR(64),
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_endpoint_def_scope ON reg_prov_endpoint_def (provenance_code, closed_at);

CREATE TABLE reg_prov_expr_capability (
    id INTEGER NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    endpoint_name VARCHAR(64),
    operation_code VARCHAR(32) NOT NULL,
    field_code VARCHAR(64),
    ops JSON NOT NULL,
    matches JSON,
    negatable BOOLEAN,
    max_length INTEGER,
    term_pattern TEXT,
    max_values INTEGER,
    effective_from BIGINT,
    effective_to BIGINT,
    closed_at BIGINT,
    record_remarks JSON,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_expr_capability_scope ON reg_prov_expr_capability (provenance_code, closed_at);

CREATE TABLE reg_prov_expr_render_rule (
    id INTEGER NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    endpoint_name VARCHAR(64),
    operation_code VARCHAR(32) NOT NULL,
    field_code VARCHAR(64),
    op_code VARCHAR(32) NOT NULL,
    match_code VARCHAR(32),
    param_name VARCHAR(64),
    template TEXT,
    rule_params JSON,
    value_separator VARCHAR(32),
    rule_joiner VARCHAR(32),
    open_start VARCHAR(64),
    open_end VARCHAR(64),
    effective_from BIGINT,
    effective_to BIGINT,
    closed_at BIGINT,
    record_remarks JSON,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_expr_render_rule_scope ON reg_prov_expr_render_rule (provenance_code, closed_at);

CREATE TABLE reg_prov_http_cfg (
    id INTEGER NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    endpoint_name VARCHAR(64),
    operation_code VARCHAR(32) NOT NULL,
    base_url TEXT,
    headers JSON,
    query_params JSON,
    connect_timeout_ms INTEGER,
    read_timeout_ms INTEGER,
    allow_plain_http BOOLEAN,
    user_agent TEXT,
    max_redirects INTEGER,
    proxy_url TEXT,
    verify_tls BOOLEAN,
    ca_bundle TEXT,
    effective_from BIGINT,
    effective_to BIGINT,
    closed_at BIGINT,
    record_remarks JSON,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    deadline_ms INTEGER,
    max_body_bytes INTEGER,
    max_values INTEGER,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_http_cfg_scope ON reg_prov_http_cfg (provenance_code, closed_at);

CREATE TABLE reg_prov_pagination_cfg (
    id INTEGER NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    endpoint_name VARCHAR(64),
    operation_code VARCHAR(32) NOT NULL,
    pagination_type_code VARCHAR(32),
    position_code VARCHAR(32),
    page_size INTEGER,
    max_page_size INTEGER,
    max_page INTEGER,
    max_records INTEGER,
    initial_token TEXT,
    next_token_path TEXT,
    next_url_path TEXT,
    has_more_path TEXT,
    step_path TEXT,
    page_base INTEGER,
    token_ttl_seconds INTEGER,
    order_by TEXT,
    effective_from BIGINT,
    effective_to BIGINT,
    closed_at BIGINT,
    record_remarks JSON,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    ascending BOOLEAN,
    tail_probe BOOLEAN,
    next_hosts JSON,
    max_page_bytes INTEGER,
    empty_page_code VARCHAR(32),
    total_kind_code VARCHAR(32),
    max_shortfall INTEGER,
    restart_statuses JSON,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_pagination_cfg_scope ON reg_prov_pagination_cfg (provenance_code, closed_at);

CREATE TABLE reg_prov_rate_limit_cfg (
    id INTEGER NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    endpoint_name VARCHAR(64),
    operation_code VARCHAR(32) NOT NULL,
    refill_rate_per_sec DOUBLE,
    with_credential_per_sec DOUBLE,
    provider_cap_per_sec DOUBLE,
    burst_capacity INTEGER,
    daily_quota INTEGER,
    limit_header VARCHAR(64),
    remaining_header VARCHAR(64),
    reset_header VARCHAR(64),
    reset_kind_code VARCHAR(32),
    effective_from BIGINT,
    effective_to BIGINT,
    closed_at BIGINT,
    record_remarks JSON,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    permit_cost INTEGER,
    max_concurrency INTEGER,
    hourly_quota INTEGER,
    quota_cost INTEGER,
    quota_margin DOUBLE,
    quota_reset_hour INTEGER,
    query_costs JSON,
    scope_code VARCHAR(32),
    share_name VARCHAR(64),
    demote_factor DOUBLE,
    cool_down_ms INTEGER,
    open_time_ms INTEGER,
    interval_header VARCHAR(64),
    concurrency_header VARCHAR(64),
    refusal_statuses JSON,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_rate_limit_cfg_scope ON reg_prov_rate_limit_cfg (provenance_code, closed_at);

CREATE TABLE reg_prov_retry_cfg (
    id INTEGER NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    endpoint_name VARCHAR(64),
    operation_code VARCHAR(32) NOT NULL,
    backoff_policy_code VARCHAR(32),
    max_attempts INTEGER,
    initial_delay_ms INTEGER,
    max_delay_ms INTEGER,
    multiplier DOUBLE,
    jitter DOUBLE,
    retry_statuses JSON,
    effective_from BIGINT,
    effective_to BIGINT,
    closed_at BIGINT,
    record_remarks JSON,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_retry_cfg_scope ON reg_prov_retry_cfg (provenance_code, closed_at);

CREATE TABLE reg_prov_slicing_cfg (
    id INTEGER NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    endpoint_name VARCHAR(64),
    operation_code VARCHAR(32) NOT NULL,
    slice_strategy_code VARCHAR(32),
    target_records INTEGER,
    probe_budget INTEGER,
    split_field_name VARCHAR(64),
    split_max BIGINT,
    max_queued INTEGER,
    id_buckets INTEGER,
    effective_from BIGINT,
    effective_to BIGINT,
    closed_at BIGINT,
    record_remarks JSON,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_slicing_cfg_scope ON reg_prov_slicing_cfg (provenance_code, closed_at);

CREATE TABLE reg_prov_window_offset_cfg (
    id INTEGER NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    endpoint_name VARCHAR(64),
    operation_code VARCHAR(32) NOT NULL,
    window_mode_code VARCHAR(32),
    offset_field_name VARCHAR(64),
    watermark_key VARCHAR(64),
    watermark_lag_seconds INTEGER,
    lookback_seconds INTEGER,
    recheck_seconds INTEGER,
    window_size_seconds INTEGER,
    step_seconds INTEGER,
    min_window_seconds INTEGER,
    max_window_seconds INTEGER,
    overlap_seconds INTEGER,
    baseline_at BIGINT,
    calendar_align_to VARCHAR(32),
    time_unit_code VARCHAR(32),
    time_format VARCHAR(64),
    time_zone VARCHAR(64),
    upper_inclusive BOOLEAN,
    stored_precision_code VARCHAR(32),
    supports_updated_since BOOLEAN,
    stable_order BOOLEAN,
    effective_from BIGINT,
    effective_to BIGINT,
    closed_at BIGINT,
    record_remarks JSON,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (id)
);

CREATE INDEX idx_prov_window_offset_cfg_scope ON reg_prov_window_offset_cfg (provenance_code, closed_at);

CREATE TABLE reg_provenance (
    id INTEGER NOT NULL,
    provenance_code VARCHAR(64) NOT NULL,
    provenance_name VARCHAR(200) NOT NULL,
    description TEXT NOT NULL,
    docs_url TEXT,
    id_normalizer_code VARCHAR(32) NOT NULL,
    on_equal_code VARCHAR(32) NOT NULL,
    output_mapping JSON NOT NULL,
    defaults JSON,
    closed_at BIGINT,
    record_remarks JSON,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    on_refresh_code VARCHAR(32),
    id_pattern TEXT,
    drift_share DOUBLE,
    drift_records INTEGER,
    PRIMARY KEY (id)
);

CREATE INDEX idx_provenance_code ON reg_provenance (provenance_code, closed_at);

CREATE TABLE sys_dict_item (
    id INTEGER NOT NULL,
    type_code VARCHAR(64) NOT NULL,
    item_code VARCHAR(64) NOT NULL,
    item_name VARCHAR(200) NOT NULL,
    sort_no INTEGER NOT NULL,
    record_remarks JSON,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_dict_item UNIQUE (type_code, item_code)
);

CREATE TABLE sys_dict_item_alias (
    id INTEGER NOT NULL,
    type_code VARCHAR(64) NOT NULL,
    item_code VARCHAR(64) NOT NULL,
    alias_code VARCHAR(64) NOT NULL,
    record_remarks JSON,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_dict_alias UNIQUE (type_code, alias_code)
);

CREATE TABLE sys_dict_type (
    id INTEGER NOT NULL,
    type_code VARCHAR(64) NOT NULL,
    type_name VARCHAR(200) NOT NULL,
    record_remarks JSON,
    version INTEGER DEFAULT '0' NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uk_dict_type UNIQUE (type_code)
);
