ALTER TABLE reg_provenance ADD COLUMN drift_share DOUBLE PRECISION;

ALTER TABLE reg_provenance ADD COLUMN drift_records INTEGER;
