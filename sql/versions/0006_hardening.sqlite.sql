ALTER TABLE reg_prov_http_cfg ADD COLUMN deadline_ms INTEGER;

ALTER TABLE reg_prov_http_cfg ADD COLUMN max_body_bytes INTEGER;

ALTER TABLE reg_prov_http_cfg ADD COLUMN max_values INTEGER;

ALTER TABLE ing_rate_gate ADD COLUMN rate_per_sec DOUBLE;

ALTER TABLE ing_rate_gate ADD COLUMN last_changes JSON;

ALTER TABLE ing_task ADD COLUMN blamed_count INTEGER DEFAULT '0' NOT NULL;

ALTER TABLE ing_task ADD COLUMN expired_at BIGINT;

ALTER TABLE ing_task ADD COLUMN expired_owner VARCHAR(200);

CREATE INDEX idx_task_expired ON ing_task (expired_at);
