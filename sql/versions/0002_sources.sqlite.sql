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
    PRIMARY KEY (id)
);

CREATE INDEX idx_provenance_code ON reg_provenance (provenance_code, closed_at);
