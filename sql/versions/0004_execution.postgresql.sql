ALTER TABLE reg_provenance ADD COLUMN on_refresh_code VARCHAR(32) COLLATE "C";

ALTER TABLE reg_prov_endpoint_def ADD COLUMN version_expr JSONB;

ALTER TABLE reg_prov_pagination_cfg ADD COLUMN ascending BOOLEAN;

ALTER TABLE reg_prov_pagination_cfg ADD COLUMN tail_probe BOOLEAN;

ALTER TABLE reg_prov_pagination_cfg ADD COLUMN next_hosts JSONB;

ALTER TABLE reg_prov_pagination_cfg ADD COLUMN max_page_bytes INTEGER;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN permit_cost INTEGER;

ALTER TABLE reg_prov_rate_limit_cfg ADD COLUMN max_concurrency INTEGER;

ALTER TABLE ing_outbox_message ADD COLUMN next_attempt_at TIMESTAMP(6) WITH TIME ZONE;

ALTER TABLE ing_outbox_message ADD COLUMN last_error TEXT COLLATE "C";

ALTER TABLE ing_partition_control ADD COLUMN claimed_at TIMESTAMP(6) WITH TIME ZONE;

CREATE INDEX idx_outbox_dead ON ing_outbox_message (status_code, id) WHERE status_code = 'DEAD';

DROP INDEX idx_outbox_status;

CREATE INDEX idx_outbox_due ON ing_outbox_message (status_code, next_attempt_at, id) WHERE status_code = 'PENDING';

CREATE INDEX idx_outbox_order ON ing_outbox_message (ordering_key, status_code, id) WHERE status_code = 'PENDING';

CREATE INDEX idx_outbox_sent ON ing_outbox_message (status_code, sent_at, id) WHERE status_code = 'SENT';

CREATE INDEX idx_quarantine_item ON ing_quarantine (provenance_code, endpoint_name, provider_id);

ALTER TABLE ing_quarantine ADD COLUMN record_remarks JSONB;

CREATE INDEX idx_cur_evt_reach ON ing_cursor_event (provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key, window_to, window_from);

CREATE INDEX idx_cur_evt_number ON ing_cursor_event (provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key, prev_numeric, new_numeric);

DROP INDEX idx_cur_evt_window;

DROP INDEX idx_task_queue;

CREATE INDEX idx_task_queue ON ing_task (provenance_code, endpoint_name, operation_code, priority, scheduled_at, id) WHERE status_code = 'QUEUED';
