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

ALTER TABLE ing_cursor ADD COLUMN bound_from DATETIME(6);

ALTER TABLE ing_cursor ADD COLUMN bound_to DATETIME(6);

ALTER TABLE ing_cursor ADD COLUMN is_descending SMALLINT NOT NULL DEFAULT '0';

ALTER TABLE ing_cursor ADD COLUMN lag_seconds INTEGER;

ALTER TABLE ing_cursor ADD COLUMN lag_changed_at DATETIME(6);

ALTER TABLE ing_estimate ADD COLUMN `range` JSON;

CREATE INDEX idx_cur_evt_from ON ing_cursor_event (provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key, window_from);

CREATE INDEX idx_signal_open ON ing_signal (provenance_code, endpoint_name, state_code, provider_id);

CREATE INDEX idx_reslice_task ON ing_reslice_request (task_id);
