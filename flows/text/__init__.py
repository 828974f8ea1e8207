"""Counts, times and Markdown for people."""
