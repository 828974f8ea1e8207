"""Writes messages in the transaction of their page, and leases them to relays."""
