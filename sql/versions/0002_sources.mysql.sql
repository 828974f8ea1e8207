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
    PRIMARY KEY (id)
);

CREATE INDEX idx_provenance_code ON reg_provenance (provenance_code, closed_at);
