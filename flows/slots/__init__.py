"""Partition caps as Prefect concurrency limits, and the slots taken from them."""
