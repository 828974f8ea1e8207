ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN hourly_quota INTEGER;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN quota_cost INTEGER;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN quota_margin DOUBLE;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN quota_reset_hour INTEGER;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN query_costs JSON;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN scope_code VARCHAR(32) COLLATE utf8mb4_0900_bin;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN share_name VARCHAR(64) COLLATE utf8mb4_0900_bin;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN demote_factor DOUBLE;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN cool_down_ms INTEGER;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN open_time_ms INTEGER;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN interval_header VARCHAR(64) COLLATE utf8mb4_0900_bin;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN concurrency_header VARCHAR(64) COLLATE utf8mb4_0900_bin;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN refusal_statuses JSON;

ALTER TABLE ing_rate_gate ADD COLUMN counted_at DATETIME(6);

ALTER TABLE ing_rate_gate ADD COLUMN tokens DOUBLE;

ALTER TABLE ing_rate_gate ADD COLUMN rate_now DOUBLE;

ALTER TABLE ing_rate_gate ADD COLUMN warm_from DATETIME(6);

ALTER TABLE ing_rate_gate ADD COLUMN changed_at DATETIME(6);

ALTER TABLE ing_rate_gate ADD COLUMN step DOUBLE;

ALTER TABLE ing_rate_gate ADD COLUMN rate_before DOUBLE;

ALTER TABLE ing_rate_gate ADD COLUMN decreases INTEGER NOT NULL DEFAULT '0';

ALTER TABLE ing_rate_gate ADD COLUMN stated_rate DOUBLE;

ALTER TABLE ing_rate_gate ADD COLUMN operator_rate DOUBLE;

ALTER TABLE ing_rate_gate ADD COLUMN stated_concurrency INTEGER;

ALTER TABLE ing_rate_gate ADD COLUMN closed_until DATETIME(6);

ALTER TABLE ing_rate_gate ADD COLUMN closed_reason VARCHAR(32) COLLATE utf8mb4_0900_bin;

ALTER TABLE ing_rate_gate ADD COLUMN failures INTEGER NOT NULL DEFAULT '0';

ALTER TABLE ing_rate_gate ADD COLUMN failed_by JSON;

ALTER TABLE ing_rate_gate ADD COLUMN success_at DATETIME(6);

ALTER TABLE ing_rate_gate ADD COLUMN circuit_code VARCHAR(32) COLLATE utf8mb4_0900_bin NOT NULL DEFAULT 'CLOSED';

ALTER TABLE ing_rate_gate ADD COLUMN circuit_until DATETIME(6);

ALTER TABLE ing_rate_gate ADD COLUMN circuit_seconds DOUBLE NOT NULL DEFAULT '0';

ALTER TABLE ing_rate_gate ADD COLUMN low_since DATETIME(6);

UPDATE ing_rate_gate SET closed_until = cooldown_until, closed_reason = 'RETRY_AFTER';

ALTER TABLE ing_partition_control ADD COLUMN closed_until DATETIME(6);

DROP TABLE ing_quota_ledger;

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
