"""Runs, pages and their ends; every write is fenced by the lease."""
