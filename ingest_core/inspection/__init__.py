"""Checks a source before it is used: its settings, the request it would send, the answer."""
