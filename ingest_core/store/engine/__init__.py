"""Connections, transactions and SQL that differs by dialect."""
