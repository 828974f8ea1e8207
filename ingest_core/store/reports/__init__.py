"""Read-only queries for status and cursor reports."""
