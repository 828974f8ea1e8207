"""Zenodo's `/api/records`, as its documentation and its source code say it answers."""
