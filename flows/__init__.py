"""The Prefect flows (planner, backfill, executor, housekeeping) and the command line; nothing is decided here."""
