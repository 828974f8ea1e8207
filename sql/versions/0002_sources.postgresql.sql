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
    PRIMARY KEY (id)
);

CREATE INDEX idx_provenance_code ON reg_provenance (provenance_code, closed_at);
