"""Decides when the next request may be sent, and how severe an error is."""
