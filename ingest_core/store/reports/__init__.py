"""Read-only queries for people and dashboards."""
