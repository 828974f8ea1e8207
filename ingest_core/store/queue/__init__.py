"""Claims and leases tasks (task_queue.py), retries, cancels and pauses them."""
