ALTER TABLE reg_provenance ADD COLUMN drift_share DOUBLE;

ALTER TABLE reg_provenance ADD COLUMN drift_records INTEGER;
