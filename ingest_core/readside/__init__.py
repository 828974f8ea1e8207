"""Ports that read stored work and records for commands and flows, and writers of JSON Lines, CSV and Parquet files."""
