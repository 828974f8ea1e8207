"""Crossref's `/works`, as it answered when it was recorded."""
