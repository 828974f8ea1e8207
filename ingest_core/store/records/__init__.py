"""Inserts, updates and deletes records; writes and settles quarantine rows."""
