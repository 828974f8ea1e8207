"""Sends messages about changed records to a publisher."""
