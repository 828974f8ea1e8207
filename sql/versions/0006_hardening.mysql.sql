ALTER TABLE reg_prov_http_cfg ADD COLUMN deadline_ms INTEGER;

ALTER TABLE reg_prov_http_cfg ADD COLUMN max_body_bytes INTEGER;

ALTER TABLE reg_prov_http_cfg ADD COLUMN max_values INTEGER;

ALTER TABLE ing_rate_gate ADD COLUMN rate_per_sec DOUBLE;

ALTER TABLE ing_rate_gate ADD COLUMN last_changes JSON;

ALTER TABLE ing_task ADD COLUMN blamed_count INTEGER NOT NULL DEFAULT '0';

ALTER TABLE ing_task ADD COLUMN expired_at DATETIME(6);

ALTER TABLE ing_task ADD COLUMN expired_owner VARCHAR(200) COLLATE utf8mb4_0900_bin;

CREATE INDEX idx_task_expired ON ing_task (expired_at);
