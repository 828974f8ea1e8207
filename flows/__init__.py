"""Prefect flows and the command line over `ingest_core`; no decision is taken here."""
