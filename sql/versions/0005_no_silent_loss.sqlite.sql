ALTER TABLE reg_prov_pagination_cfg ADD COLUMN empty_page_code VARCHAR(32);

ALTER TABLE reg_prov_pagination_cfg ADD COLUMN total_kind_code VARCHAR(32);

ALTER TABLE reg_prov_pagination_cfg ADD COLUMN max_shortfall INTEGER;

ALTER TABLE reg_prov_pagination_cfg ADD COLUMN restart_statuses JSON;

ALTER TABLE reg_prov_endpoint_def ADD COLUMN deleted_predicate JSON;

ALTER TABLE reg_prov_endpoint_def ADD COLUMN merged_into_expr JSON;

ALTER TABLE reg_prov_endpoint_def ADD COLUMN refreshes_endpoint_name VARCHAR(64);

ALTER TABLE ing_item ADD COLUMN gone_at BIGINT;

ALTER TABLE ing_item ADD COLUMN gone_reason_code VARCHAR(64);

ALTER TABLE ing_item ADD COLUMN merged_into VARCHAR(512);
