ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN hourly_quota INTEGER;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN quota_cost INTEGER;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN quota_margin DOUBLE PRECISION;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN quota_reset_hour INTEGER;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN query_costs JSONB;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN scope_code VARCHAR(32) COLLATE "C";

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN share_name VARCHAR(64) COLLATE "C";

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN demote_factor DOUBLE PRECISION;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN cool_down_ms INTEGER;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN open_time_ms INTEGER;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN interval_header VARCHAR(64) COLLATE "C";

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN concurrency_header VARCHAR(64) COLLATE "C";

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN refusal_statuses JSONB;

ALTER TABLE ing_rate_gate ADD COLUMN counted_at TIMESTAMP(6) WITH TIME ZONE;

ALTER TABLE ing_rate_gate ADD COLUMN tokens DOUBLE PRECISION;

ALTER TABLE ing_rate_gate ADD COLUMN rate_now DOUBLE PRECISION;

ALTER TABLE ing_rate_gate ADD COLUMN warm_from TIMESTAMP(6) WITH TIME ZONE;

ALTER TABLE ing_rate_gate ADD COLUMN changed_at TIMESTAMP(6) WITH TIME ZONE;

ALTER TABLE ing_rate_gate ADD COLUMN step DOUBLE PRECISION;

ALTER TABLE ing_rate_gate ADD COLUMN rate_before DOUBLE PRECISION;

ALTER TABLE ing_rate_gate ADD COLUMN decreases INTEGER DEFAULT '0' NOT NULL;

ALTER TABLE ing_rate_gate ADD COLUMN stated_rate DOUBLE PRECISION;

ALTER TABLE ing_rate_gate ADD COLUMN operator_rate DOUBLE PRECISION;

ALTER TABLE ing_rate_gate ADD COLUMN stated_concurrency INTEGER;

ALTER TABLE ing_rate_gate ADD COLUMN closed_until TIMESTAMP(6) WITH TIME ZONE;

ALTER TABLE ing_rate_gate ADD COLUMN closed_reason VARCHAR(32) COLLATE "C";

ALTER TABLE ing_rate_gate ADD COLUMN failures INTEGER DEFAULT '0' NOT NULL;

ALTER TABLE ing_rate_gate ADD COLUMN failed_by JSONB;

ALTER TABLE ing_rate_gate ADD COLUMN success_at TIMESTAMP(6) WITH TIME ZONE;

ALTER TABLE ing_rate_gate ADD COLUMN circuit_code VARCHAR(32) COLLATE "C" DEFAULT 'CLOSED' NOT NULL;

ALTER TABLE ing_rate_gate ADD COLUMN circuit_until TIMESTAMP(6) WITH TIME ZONE;

ALTER TABLE ing_rate_gate ADD COLUMN circuit_seconds DOUBLE PRECISION DEFAULT '0' NOT NULL;

ALTER TABLE ing_rate_gate ADD COLUMN low_since TIMESTAMP(6) WITH TIME ZONE;

UPDATE ing_rate_gate SET closed_until = cooldown_until, closed_reason = 'RETRY_AFTER';

ALTER TABLE ing_partition_control ADD COLUMN closed_until TIMESTAMP(6) WITH TIME ZONE;

DROP TABLE ing_quota_ledger;

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
