"""Stored records and quarantined ones."""
