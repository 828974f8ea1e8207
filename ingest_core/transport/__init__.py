"""Sends requests to providers, with credentials and within limits, and messages to publishers."""
