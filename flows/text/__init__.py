"""Counts, sizes, times and Markdown for people."""
