"""Cursor events and the watermarks computed from them."""
