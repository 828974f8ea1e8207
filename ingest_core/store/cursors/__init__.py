"""Appends cursor events and moves the watermark (store.py)."""
