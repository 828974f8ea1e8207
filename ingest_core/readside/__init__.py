"""Writes stored rows to JSON Lines, CSV and Parquet files."""
