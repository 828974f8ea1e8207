ALTER TABLE reg_provenance ADD COLUMN on_refresh_code VARCHAR(32) COLLATE utf8mb4_0900_bin;

ALTER TABLE reg_prov_endpoint_def ADD COLUMN version_expr JSON;

ALTER TABLE reg_prov_pagination_cfg ADD COLUMN ascending BOOL;

ALTER TABLE reg_prov_pagination_cfg ADD COLUMN tail_probe BOOL;

ALTER TABLE reg_prov_pagination_cfg ADD COLUMN next_hosts JSON;

ALTER TABLE reg_prov_pagination_cfg ADD COLUMN max_page_bytes INTEGER;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN permit_cost INTEGER;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN max_concurrency INTEGER;

ALTER TABLE ing_outbox_message ADD COLUMN next_attempt_at DATETIME(6);

ALTER TABLE ing_outbox_message ADD COLUMN last_error LONGTEXT COLLATE utf8mb4_0900_bin;

ALTER TABLE ing_partition_control ADD COLUMN claimed_at DATETIME(6);

CREATE INDEX idx_outbox_dead ON ing_outbox_message (status_code, id);

DROP INDEX idx_outbox_status ON ing_outbox_message;

CREATE INDEX idx_outbox_due ON ing_outbox_message (status_code, next_attempt_at, id);

CREATE INDEX idx_outbox_order ON ing_outbox_message (ordering_key, status_code, id);

CREATE INDEX idx_outbox_sent ON ing_outbox_message (status_code, sent_at, id);

CREATE INDEX idx_quarantine_item ON ing_quarantine (provenance_code, endpoint_name, provider_id);

ALTER TABLE ing_quarantine ADD COLUMN record_remarks JSON;

CREATE INDEX idx_cur_evt_reach ON ing_cursor_event (provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key, window_to, window_from);

CREATE INDEX idx_cur_evt_number ON ing_cursor_event (provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key, prev_numeric, new_numeric);

DROP INDEX idx_cur_evt_window ON ing_cursor_event;
