"""Connections, transactions, column types, and the SQL that differs between databases (dialect.py)."""
