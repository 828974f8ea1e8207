ALTER TABLE reg_provenance ADD COLUMN id_pattern LONGTEXT COLLATE utf8mb4_0900_bin;
