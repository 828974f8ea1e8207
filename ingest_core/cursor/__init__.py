"""Watermarks: a function of the set of events."""
