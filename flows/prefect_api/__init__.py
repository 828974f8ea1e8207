"""Prefect's API, run names, and a worker that drains before it stops."""
