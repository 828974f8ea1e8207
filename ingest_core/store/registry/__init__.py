"""Applies sources to the `reg_*` tables, and reads the settings that are live."""
