"""Begins and ends runs and commits pages (run_ledger.py); the lease's fence (lease.py) comes first in each write."""
