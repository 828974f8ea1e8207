"""Cuts windows and lists of ids into slices; one module per strategy."""
