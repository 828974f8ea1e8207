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

ALTER TABLE ing_cursor ADD COLUMN bound_from TIMESTAMP(6) WITH TIME ZONE;

ALTER TABLE ing_cursor ADD COLUMN bound_to TIMESTAMP(6) WITH TIME ZONE;

ALTER TABLE ing_cursor ADD COLUMN is_descending SMALLINT DEFAULT '0' NOT NULL;

ALTER TABLE ing_cursor ADD COLUMN lag_seconds INTEGER;

ALTER TABLE ing_cursor ADD COLUMN lag_changed_at TIMESTAMP(6) WITH TIME ZONE;

ALTER TABLE ing_estimate ADD COLUMN range JSONB;

CREATE INDEX idx_cur_evt_from ON ing_cursor_event (provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key, window_from);

CREATE INDEX idx_signal_open ON ing_signal (provenance_code, endpoint_name, state_code, provider_id);

CREATE INDEX idx_reslice_task ON ing_reslice_request (task_id);
