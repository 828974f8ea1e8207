ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN hourly_quota INTEGER;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN quota_cost INTEGER;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN quota_margin DOUBLE;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN quota_reset_hour INTEGER;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN query_costs JSON;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN scope_code VARCHAR(32);

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN share_name VARCHAR(64);

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN demote_factor DOUBLE;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN cool_down_ms INTEGER;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN open_time_ms INTEGER;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN interval_header VARCHAR(64);

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN concurrency_header VARCHAR(64);

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN refusal_statuses JSON;

ALTER TABLE ing_rate_gate ADD COLUMN counted_at BIGINT;

ALTER TABLE ing_rate_gate ADD COLUMN tokens DOUBLE;

ALTER TABLE ing_rate_gate ADD COLUMN rate_now DOUBLE;

ALTER TABLE ing_rate_gate ADD COLUMN warm_from BIGINT;

ALTER TABLE ing_rate_gate ADD COLUMN changed_at BIGINT;

ALTER TABLE ing_rate_gate ADD COLUMN step DOUBLE;

ALTER TABLE ing_rate_gate ADD COLUMN rate_before DOUBLE;

ALTER TABLE ing_rate_gate ADD COLUMN decreases INTEGER DEFAULT '0' NOT NULL;

ALTER TABLE ing_rate_gate ADD COLUMN stated_rate DOUBLE;

ALTER TABLE ing_rate_gate ADD COLUMN operator_rate DOUBLE;

ALTER TABLE ing_rate_gate ADD COLUMN stated_concurrency INTEGER;

ALTER TABLE ing_rate_gate ADD COLUMN closed_until BIGINT;

ALTER TABLE ing_rate_gate ADD COLUMN closed_reason VARCHAR(32);

ALTER TABLE ing_rate_gate ADD COLUMN failures INTEGER DEFAULT '0' NOT NULL;

ALTER TABLE ing_rate_gate ADD COLUMN failed_by JSON;

ALTER TABLE ing_rate_gate ADD COLUMN success_at BIGINT;

ALTER TABLE ing_rate_gate ADD COLUMN circuit_code VARCHAR(32) DEFAULT 'CLOSED' NOT NULL;

ALTER TABLE ing_rate_gate ADD COLUMN circuit_until BIGINT;

ALTER TABLE ing_rate_gate ADD COLUMN circuit_seconds DOUBLE DEFAULT '0' NOT NULL;

ALTER TABLE ing_rate_gate ADD COLUMN low_since BIGINT;

UPDATE ing_rate_gate SET closed_until = cooldown_until, closed_reason = 'RETRY_AFTER';

ALTER TABLE ing_partition_control ADD COLUMN closed_until BIGINT;

DROP TABLE ing_quota_ledger;

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
