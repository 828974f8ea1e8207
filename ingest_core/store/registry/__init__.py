"""Sources in the `reg_*` tables, and settings that are read live."""
