"""Decides where a watermark stands, from its events."""
