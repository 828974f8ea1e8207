"""Claiming, leasing, retrying, cancelling and pausing tasks."""
