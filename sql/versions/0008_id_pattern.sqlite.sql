ALTER TABLE reg_provenance ADD COLUMN id_pattern TEXT;
